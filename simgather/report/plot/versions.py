"""The versions picture: which share of the weights every module read was how old, per iteration and rank.

Every cell is one read: a column per rank, in it a layer per owner's shard, as high as its share of the elements read.
A rank's own shard is always new, so a stale read shows a light diagonal: every rank computes with another mixture.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

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
from simgather.report.plot.legend import ROW, Entry, draw_legend, flowed
from simgather.report.plot.names import cut, distinct_names, percent
from simgather.report.plot.selection import Selection, begun, checked_iterations, checked_ranks
from simgather.report.plot.style import ALARM, INK, PALE, QUIET, mixed
from simgather.report.report import Report
from simgather.report.wording import runs
from simgather.verdict.versions import Mixture, mixtures

LEFT = 2.3
PLOT_WIDTH = WIDTH - LEFT - 0.2
CELL = 0.56
TEXT = 0.2
STEP = CELL + TEXT + 0.08
MOST_ROWS, MOST_ITERATIONS, MOST_RANKS = 10, 20, 16

NEW = "#EAF3FA"
OLD = ("#FDD9A0", "#FC9D59", "#E0442F", "#A80010", "#4A0000")
"""From one step old to the oldest, ever darker."""
MOST_ENTRIES = 6
TEXT_SIZE = 7.5
FORMS = 4

Place = tuple[str, int]
"""A use and the bucket it reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What is drawn, and what is left out."""

    places: Sequence[Place]
    iterations: Sequence[int]
    ranks: Sequence[int]
    caption: str


def figure(reports: Sequence[Report], selection: Selection) -> Figure:
    """Rows are modules, columns iterations."""
    (report,) = reports
    cells: dict[tuple[Place, int], list[Mixture]] = defaultdict(list)
    ranks = (checked_ranks(report, selection.ranks) or tuple(range(report.workload.dp)))[:MOST_RANKS]
    for mixture in mixtures(report.timeline, report.workload, report.reads, ranks):
        cells[(mixture.read.use, mixture.read.bucket), mixture.read.iteration].append(mixture)
    shown = _choose(report, selection, ranks, cells)
    oldest = max((max(one.ages) for cell in cells.values() for one in cell), default=0)
    names = distinct_names(list(dict.fromkeys(use for (use, _), _ in cells)))
    form = _form(cells.values(), len(shown.iterations))
    legend = flowed([_legend(cells, oldest)], WIDTH - 0.5)
    caption = wrapped(shown.caption, WIDTH - 0.5, 8)
    below = 0.5 + ROW * len(legend) + 0.12 + LINE * len(caption) + 0.12
    body = STEP * max(1, len(shown.places))
    height = 0.95 + body + below
    figure = blank(height)
    page = add_page(figure)
    write_title(page, 0.25, height - 0.16, report.scenario.name, WIDTH - 0.5)
    write_heading(page, 0.25, height - 0.7, report)
    axes = add_axes(figure, LEFT, below, PLOT_WIDTH, body)
    axes.set_xlim(0, max(1, len(shown.iterations)))
    axes.set_ylim(0, body)
    axes.set_yticks([])
    axes.set_xticks([number + 0.5 for number in range(len(shown.iterations))], [str(one) for one in shown.iterations])
    axes.tick_params(axis="x", labelsize=8, length=0, pad=3)
    axes.set_xlabel("iteration", labelpad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for row, place in enumerate(shown.places):
        floor = body - (row + 1) * STEP + 0.04
        _label(page, names[place[0]], place[1], below + floor + CELL / 2, row)
        for column, iteration in enumerate(shown.iterations):
            by_rank = {one.rank: one for one in cells.get((place, iteration), ())}
            seen = [by_rank[rank] for rank in shown.ranks if rank in by_rank]
            _draw_cell(axes, (column, floor), seen, oldest_of_all=oldest, form=form, gid=f"cell-{row}-{column}")
    if not shown.places:
        page.text(
            LEFT, below + body / 2, "no read of a bucket", size=10, color=QUIET, va="center_baseline", gid="empty"
        )
    draw_legend(page, 0.25, below - 0.5, legend)
    write_caption(page, 0.25, 0.12, caption)
    return figure


def _choose(
    report: Report, selection: Selection, ranks: Sequence[int], cells: dict[tuple[Place, int], list[Mixture]]
) -> _Shown:
    first, last = checked_iterations(report, selection.iterations) or (0, begun(report) - 1)
    every = list(range(first, last + 1))
    iterations = every
    if len(every) > MOST_ITERATIONS:
        iterations = [*every[: MOST_ITERATIONS // 2], *every[-MOST_ITERATIONS // 2 :]]
    worst: dict[Place, int] = {}
    for (place, _), cell in cells.items():
        age = max(max(one.ages) for one in cell)
        worst[place] = max(age, worst.get(place, 0))
    places = list(worst)
    if len(places) > MOST_ROWS:
        oldest = sorted(places, key=lambda place: -worst[place])[:MOST_ROWS]
        places = [place for place in places if place in oldest]
    owners = f"{report.workload.dp} shard{'s'[: report.workload.dp > 1]}, owner 0 at the bottom"
    text = (
        f"Every cell is a forward read: a column per rank ({runs(ranks)}, left to right), in it the {owners}; the "
        "rank's own shard is always new."
    )
    if len(places) < len(worst):
        which = f"the {len(places)} with the oldest weights" if max(worst.values()) else f"{len(places)}, all as new"
        text += f" Of {len(worst)} modules {which}."
    if len(iterations) < len(every):
        text += f" {len(every) - len(iterations)} iterations in the middle are left out."
    if len(ranks) < report.workload.dp:
        text += f" {len(ranks)} of {report.workload.dp} ranks."
    return _Shown(places=places, iterations=iterations, ranks=ranks, caption=text)


def _label(page: Axes, name: str, bucket: int, y: float, row: int) -> None:
    name = shortened(cut(name, 40), LEFT - 0.4, 9, bold=True)
    page.text(LEFT - 0.12, y + 0.09, name, size=9, weight="bold", color=INK, ha="right", va="center_baseline")
    text = f"reads bucket {bucket}"
    page.text(LEFT - 0.12, y - 0.1, text, size=8, color=QUIET, ha="right", va="center_baseline", gid=f"row-{row}")


def _colour(age: int, oldest: int) -> str:
    """Old weights are as dark as their age is near the oldest; up to as many ages as there are colours, one each."""
    if age == 0:
        return NEW
    place = (age - 1) * (len(OLD) - 1) / (max(oldest, len(OLD)) - 1)
    below = min(int(place), len(OLD) - 2)
    return mixed(OLD[below], OLD[below + 1], place - below)


def _draw_cell(
    axes: Axes, place: tuple[int, float], seen: Sequence[Mixture], *, oldest_of_all: int, form: int, gid: str
) -> None:
    if not seen:
        return
    column, floor = place
    inset = 0.06
    width = (1 - 2 * inset) / len(seen)
    corners, colours = [], []
    for number, one in enumerate(seen):
        left = column + inset + number * width
        bottom, scale = floor, CELL / max(1, sum(one.elements))
        for elements, age in _layers(one):
            top = bottom + elements * scale
            corners.append([(left, bottom), (left, top), (left + width, top), (left + width, bottom)])
            colours.append(_colour(age, oldest_of_all))
            bottom = top
    axes.add_collection(PolyCollection(corners, facecolor=colours, edgecolor=PALE, lw=0.3, gid=gid), autolim=False)
    oldest = max(max(one.ages) for one in seen)
    bad = bool(oldest)
    axes.add_patch(
        Rectangle(
            (column + inset, floor),
            1 - 2 * inset,
            CELL,
            facecolor="none",
            edgecolor=ALARM if bad else QUIET,
            lw=1.6 if bad else 0.6,
        )
    )
    if bad:
        axes.text(
            column + 0.5,
            floor + CELL + TEXT / 2,
            _texts(seen)[form],
            size=TEXT_SIZE,
            color=INK,
            ha="center",
            va="center_baseline",
            gid=f"{gid}.oldest",
        )


def _layers(mixture: Mixture) -> list[tuple[int, int]]:
    """Elements and age, owner by owner; of many owners neighbours of one age are one layer."""
    layers: list[tuple[int, int]] = []
    for elements, age in zip(mixture.elements, mixture.ages, strict=True):
        if len(mixture.ages) > MOST_RANKS and layers and layers[-1][1] == age:
            layers[-1] = (layers[-1][0] + elements, age)
        else:
            layers.append((elements, age))
    return layers


def _form(cells: Iterable[Sequence[Mixture]], columns: int) -> int:
    """Which of the texts above a cell is the longest that fits in all cells; the last if none does."""
    room = PLOT_WIDTH / max(1, columns) - 0.12
    texts = [_texts(cell) for cell in cells]
    fits = (number for number in range(FORMS) if all(text_width(forms[number], TEXT_SIZE) <= room for forms in texts))
    return next(fits, FORMS - 1)


def _texts(seen: Sequence[Mixture]) -> list[str]:
    """The worst rank's share of old elements, and how old they are, in `FORMS` ever shorter forms."""
    oldest = max(max(one.ages) for one in seen)
    several = len({age for one in seen for age in one.ages if age}) > 1
    share = max(
        sum(elements for elements, age in zip(one.elements, one.ages, strict=True) if age) / max(1, sum(one.elements))
        for one in seen
    )
    old = f"up to {oldest}" if several else f"{oldest}"
    torn = "T " if any(one.read.state[one.rank] == "torn" for one in seen) else ""
    return [
        f"{torn}{percent(share)} {old} step{'s'[: oldest > 1]} old",
        f"{torn}{percent(share)}: {old} old",
        f"{torn}{oldest} old",
        f"{oldest}",
    ]


def _legend(cells: dict[tuple[Place, int], list[Mixture]], oldest: int) -> list[Entry]:
    entries = [Entry(text="this step's version", face=NEW, edge=QUIET)]
    ages = range(1, oldest + 1)
    if oldest > MOST_ENTRIES:
        ages = range(1, oldest, -(-oldest // (MOST_ENTRIES - 1)))
    for age in dict.fromkeys([*ages, *([oldest] if oldest else [])]):
        entries.append(Entry(text=f"{age} step{'s'[: age > 1]} old", face=_colour(age, oldest), edge=QUIET))
    if any(one.read.state[one.rank] == "torn" for cell in cells.values() for one in cell):
        entries.append(Entry(text="torn: at most this old, data is arriving", mark="torn"))
    return entries
