"""The timeline picture: one band per rank with host, compute and NCCL lanes, as a profiler shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from simgather.report.plot.band import draw_band
from simgather.report.plot.builder import make_band
from simgather.report.plot.callouts import Callout, Callouts, make_callouts, rows_for
from simgather.report.plot.canvas import (
    LINE,
    WIDTH,
    add_axes,
    add_page,
    blank,
    shortened,
    text_width,
    wrapped,
    write_caption,
    write_heading,
    write_title,
)
from simgather.report.plot.lanes import Lanes, lanes
from simgather.report.plot.legend import ROW, draw_legend, flowed
from simgather.report.plot.marks import MARK_ROOM, draw_mark
from simgather.report.plot.phases import phases
from simgather.report.plot.scale import Ruler, unit_for
from simgather.report.plot.scene import Band
from simgather.report.plot.selection import (
    MOST_BANDS,
    Selection,
    Window,
    choose_iterations,
    choose_ranks,
    representatives,
    window,
)
from simgather.report.plot.style import INK, PALE, PAPER, QUIET
from simgather.report.plot.timeline_legend import entries
from simgather.report.report import Report
from simgather.report.wording import policy_title, runs
from simgather.units import format_time

LEFT, RIGHT = 1.42, 0.2
PLOT_WIDTH = WIDTH - LEFT - RIGHT
HEADING = 0.4
CALLOUT_ROW = 0.22
PHASES = 0.22
AXIS = 0.5
PLATE = {"boxstyle": "square,pad=0.1", "facecolor": PAPER, "edgecolor": "none"}
CROWDED = 150
"""With more blocks than this in a band, ranks that do the same are drawn once."""
FINEST = 0.03
"""Kernels narrower than this many inches are merged with neighbours of their kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """One report's share of the figure."""

    report: Report
    window: Window
    bands: tuple[Band, ...]
    callouts: Callouts
    rows: tuple[int, ...]
    place: Lanes
    telling_first: bool

    @property
    def reached(self) -> bool:
        """Whether anything happens in the window."""
        return any(band.host or band.blocks for band in self.bands)

    @property
    def callouts_height(self) -> float:
        rows = max(self.rows, default=-1) + 1 + bool(self.callouts.left_out)
        return CALLOUT_ROW * rows + (0.08 if rows else 0)

    @property
    def bands_height(self) -> float:
        return self.place.height * len(self.bands)

    @property
    def height(self) -> float:
        return HEADING + self.callouts_height + PHASES + self.bands_height


def figure(reports: Sequence[Report], selection: Selection) -> Figure:
    """The timeline of one report, or of two on one scale."""
    first, last = choose_iterations(reports, selection)
    windows = [window(report, first, last) for report in reports]
    longest_ns = max(1, *(one.end_ns - one.start_ns for one in windows))
    ns_per_inch = longest_ns * (1.04 if any(one.cut_short for one in windows) else 1.01) / PLOT_WIDTH
    panels = [
        _panel(report, one, selection, ns_per_inch, 2 if len(reports) > 1 else MOST_BANDS)
        for report, one in zip(reports, windows, strict=True)
    ]
    legend = flowed(entries(reports, [panel.bands for panel in panels]), WIDTH - 0.5)
    caption = [line for text in _caption(panels) for line in wrapped(text, WIDTH - 0.5, 8)]
    below = AXIS + ROW * len(legend) + 0.12 + LINE * len(caption) + 0.12
    height = 0.5 + sum(panel.height for panel in panels) + 0.42 * (len(panels) - 1) + below
    figure = blank(height)
    page = add_page(figure)
    write_title(page, 0.25, height - 0.16, _title(reports), WIDTH - 0.5)
    top = height - 0.5
    for number, panel in enumerate(panels):
        _draw_panel(figure, page, panel, top, ns_per_inch, is_last=number == len(panels) - 1)
        top -= panel.height + 0.42
    draw_legend(page, 0.25, below - AXIS, legend)
    write_caption(page, 0.25, 0.12, caption)
    return figure


def _title(reports: Sequence[Report]) -> str:
    names = list(dict.fromkeys(report.scenario.name for report in reports))
    return " / ".join(names)


def _panel(report: Report, shown: Window, selection: Selection, ns_per_inch: float, most: int) -> _Panel:
    finest_ns = round(FINEST * ns_per_inch)
    bands = _bands(report, shown, choose_ranks(report, selection, most), finest_ns)
    if selection.ranks is None and len(bands) > 1 and len(bands[0].blocks) > CROWDED:
        bands = _bands(report, shown, representatives(report, most), finest_ns)
    telling = next((band for band in bands if any(block.marks for block in band.blocks) or band.stop_ns), bands[0])
    callouts = make_callouts(report, telling, shown)
    ruler = _ruler(shown, ns_per_inch)
    places = [_callout_place(one, ruler) for one in callouts.shown]
    return _Panel(
        report=report,
        window=shown,
        bands=bands,
        callouts=callouts,
        rows=tuple(rows_for(places, 0.15)),
        place=lanes(len(bands)),
        telling_first=telling is bands[0],
    )


def _bands(
    report: Report, shown: Window, ranks: Sequence[tuple[int, tuple[int, ...]]], finest_ns: int
) -> tuple[Band, ...]:
    return tuple(make_band(report, rank, alike, shown, finest_ns) for rank, alike in ranks)


def _ruler(shown: Window, ns_per_inch: float) -> Ruler:
    unit = unit_for(round(ns_per_inch * PLOT_WIDTH))
    return Ruler(unit=unit, origin_ns=shown.start_ns, ns_per_inch=ns_per_inch)


def _callout_text(callout: Callout) -> str:
    return shortened(callout.text, PLOT_WIDTH - 0.5, 8.5)


def _callout_place(callout: Callout, ruler: Ruler) -> tuple[float, float]:
    """Left and right end of the text in inches of the axes, its mark included; moved left if it would not fit."""
    width = MARK_ROOM + 0.05 + text_width(_callout_text(callout), 8.5)
    left = min(ruler.inches(callout.at_ns - ruler.origin_ns), PLOT_WIDTH - width - 0.05)
    return max(left, 0.0), max(left, 0.0) + width


def _draw_panel(figure: Figure, page: Axes, panel: _Panel, top: float, ns_per_inch: float, *, is_last: bool) -> None:
    ruler = _ruler(panel.window, ns_per_inch)
    _heading(page, panel, top - HEADING / 2)
    height = panel.height - HEADING
    axes = add_axes(figure, LEFT, top - panel.height, PLOT_WIDTH, height)
    axes.set_xlim(0, ruler.wide(PLOT_WIDTH))
    axes.set_ylim(0, height)
    axes.set_yticks([])
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", labelsize=8, length=3, pad=2)
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis="x", color="#EDEDED", lw=0.6)
    if is_last:
        axes.set_xlabel(f"time since the start of iteration {panel.window.first} ({ruler.unit.name})", labelpad=2)
    floor = panel.bands_height
    for number, band in enumerate(panel.bands):
        floor -= panel.place.height
        if number:
            axes.axhline(floor + panel.place.height, color=PALE, lw=0.8, zorder=0)
        draw_band(axes, band, floor, panel.place, ruler=ruler, buckets=len(panel.report.workload.buckets))
        _band_labels(page, panel, band, top - panel.height + floor)
    if not panel.reached:
        text = f"never gets to iteration {panel.window.first}"
        middle = ruler.wide(PLOT_WIDTH / 2)
        axes.text(middle, panel.bands_height / 2, text, size=11, color=QUIET, ha="center", va="center", bbox=PLATE)
    _borders(axes, panel, ruler)
    _callouts(axes, panel, ruler)


def _heading(page: Axes, panel: _Panel, y: float) -> None:
    """Policy, verdict, and what the first drawn iteration cost."""
    row = panel.report.slowest(panel.window.first)
    cost = ""
    if row is not None and row.forward_ns is not None:
        times = f"forward {format_time(row.forward_ns)}, of it exposed {format_time(row.exposed_ns or 0)}"
        cost = f"iteration {row.iteration}: {times}"
    write_heading(page, 0.25, y, panel.report, cost)


def _band_labels(page: Axes, panel: _Panel, band: Band, floor: float) -> None:
    place = panel.place
    for lane, text in ((place.host, "host"), (place.compute, "compute"), (place.nccl, "NCCL")):
        page.text(LEFT - 0.06, floor + sum(lane) / 2, text, size=7.5, color=QUIET, ha="right", va="center_baseline")
    middle = floor + sum(place.compute) / 2
    name = f"rank {band.rank}"
    page.text(
        0.25, middle, name, size=8.5, weight="bold", color=INK, va="center_baseline", gid=f"rank-{band.rank}.name"
    )
    if band.alike:
        text = shortened(f"= {runs(band.alike)}", 0.66, 7)
        page.text(0.25, middle - 0.15, text, size=7, color=QUIET, va="center_baseline")


def _borders(axes: Axes, panel: _Panel, ruler: Ruler) -> None:
    """Borders of iterations over the whole height, and above the bands what the first rank does."""
    base = panel.bands_height
    for number, start_ns in enumerate(panel.window.starts_ns):
        x = ruler.x(start_ns)
        gid = f"iteration-{panel.window.first + number}"
        axes.plot([x, x], [0, base + PHASES], color=INK, lw=1.0, zorder=0.8, gid=gid)
    for start_ns, end_ns, what in phases(panel.report, panel.bands[0].rank, panel.window):
        left, right = ruler.x(start_ns), ruler.x(end_ns)
        inset = min(ruler.wide(0.02), (right - left) / 4)
        axes.plot([left + inset, right - inset], [base + 0.02] * 2, color=QUIET, lw=1.4, solid_capstyle="butt")
        text = _phase_text(panel, what, start_ns, ruler.inches(end_ns - start_ns))
        if text:
            middle = (left + right) / 2
            axes.text(middle, base + 0.045, text, size=7.5, color=QUIET, ha="center", va="bottom", bbox=PLATE, zorder=2)


def _phase_text(panel: _Panel, what: str, start_ns: int, room: float) -> str | None:
    begun = [start for start in panel.window.starts_ns if start <= start_ns]
    iteration = panel.window.first + max(len(begun) - 1, 0)
    texts = [f"iteration {iteration}: {what}", f"{iteration}: {what}"] if what == "forward" else [what]
    return next((text for text in texts if text_width(text, 7.5) <= room), None)


def _callouts(axes: Axes, panel: _Panel, ruler: Ruler) -> None:
    base = panel.bands_height + PHASES + 0.06
    if panel.callouts.left_out:
        text = f"and {panel.callouts.left_out} more in the part shown: see the report's findings"
        axes.text(0, base + 0.1, text, size=8.5, color=QUIET, va="center_baseline")
        base += CALLOUT_ROW
    rows = max(panel.rows, default=0)
    for callout, row in zip(panel.callouts.shown, panel.rows, strict=True):
        left, _ = _callout_place(callout, ruler)
        # The first text takes the highest row: then no line to a mark runs through a text that begins later.
        y = base + (rows - row if len(set(panel.rows)) > 1 else 0) * CALLOUT_ROW + 0.1
        x = ruler.x(callout.at_ns)
        foot = panel.bands_height - (panel.place.height - panel.place.compute[1] if panel.telling_first else 0)
        axes.plot([x, x], [foot, y - 0.1], color=INK, lw=0.7, ls=(0, (2, 2)), zorder=0.9)
        middle = ruler.wide(left + MARK_ROOM / 2)
        draw_mark(axes, middle, y, callout.kind, f"callout-{callout.kind}-{callout.at_ns}")
        axes.text(
            ruler.wide(left + MARK_ROOM + 0.05),
            y,
            _callout_text(callout),
            size=8.5,
            color=INK,
            va="center_baseline",
            weight="normal",
        )


def _caption(panels: Sequence[_Panel]) -> list[str]:
    """What is shown, what is left out, and what was merged."""
    shown = panels[0].window
    one = shown.first == shown.last
    iterations = f"iteration {shown.first}" if one else f"iterations {shown.first} to {shown.last}"
    total = panels[0].report.workload.training.iterations
    text = f"Shown: {iterations} of 0 to {total - 1}"
    if len(panels) == 1 and shown.start_ns:
        text += f", which starts at {format_time(shown.start_ns)} of the run"
    elif len(panels) > 1:
        text += ", both runs aligned at its start"
    parts = [text + "."]
    for panel in panels:
        name = f"{policy_title(panel.report.scenario.policy)}: " if len(panels) > 1 else ""
        drawn = [band.rank for band in panel.bands]
        if len(drawn) < panel.report.workload.dp:
            alike = sum(len(band.alike) for band in panel.bands)
            rest = panel.report.workload.dp - len(drawn) - alike
            text = f"{name}{len(drawn)} of {panel.report.workload.dp} ranks drawn"
            if alike:
                text += f", {alike} more do exactly the same (=)"
            parts.append(text + (f", {rest} others are not shown." if rest else "."))
        if not panel.reached:
            parts.append(f"{name}the job never gets that far.")
        elif panel.window.cut_short:
            parts.append(f"{name}the job stops in this iteration." if name else "The job stops in this iteration.")
    if any(block.count > 1 for panel in panels for band in panel.bands for block in band.blocks):
        parts.append("Neighbouring kernels of one bucket that are too narrow to be told apart are drawn as one block.")
    if any(len(band.arrows) > 120 for panel in panels for band in panel.bands):
        parts.append("Only waits that held a kernel back are drawn as arrows.")
    return [" ".join(parts)]
