"""The policies picture: the steady forward time of several reports side by side, each with its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure

from simgather.report.plot.bars import Chart, Row, draw_chart, forward_segments
from simgather.report.plot.names import cut
from simgather.report.plot.selection import Selection
from simgather.report.report import Report
from simgather.report.wording import policy_title
from simgather.units import format_time


def figure(reports: Sequence[Report], selection: Selection) -> Figure:  # noqa: ARG001
    """One bar per report, in the order given."""
    names = list(dict.fromkeys(report.scenario.name for report in reports))
    return draw_chart(
        Chart(
            title=names[0] if len(names) == 1 else f"{len(reports)} reports compared",
            rows=list(_rows(reports, len(names) > 1)),
            axis="forward time",
            caption="Forward pass of the slowest rank in the last whole iteration. A schedule that is not safe is "
            "worthless however fast it is: the verdict stands beside each bar.",
        )
    )


def _rows(reports: Sequence[Report], named: bool) -> Iterator[Row]:
    for number, report in enumerate(reports):
        label = policy_title(report.scenario.policy) + (f", {cut(report.scenario.name, 28)}" if named else "")
        gid, row = f"report-{number}", report.steady
        if row is None:
            yield Row(label=label, segments=(), gid=gid, verdict_of=report, note="no forward pass was finished")
            continue
        note = format_time(row.forward_ns or 0)
        if row.overlap_efficiency is not None:
            note += f", {100 * row.overlap_efficiency:.0f} % overlap"
        yield Row(
            label=label,
            segments=forward_segments(row),
            gid=gid,
            note=note,
            bound_ns=row.lower_bound_ns,
            verdict_of=report,
        )
