"""What the timeline's legend explains: the buckets, and whatever else occurs in the bands drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simgather.report.plot.legend import Entry
from simgather.report.plot.names import bucket_modules
from simgather.report.plot.scene import Band
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
    PAPER,
    QUIET,
    RENDEZVOUS_HATCH,
    bucket_colour,
    lighter,
)
from simgather.report.report import Report

MOST_BUCKETS = 2 * len(BUCKET_COLOURS)


def entries(reports: Sequence[Report], panels: Sequence[Sequence[Band]]) -> list[list[Entry]]:
    """Three groups: buckets, ways to draw, marks."""
    bands = [band for panel in panels for band in panel]
    groups = [list(_buckets(reports[0])), list(_looks(bands)), list(_marks(bands))]
    return [group for group in groups if group]


def _buckets(report: Report) -> Iterator[Entry]:
    count = len(report.workload.buckets)
    if count > MOST_BUCKETS:
        for bucket in range(len(BUCKET_COLOURS)):
            yield Entry(text=f"{bucket}, {bucket + len(BUCKET_COLOURS)}, …", face=bucket_colour(bucket))
        yield Entry(text=f"({count} buckets: colours repeat)")
        return
    for bucket in range(count):
        yield Entry(text=f"bucket {bucket}: {bucket_modules(report.workload, bucket)}", face=bucket_colour(bucket))


def _looks(bands: Sequence[Band]) -> Iterator[Entry]:
    blocks = [block for band in bands for block in band.blocks]
    transfers = [transfer for band in bands for transfer in band.transfers]
    idle = {one.kind for band in bands for one in band.idle}
    if any(block.kind == "backward" for block in blocks):
        yield Entry(text="paler: backward", face=lighter(bucket_colour(0)))
    if any(block.kind == "optimizer" for block in blocks):
        yield Entry(text="optimizer", face=QUIET)
    if any(transfer.kind == "reduce-scatter" and transfer.end_ns is not None for transfer in transfers):
        yield Entry(text="reduce-scatter (stripe: its bucket)", face=NEUTRAL, stripe=bucket_colour(0))
    if any(transfer.start_ns > transfer.ready_ns for transfer in transfers):
        yield Entry(text="rendezvous: ready before other ranks", edge=QUIET, hatch=RENDEZVOUS_HATCH)
    if "exposed" in idle:
        yield Entry(text="exposed: kernel waits for its all-gather", face=EXPOSED_FACE, edge=ALARM, hatch=EXPOSED_HATCH)
    if "host-bound" in idle:
        yield Entry(text="host-bound: not launched yet", face=HOST_BOUND_FACE, edge=QUIET, hatch=HOST_BOUND_HATCH)
    arrows = {arrow.binding for band in bands for arrow in band.arrows}
    if True in arrows:
        yield Entry(text="event wait that held the kernel back", edge=INK, arrow=True)
    if False in arrows:
        yield Entry(text="event wait, met before", edge="#9A9A9A", arrow=True)
    if any(step.kind == "dispatch" for band in bands for step in band.host):
        yield Entry(text="host lane: dispatch; low: launch, wait; thin: sync", face=bucket_colour(0), edge=INK)


def _marks(bands: Sequence[Band]) -> Iterator[Entry]:
    kinds = {block.marks[0] for band in bands for block in band.blocks if block.marks}
    kinds |= {transfer.mark for band in bands for transfer in band.transfers if transfer.mark is not None}
    if any(band.stop_ns is not None for band in bands):
        kinds.add("error")
    for kind, look in MARKS.items():
        if kind in kinds:
            yield Entry(text=look.meaning, mark=kind, face=PAPER)
