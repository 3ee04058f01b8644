"""The text report where no terminal is: aligned columns, ``#`` before what is not data, at most 80 columns."""

from __future__ import annotations

from simgather.report.report import Report
from simgather.report.table import table_lines
from simgather.report.text import heading, sections, verdict_lines


def render(report: Report, alternative: Report | None = None) -> str:
    """The whole text; `alternative` is the same scenario under the policy to try instead, if there is one."""
    parts = [[f"# {line}" for line in heading(report)], verdict_lines(report)]
    for section in sections(report, alternative):
        table = table_lines(section.table) if section.table else []
        parts.append([f"# {section.title}", *table, *section.lines])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
