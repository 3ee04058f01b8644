"""The legend below a picture: swatches that look like what they stand for, in lines as wide as the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from simgather.report.plot.canvas import text_width
from simgather.report.plot.marks import draw_mark
from simgather.report.plot.style import INK, PAPER

SIZE = 8
SWATCH = 0.26
GAP = 0.22
ROW = 0.235


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry: a filled and hatched box, a mark, or an arrow line."""

    text: str
    face: str = PAPER
    edge: str = PAPER
    hatch: str | None = None
    mark: str | None = None
    arrow: bool = False
    stripe: str | None = None
    line: bool = False

    @property
    def width(self) -> float:
        """In inches."""
        return SWATCH + 0.07 + text_width(self.text, SIZE) + GAP


def flowed(groups: Sequence[Sequence[Entry]], width: float) -> list[list[Entry]]:
    """Entries in lines of at most that width; every group begins a line."""
    lines: list[list[Entry]] = []
    for group in groups:
        room = 0.0
        for entry in group:
            if not lines or entry.width > room or room == 0.0:
                lines.append([])
                room = width
            lines[-1].append(entry)
            room -= entry.width
    return lines


def draw_legend(page: Axes, left: float, top: float, lines: Sequence[Sequence[Entry]]) -> None:
    """Draw the lines downward from `top`."""
    for row, line in enumerate(lines):
        x, y = left, top - (row + 0.5) * ROW
        for entry in line:
            _draw_swatch(page, x, y, entry)
            page.text(x + SWATCH + 0.07, y, entry.text, size=SIZE, color=INK, va="center_baseline")
            x += entry.width


def _draw_swatch(page: Axes, x: float, y: float, entry: Entry) -> None:
    if entry.mark is not None:
        draw_mark(page, x + SWATCH / 2, y, entry.mark, f"legend-{entry.mark}")
    elif entry.arrow:
        page.plot([x, x + SWATCH], [y - 0.05, y + 0.05], color=entry.edge, lw=0.9)
        page.plot([x + SWATCH], [y + 0.05], marker="^", ms=3.5, color=entry.edge, mew=0)
    elif entry.line:
        page.plot([x, x + SWATCH], [y, y], color=entry.edge, lw=2)
    else:
        page.add_patch(
            Rectangle(
                (x, y - 0.07), SWATCH, 0.14, facecolor=entry.face, edgecolor=entry.edge, hatch=entry.hatch, lw=0.5
            )
        )
        if entry.stripe is not None:
            page.add_patch(Rectangle((x, y - 0.07), SWATCH, 0.05, facecolor=entry.stripe, edgecolor="none"))
