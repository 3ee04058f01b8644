"""Pictures made of horizontal bars: rows of segments on one time axis, with a bound, a note and a verdict each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from simgather.report.plot.canvas import (
    LINE,
    WIDTH,
    add_axes,
    add_page,
    blank,
    fitting,
    shortened,
    text_width,
    wrapped,
    write_badge,
    write_caption,
    write_heading,
    write_title,
)
from simgather.report.plot.legend import ROW, Entry, draw_legend, flowed
from simgather.report.plot.scale import Unit, unit_for
from simgather.report.plot.style import (
    ALARM,
    EXPOSED_FACE,
    EXPOSED_HATCH,
    HOST_BOUND_FACE,
    HOST_BOUND_HATCH,
    INK,
    NEUTRAL,
    PAPER,
    QUIET,
    RENDEZVOUS_HATCH,
    ink_on,
)
from simgather.report.report import Report
from simgather.units import format_time
from simgather.verdict.measures import Measures

BAR = 0.24
STEP = 0.36
COMPUTE_COLOUR = "#0072B2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a segment looks, and what the legend calls it; `rank` is its place there."""

    name: str
    text: str
    face: str
    edge: str = PAPER
    hatch: str | None = None
    rank: int = 0

    @property
    def entry(self) -> Entry:
        """The legend's entry."""
        return Entry(text=self.text, face=self.face, edge=self.edge, hatch=self.hatch)


COMPUTE = Look(name="compute", text="compute", face=COMPUTE_COLOUR)
EXPOSED = Look(
    name="exposed", text="exposed: waits for an all-gather", face=EXPOSED_FACE, edge=ALARM, hatch=EXPOSED_HATCH, rank=1
)
HOST_BOUND = Look(
    name="host-bound",
    text="host-bound: not launched yet",
    face=HOST_BOUND_FACE,
    edge=QUIET,
    hatch=HOST_BOUND_HATCH,
    rank=2,
)
RENDEZVOUS = Look(
    name="rendezvous", text="rendezvous: ready before other ranks", face=PAPER, edge=QUIET, hatch=RENDEZVOUS_HATCH
)
OTHER = Look(name="other", text="other kernels in between", face=NEUTRAL, rank=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One bar. `bound_ns` is drawn as a line across it, `verdict_of` as a badge after it, `note` as text after that."""

    label: str
    segments: Sequence[tuple[Look, int]]
    gid: str
    note: str = ""
    bound_ns: int | None = None
    verdict_of: Report | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Everything a picture of bars says. `heading_of` is the report whose policy and verdict stand above the bars."""

    title: str
    rows: Sequence[Row]
    axis: str
    caption: str
    heading_of: Report | None = None
    heading_note: str = ""
    empty: str = "nothing to draw"
    entries: Sequence[Entry] = field(default=())


def forward_segments(row: Measures) -> list[tuple[Look, int]]:
    """The parts of a finished forward pass; what other kernels (of other microbatches) take is a part of its own."""
    compute_ns, exposed_ns, host_ns = row.compute_ns or 0, row.exposed_ns or 0, row.host_bound_ns or 0
    other_ns = (row.forward_ns or 0) - compute_ns - exposed_ns - host_ns
    parts = [(COMPUTE, compute_ns), (EXPOSED, exposed_ns), (HOST_BOUND, host_ns), (OTHER, other_ns)]
    return [(look, ns) for look, ns in parts if ns > 0]


def draw_chart(chart: Chart) -> Figure:
    """The figure."""
    rows = chart.rows
    longest_ns = max((max(_length(row), row.bound_ns or 0) for row in rows), default=0)
    label_width = min(3.4, max((text_width(row.label, 9) for row in rows), default=1.0))
    left = 0.25 + label_width + 0.12
    tail = max((_tail_width(row) for row in rows), default=0.0)
    width = max(WIDTH - left - tail - 0.3, 3.0)
    legend = flowed([list(dict.fromkeys(_entries(rows))) + list(chart.entries)], WIDTH - 0.5)
    caption = wrapped(chart.caption, WIDTH - 0.5, 8)
    below = 0.55 + ROW * len(legend) + 0.12 + LINE * len(caption) + 0.12
    heading = 0.4 if chart.heading_of else 0.0
    bars = STEP * max(len(rows), 2)
    height = 0.55 + heading + bars + below
    figure = blank(height)
    page = add_page(figure)
    write_title(page, 0.25, height - 0.16, chart.title, WIDTH - 0.5)
    if chart.heading_of:
        write_heading(page, 0.25, height - 0.5 - heading / 2, chart.heading_of, chart.heading_note)
    axes = add_axes(figure, left, below, width, bars)
    unit = unit_for(longest_ns)
    per_inch = max(longest_ns, 1) * 1.01 / width
    axes.set_xlim(0, unit.of(per_inch * width))
    axes.set_ylim(0, bars)
    axes.set_yticks([])
    for side in ("right", "top"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", labelsize=8, length=3, pad=2)
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis="x", color="#EDEDED", lw=0.6)
    axes.set_xlabel(f"{chart.axis} ({unit.name})", labelpad=2)
    for number, row in enumerate(rows):
        middle = bars - (number + 0.5) * STEP
        _draw_bar(axes, row, middle, unit, per_inch)
        label = shortened(row.label, label_width + 0.02, 9)
        page.text(left - 0.1, below + middle, label, size=9, color=INK, ha="right", va="center_baseline", gid=row.gid)
        _draw_tail(page, row, left + max(_length(row), row.bound_ns or 0) / per_inch + 0.12, below + middle)
    if not rows:
        page.text(left + 0.2, below + bars / 2, chart.empty, size=10, color=QUIET, va="center_baseline", gid="empty")
    draw_legend(page, 0.25, below - 0.55, legend)
    write_caption(page, 0.25, 0.12, caption)
    return figure


def _length(row: Row) -> int:
    return sum(ns for _, ns in row.segments)


def _tail_width(row: Row) -> float:
    badge = 0.3 + text_width(row.verdict_of.verdict.upper(), 8, bold=True) if row.verdict_of else 0.0
    return 0.15 + badge + text_width(row.note, 8.5)


def _draw_bar(axes: Axes, row: Row, middle: float, unit: Unit, per_inch: float) -> None:
    start_ns = 0
    for look, ns in row.segments:
        box = Rectangle(
            (unit.of(start_ns), middle - BAR / 2),
            unit.of(ns),
            BAR,
            facecolor=look.face,
            edgecolor=look.edge,
            hatch=look.hatch,
            lw=0.5,
            gid=f"{row.gid}.{look.name}",
        )
        axes.add_patch(box)
        text = fitting([format_time(ns)], ns / per_inch - 0.1, 8)
        if text is not None:
            plate = {"boxstyle": "square,pad=0.12", "facecolor": PAPER, "edgecolor": "none"} if look.hatch else None
            colour = INK if look.hatch else ink_on(look.face)
            x = unit.of(_clear_of(row.bound_ns, start_ns, ns, (text_width(text, 8) / 2 + 0.1) * per_inch))
            axes.text(x, middle, text, size=8, color=colour, ha="center", va="center_baseline", bbox=plate)
        start_ns += ns
    if row.bound_ns is not None:
        x = unit.of(row.bound_ns)
        for colour, thickness, zorder in ((PAPER, 4.0, 3), (INK, 2.0, 4)):
            axes.plot(
                [x, x],
                [middle - STEP / 2, middle + STEP / 2],
                color=colour,
                lw=thickness,
                solid_capstyle="butt",
                clip_on=False,
                zorder=zorder,
                gid=f"{row.gid}.bound" if colour == INK else None,
            )


def _clear_of(bound_ns: int | None, start_ns: int, ns: int, half_ns: float) -> float:
    """Where a text that reaches `half_ns` to both sides stands in the segment, clear of the bound's line if it can."""
    middle_ns = start_ns + ns / 2
    if bound_ns is None or abs(bound_ns - middle_ns) > half_ns:
        return middle_ns
    begin_ns, end_ns = (start_ns, bound_ns) if bound_ns > middle_ns else (bound_ns, start_ns + ns)
    return (begin_ns + end_ns) / 2


def _draw_tail(page: Axes, row: Row, x: float, y: float) -> None:
    if row.verdict_of is not None:
        x = write_badge(page, x, y, row.verdict_of, 8) + 0.1
    page.text(x, y, row.note, size=8.5, color=INK, va="center_baseline")


def _entries(rows: Sequence[Row]) -> list[Entry]:
    looks = {look for row in rows for look, _ in row.segments if look.text}
    entries = [look.entry for look in sorted(looks, key=lambda look: look.rank)]
    if any(row.bound_ns is not None for row in rows):
        entries.append(Entry(text="lower bound: no gather schedule without stale reads is faster", edge=INK, line=True))
    return entries
