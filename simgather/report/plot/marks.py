"""Marks on what is wrong: a shape and a letter that say the same, drawn once where many would cover each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes

from simgather.report.plot.scale import Ruler
from simgather.report.plot.style import INK, MARK_ORDER, MARKS, PAPER

TIMES = "\N{MULTIPLICATION SIGN}"
MARK_SIZE = 11.5
MARK_ROOM = 0.19

Place = tuple[float, float, str, int]
"""A mark: x, y, its kind, and of how many."""


def draw_marks(axes: Axes, marks: Sequence[Place], ruler: Ruler, gid: str) -> None:
    """Draw a band's marks; `gid` names the band."""
    for number, (x, y, kind, count) in enumerate(_apart(marks, ruler.wide(MARK_ROOM))):
        draw_mark(axes, x, y, kind, f"{gid}.mark-{kind}-{number}")
        if count > 1:
            left, text = x + ruler.wide(0.12), f"{TIMES}{count}"
            plate = {"boxstyle": "square,pad=0.1", "facecolor": PAPER, "edgecolor": "none"}
            axes.text(left, y + 0.03, text, size=7, color=INK, va="center_baseline", zorder=8, bbox=plate)


def draw_mark(axes: Axes, x: float, y: float, kind: str, gid: str | None = None) -> None:
    """A mark: its shape says the same as its letter."""
    look = MARKS[kind]
    axes.plot(
        [x],
        [y],
        marker=look.shape,
        ms=MARK_SIZE if look.shape != "D" else MARK_SIZE - 1.5,
        mfc=look.face,
        mec=INK,
        mew=1.2,
        ls="none",
        zorder=8,
        gid=gid,
        clip_on=False,
    )
    axes.text(x, y, look.letter, size=7.5, weight="bold", color=look.ink, ha="center", va="center_baseline", zorder=9)


def _apart(marks: Iterable[Place], room: float) -> list[Place]:
    """Marks that would cover each other become one: the worst, with their number."""
    result: list[Place] = []
    last: dict[float, int] = {}
    reach: dict[float, float] = {}
    for x, y, kind, count in sorted(marks):
        if y in last and x - reach[y] < room * (1 if result[last[y]][3] == 1 else 2):
            before = result[last[y]]
            worst = min(before[2], kind, key=lambda name: MARK_ORDER[name])
            result[last[y]] = (before[0], y, worst, before[3] + count)
        else:
            last[y], reach[y] = len(result), x
            result.append((x, y, kind, count))
    return result
