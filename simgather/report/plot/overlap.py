"""The overlap picture: per bucket, how much of its all-gather is hidden under compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from matplotlib.figure import Figure

from simgather.report.plot.bars import RENDEZVOUS, Chart, Look, Row, draw_chart
from simgather.report.plot.legend import Entry
from simgather.report.plot.names import bucket_modules
from simgather.report.plot.selection import Selection, checked_iterations, checked_ranks
from simgather.report.plot.style import ALARM, EXPOSED_FACE, EXPOSED_HATCH, bucket_colour
from simgather.report.report import Report
from simgather.units import format_time
from simgather.verdict.gather_overlap import GatherOverlap, gather_overlaps

MOST_ROWS = 24
NOT_HIDDEN = Look(
    name="exposed", text="exposed: no kernel runs meanwhile", face=EXPOSED_FACE, edge=ALARM, hatch=EXPOSED_HATCH
)


def figure(reports: Sequence[Report], selection: Selection) -> Figure:
    """One bar per all-gather of the steady iteration (or the first asked for), in the order of their transfers."""
    (report,) = reports
    steady = report.steady
    asked = checked_iterations(report, selection.iterations)
    iteration = asked[0] if asked else steady.iteration if steady else 0
    ranks = checked_ranks(report, selection.ranks)
    rank = ranks[0] if ranks else steady.rank if steady else 0
    gathers = [one for one in gather_overlaps(report.timeline, rank) if one.iteration == iteration]
    shown = gathers
    caption = f"All-gathers of iteration {iteration} as rank {rank} sees them, in the order of their transfers."
    if len(gathers) > MOST_ROWS:
        costly = sorted(gathers, key=lambda one: one.overlapped_ns - one.transfer_ns)[:MOST_ROWS]
        shown = [one for one in gathers if one in costly]
        caption += f" Of {len(gathers)} those {MOST_ROWS} that are exposed the most."
    total_ns, hidden_ns = (sum(map(attrgetter(name), gathers)) for name in ("transfer_ns", "overlapped_ns"))
    note = f"{100 * hidden_ns / total_ns:.1f} % of {format_time(total_ns)} hidden" if total_ns else ""
    hidden = Entry(text="hidden: a kernel runs meanwhile", face=bucket_colour(0))
    return draw_chart(
        Chart(
            title=report.scenario.name,
            heading_of=report,
            heading_note=note,
            rows=list(_rows(report, shown)),
            axis="all-gather time",
            caption=caption,
            empty=f"no all-gather in iteration {iteration}",
            entries=[hidden] if hidden_ns else [],
        )
    )


def _rows(report: Report, gathers: Sequence[GatherOverlap]) -> Iterator[Row]:
    for number, gather in enumerate(gathers):
        exposed_ns = gather.transfer_ns - gather.overlapped_ns
        hidden = Look(name="hidden", text="", face=bucket_colour(gather.bucket))
        parts = [(RENDEZVOUS, gather.rendezvous_ns), (hidden, gather.overlapped_ns), (NOT_HIDDEN, exposed_ns)]
        share = f"{100 * gather.overlapped_ns / gather.transfer_ns:.0f} % hidden" if gather.transfer_ns else "no time"
        yield Row(
            label=f"bucket {gather.bucket}: {bucket_modules(report.workload, gather.bucket)}",
            segments=[(look, ns) for look, ns in parts if ns > 0],
            gid=f"bucket-{gather.bucket}.gather-{number}",
            note=share,
        )
