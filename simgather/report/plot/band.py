"""One rank's band in a timeline: host, compute and NCCL lanes, with arrows and marks. Units are inches upward."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

from simgather.report.plot.canvas import fitting, text_width
from simgather.report.plot.lanes import Lanes
from simgather.report.plot.marks import TIMES, Place, draw_marks
from simgather.report.plot.merging import marked_runs
from simgather.report.plot.names import shorter_forms
from simgather.report.plot.scale import Ruler
from simgather.report.plot.scene import Band, Block, Idle, Transfer
from simgather.report.plot.style import (
    ALARM,
    BUCKET_COLOURS,
    EXPOSED_FACE,
    EXPOSED_HATCH,
    HOST_BOUND_FACE,
    HOST_BOUND_HATCH,
    INK,
    MARKS,
    NEUTRAL,
    PALE,
    PAPER,
    QUIET,
    RENDEZVOUS_HATCH,
    bucket_colour,
    ink_on,
    lighter,
)
from simgather.units import format_time

THINNEST = 0.008

Box = tuple[float, float, float, float]
"""Left, right, bottom, top."""


def draw_band(axes: Axes, band: Band, floor: float, place: Lanes, *, ruler: Ruler, buckets: int) -> None:
    """Draw the band with its bottom at `floor`; `buckets` is how many the workload has."""
    _Artist(axes, band, floor, place, ruler=ruler, buckets=buckets).draw()


class _Artist:
    """Draws one band; what looks the same goes into one artist, whose gid begins with the rank."""

    def __init__(self, axes: Axes, band: Band, floor: float, place: Lanes, *, ruler: Ruler, buckets: int) -> None:
        self.axes = axes
        self.band = band
        self.ruler = ruler
        self.buckets = buckets
        self.nccl = (floor + place.nccl[0], floor + place.nccl[1])
        self.compute = (floor + place.compute[0], floor + place.compute[1])
        self.host = (floor + place.host[0], floor + place.host[1])
        self.gid = f"rank-{band.rank}"

    def draw(self) -> None:
        self._host()
        self._idle()
        self._blocks()
        self._transfers()
        self._arrows()
        self._marks()

    def _look(self, bucket: int) -> tuple[str, str]:
        return _bucket_look(bucket, self.buckets)

    def _boxes(self, boxes: Sequence[Box], gid: str, **look: Any) -> None:
        if boxes:
            corners = [
                [(left, bottom), (left, top), (right, top), (right, bottom)] for left, right, bottom, top in boxes
            ]
            self.axes.add_collection(
                PolyCollection(corners, closed=True, gid=f"{self.gid}.{gid}", **look), autolim=False
            )

    def _box(self, start_ns: int, end_ns: int, lane: tuple[float, float], thinnest: float = THINNEST) -> Box:
        left = self.ruler.x(start_ns)
        return left, max(self.ruler.x(end_ns), left + self.ruler.wide(thinnest)), *lane

    def _text(self, box: Box, text: str, size: float, colour: str, gid: str) -> None:
        self.axes.text(
            (box[0] + box[1]) / 2,
            (box[2] + box[3]) / 2,
            text,
            size=size,
            color=colour,
            ha="center",
            va="center_baseline",
            gid=f"{self.gid}.{gid}",
            zorder=5,
        )

    def _host(self) -> None:
        middle = (self.host[0] + self.host[1]) / 2
        left, right = self.axes.get_xlim()
        self.axes.plot([left, right], [middle, middle], lw=0.5, color=PALE, zorder=0.5)
        by_look: dict[tuple[str, str], list[Box]] = defaultdict(list)
        third = (self.host[1] - self.host[0]) / 3
        for step in self.band.host:
            if step.kind == "sync":
                lane, look = (middle - 0.02, middle + 0.02), ("sync", PALE)
            elif step.kind == "dispatch":
                lane = self.host
                look = ("dispatch", NEUTRAL) if step.bucket is None else self._look(step.bucket)
            else:
                lane, look = (self.host[0] + third, self.host[1] - third), ("launch", QUIET)
            by_look[look].append(self._box(step.start_ns, step.end_ns, lane, 0.012))
        for (name, colour), boxes in by_look.items():
            edge = INK if name not in ("sync", "launch") else colour
            width = 0.4 if name not in ("sync", "launch") else 0
            self._boxes(
                _thinned(boxes, self.ruler), f"host.{name}", facecolor=colour, edgecolor=edge, lw=width, zorder=2
            )

    def _idle(self) -> None:
        for kind, face, hatch in (
            ("exposed", EXPOSED_FACE, EXPOSED_HATCH),
            ("host-bound", HOST_BOUND_FACE, HOST_BOUND_HATCH),
        ):
            idle = [one for one in self.band.idle if one.kind == kind]
            colour = ALARM if kind == "exposed" else QUIET
            boxes = [self._box(one.start_ns, one.end_ns, self.compute, 0) for one in idle]
            self._boxes(boxes, kind, facecolor=face, edgecolor=colour, hatch=hatch, lw=0.4, zorder=1)
            if kind == "exposed":
                for one, box in zip(idle, boxes, strict=True):
                    self._idle_text(one, box)

    def _idle_text(self, idle: Idle, box: Box) -> None:
        room = self.ruler.inches(idle.end_ns - idle.start_ns) - 0.06
        length = format_time(idle.end_ns - idle.start_ns)
        texts = ["waits for ever"] if idle.endless else [f"exposed {length}", length]
        size, text = next(((size, text) for size in (7.5, 6.5) if (text := fitting(texts, room, size))), (0, None))
        if text is not None:
            self._plate(box, text, size, "exposed-text")

    def _plate(self, box: Box, text: str, size: float, gid: str) -> None:
        """Text on a white plate, readable on hatches and stripes."""
        self.axes.text(
            (box[0] + box[1]) / 2,
            (box[2] + box[3]) / 2,
            text,
            size=size,
            color=INK,
            ha="center",
            va="center_baseline",
            bbox={"boxstyle": "square,pad=0.1", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.9},
            gid=f"{self.gid}.{gid}",
            zorder=5,
        )

    def _blocks(self) -> None:
        edge = 0.5 if len(self.band.blocks) <= 250 else 0.15
        by_look: dict[tuple[str, str], list[Box]] = defaultdict(list)
        for number, block in enumerate(self.band.blocks):
            box = self._box(block.start_ns, block.end_ns, self.compute)
            colours = self._colours(block)
            stripe = (box[3] - box[2]) / len(colours)
            for row, (name, colour) in enumerate(colours):
                by_look[name, colour].append(
                    (box[0], box[1], box[3] - (row + 1) * stripe, box[3] - row * stripe),
                )
            self._name(block, box, colours, number)
        for (name, colour), boxes in by_look.items():
            self._boxes(boxes, f"kernel.{name}", facecolor=colour, edgecolor=PAPER, lw=edge, zorder=3)

    def _colours(self, block: Block) -> list[tuple[str, str]]:
        """Name and colour of every stripe, from top to bottom."""
        if block.kind == "optimizer":
            return [("optimizer", QUIET)]
        looks = [self._look(bucket) for bucket in block.buckets] or [("no-bucket", NEUTRAL)]
        return [(f"{name}.backward", lighter(look)) for name, look in looks] if block.kind == "backward" else looks

    def _name(self, block: Block, box: Box, colours: Sequence[tuple[str, str]], number: int) -> None:
        room = self.ruler.inches(block.end_ns - block.start_ns) - 0.05
        if room < 0.1:
            return
        names = [f"{block.count} kernels", f"{TIMES}{block.count}"] if block.count > 1 else shorter_forms(block.name)
        for size in (7.5, 6):
            text = fitting(names, room, size)
            if text is not None:
                if len(colours) == 1:
                    self._text(box, text, size, ink_on(colours[0][1]), f"name-{number}")
                elif text_width(text, size) <= room - 0.05:
                    self._plate(box, text, size, f"name-{number}")
                return

    def _transfers(self) -> None:
        by_look: dict[tuple[str, str, str], list[Box]] = defaultdict(list)
        rendezvous = []
        for number, transfer in enumerate(self.band.transfers):
            if transfer.start_ns > transfer.ready_ns:
                lane = (self.nccl[0] + 0.04, self.nccl[1] - 0.04)
                rendezvous.append(self._box(transfer.ready_ns, transfer.start_ns, lane, 0))
                if transfer.mark == "hang":
                    self._plate(rendezvous[-1], "never starts", 7.5, "never")
            if transfer.end_ns is not None:
                box = self._box(transfer.start_ns, transfer.end_ns, self.nccl)
                by_look[transfer.kind, *self._look(transfer.bucket)].append(box)
                self._number(transfer, box, number)
        self._boxes(
            rendezvous, "rendezvous", facecolor=PAPER, edgecolor=QUIET, hatch=RENDEZVOUS_HATCH, lw=0.4, zorder=2
        )
        for (kind, name, colour), boxes in by_look.items():
            if kind == "all-gather":
                self._boxes(boxes, f"gather.{name}", facecolor=colour, edgecolor=PAPER, lw=0.5, zorder=3)
            else:
                self._boxes(boxes, f"reduce-scatter.{name}", facecolor=NEUTRAL, edgecolor=PAPER, lw=0.5, zorder=3)
                stripes = [(left, right, bottom, bottom + 0.06) for left, right, bottom, _ in boxes]
                self._boxes(
                    stripes, f"reduce-scatter-stripe.{name}", facecolor=colour, edgecolor="none", lw=0, zorder=3
                )

    def _number(self, transfer: Transfer, box: Box, number: int) -> None:
        gather = transfer.kind == "all-gather"
        long, short = ("gather", "") if gather else ("reduce-scatter", "rs ")
        room = self.ruler.inches((transfer.end_ns or 0) - transfer.start_ns) - 0.05
        text = fitting([f"{long} {transfer.bucket}", f"{short}{transfer.bucket}", str(transfer.bucket)], room, 7.5)
        if text is not None:
            colour = ink_on(bucket_colour(transfer.bucket)) if gather else INK
            if not gather:
                box = (box[0], box[1], box[2] + 0.05, box[3])
            self._text(box, text, 7.5, colour, f"{transfer.kind}-{number}")

    def _arrows(self) -> None:
        arrows = self.band.arrows
        if len(arrows) > 120:
            arrows = tuple(arrow for arrow in arrows if arrow.binding)
        top, bottom = self.nccl[1], self.compute[0]
        for binding in (True, False):
            lines = [
                [(self.ruler.x(arrow.from_ns), top), (self.ruler.x(arrow.to_ns), bottom)]
                for arrow in arrows
                if arrow.binding is binding
            ]
            if not lines:
                continue
            colour, width = (INK, 0.9) if binding else ("#9A9A9A", 0.6)
            gid = f"{self.gid}.wait-{'binding' if binding else 'met'}"
            self.axes.add_collection(
                LineCollection(lines, colors=colour, linewidths=width, gid=gid, zorder=4), autolim=False
            )
            heads = [line[1] for line in lines]
            self.axes.plot(
                [x for x, _ in heads],
                [y - 0.025 for _, y in heads],
                linestyle="none",
                marker="^",
                ms=3.5 if binding else 2.8,
                color=colour,
                mew=0,
                zorder=4,
            )

    def _marks(self) -> None:
        marks: list[Place] = []
        outlines: dict[str, list[Box]] = defaultdict(list)
        for start_ns, end_ns, kind, count in marked_runs(self.band.blocks, round(0.12 * self.ruler.ns_per_inch)):
            box = self._box(start_ns, end_ns, self.compute)
            outlines[kind].append(box)
            marks.append(((box[0] + box[1]) / 2, self.compute[1] + 0.03, kind, count))
        for transfer in self.band.transfers:
            if transfer.mark is not None:
                end_ns = transfer.start_ns if transfer.end_ns is None else transfer.end_ns
                box = self._box(transfer.ready_ns, end_ns, self.nccl)
                outlines[transfer.mark].append(box)
                marks.append((min(box[0] + self.ruler.wide(0.2), box[1]), self.nccl[1] + 0.06, transfer.mark, 1))
        for kind, boxes in outlines.items():
            look = MARKS[kind]
            self._boxes(boxes, f"halo.{kind}", facecolor="none", edgecolor=PAPER, lw=4.4, zorder=5.5)
            self._boxes(boxes, f"outline.{kind}", facecolor="none", edgecolor=ALARM, lw=2.2, ls=look.outline, zorder=6)
        if self.band.stop_ns is not None:
            x = self.ruler.x(self.band.stop_ns)
            self.axes.plot([x, x], [self.nccl[0], self.host[1]], color=ALARM, lw=1.5, ls="dashed", zorder=6)
            marks.append((x, (self.host[0] + self.host[1]) / 2, "error", 1))
        draw_marks(self.axes, marks, self.ruler, self.gid)


def _bucket_look(bucket: int, buckets: int) -> tuple[str, str]:
    """Name and colour; of many buckets those of one colour share a name, and so an artist."""
    if buckets > 2 * len(BUCKET_COLOURS):
        return f"colour-{bucket % len(BUCKET_COLOURS)}", bucket_colour(bucket)
    return f"bucket-{bucket}", bucket_colour(bucket)


def _thinned(boxes: Sequence[Box], ruler: Ruler) -> list[Box]:
    """Boxes that would touch become one."""
    gap = ruler.wide(0.004)
    result: list[Box] = []
    for box in sorted(boxes):
        if result and box[0] - result[-1][1] < gap:
            result[-1] = (result[-1][0], max(box[1], result[-1][1]), *box[2:])
        else:
            result.append(box)
    return result
