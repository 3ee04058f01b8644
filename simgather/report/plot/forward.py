"""The forward picture: where the forward time goes in each iteration, against the lower bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure

from simgather.report.plot.bars import Chart, Row, draw_chart, forward_segments
from simgather.report.plot.selection import Selection, begun, checked_iterations
from simgather.report.report import Report
from simgather.units import format_time

MOST_ROWS = 30


def figure(reports: Sequence[Report], selection: Selection) -> Figure:
    """One bar per iteration, of the slowest rank or of the rank asked for."""
    (report,) = reports
    first, last = checked_iterations(report, selection.iterations) or (0, begun(report) - 1)
    iterations = list(range(first, last + 1))
    left_out = len(iterations) - MOST_ROWS
    if left_out > 0:
        iterations = [*iterations[: MOST_ROWS // 2], *iterations[-MOST_ROWS // 2 :]]
    caption = "Forward pass of the slowest rank in each iteration; forward = compute + exposed + host-bound."
    if any(_below_bound(report, iteration) for iteration in iterations):
        caption += " A bar that ends before its lower bound is that fast only because it does not wait for its weights."
    if left_out > 0:
        caption += f" {left_out} iterations in the middle are left out."
    return draw_chart(
        Chart(
            title=report.scenario.name,
            heading_of=report,
            rows=list(_rows(report, iterations)),
            axis="forward time",
            caption=caption,
            empty="no forward pass was begun",
        )
    )


def _below_bound(report: Report, iteration: int) -> bool:
    row = report.slowest(iteration)
    return row is not None and row.forward_ns is not None and row.forward_ns < (row.lower_bound_ns or 0)


def _rows(report: Report, iterations: Sequence[int]) -> Iterator[Row]:
    for iteration in iterations:
        row = report.slowest(iteration)
        label, gid = f"iteration {iteration}", f"iteration-{iteration}"
        if row is None or row.forward_ns is None:
            yield Row(label=label, segments=(), gid=gid, note="not finished")
            continue
        stale = sum(read.iteration == iteration for read in report.stale_reads)
        note = format_time(row.forward_ns)
        if stale:
            note += f", {stale} stale or unordered read{'s'[: stale > 1]}"
        yield Row(label=label, segments=forward_segments(row), gid=gid, note=note, bound_ns=row.lower_bound_ns)
