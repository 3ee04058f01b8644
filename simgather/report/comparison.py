"""One scenario under several policies: a table with the verdict beside every time, and one sentence of conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from simgather.report.report import Report
from simgather.report.table import Column, Table, table_lines
from simgather.report.text import WIDTH
from simgather.report.wording import ms, percent

SCHEMA = "simgather.comparison/1"

COLUMNS = (
    Column(" policy", "", 19, left=True),
    Column("verdict", "", 7),
    Column("stale", "reads", 5),
    Column("forward", "(ms)", 8),
    Column("exposed", "(ms)", 8),
    Column("overlap", "(%)", 7),
    Column("sched", "(%)", 6),
    Column("warns", "", 5),
    Column("error", "(iter)", 6),
)


def render(reports: Sequence[Report]) -> str:
    """The table and what follows from it, as plain text."""
    head = [
        f"# {reports[0].scenario.name}",
        "# steady iteration, slowest rank; stale reads and warnings in all iterations",
    ]
    table = table_lines(Table(COLUMNS, [_row(report) for report in reports]))
    errors = [
        f"{report.scenario.policy.name}: {report.failure.type_name}({report.failure.text!r}) in iteration "
        f"{report.failure.iteration}, phase {report.failure.phase}"
        for report in reports
        if report.failure is not None
    ]
    lines = [line for text in [*errors, conclusion(reports)] for line in wrap(text, WIDTH, subsequent_indent="  ")]
    return "\n".join([*(line[:WIDTH] for line in head), *table, "", *lines]) + "\n"


def _row(report: Report) -> list[str | None]:
    steady = report.steady
    policy = report.scenario.policy
    return [
        " " + policy.name,
        report.verdict,
        str(len(report.stale_reads)),
        ms(steady.forward_ns if steady else None),
        ms(steady.exposed_ns if steady else None),
        percent(steady.overlap_efficiency if steady else None),
        percent(steady.schedule_efficiency if steady else None),
        str(len(report.warnings)),
        None if report.failure is None else str(report.failure.iteration),
    ]


def conclusion(reports: Sequence[Report]) -> str:
    """Which policy to take, with a number."""
    timed = [(report.steady.forward_ns, report) for report in reports if report.steady and report.steady.forward_ns]
    safe = [(forward_ns, report) for forward_ns, report in timed if report.verdict == "safe"]
    if not safe:
        return "None of these policies is safe; mend what `run` finds first."
    best_ns, best = min(safe, key=lambda item: item[0])
    text = f"{best.scenario.policy.name} is the fastest safe policy: forward {ms(best_ns)} ms"
    slowest_ns, slowest = max(safe, key=lambda item: item[0])
    if slowest_ns > best_ns:
        text += f", {slowest_ns / best_ns:.2f}x as fast as {slowest.scenario.policy.name}"
    faster = [report for forward_ns, report in timed if forward_ns < best_ns and report.verdict != "safe"]
    if faster:
        names = ", ".join(f"{report.scenario.policy.name} ({report.verdict})" for report in faster)
        text += f"; faster, but wrong: {names}"
    return text + "."


def comparison_to_dict(reports: Sequence[Report]) -> dict[str, Any]:
    """The comparison as plain data; per policy the summary of its report, its error and its warnings."""
    return {
        "schema": SCHEMA,
        "scenario": reports[0].scenario.name,
        "policies": [
            {
                "policy": report.scenario.policy.name,
                "summary": data["summary"],
                "error": data["error"],
                "warnings": data["warnings"],
            }
            for report in reports
            for data in [report.to_dict()]
        ],
        "conclusion": conclusion(reports),
    }
