"""How much of every single all-gather is hidden under compute: the measures' overlap, bucket by bucket."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simgather.engine.timeline import Interval, Timeline
from simgather.program.operations import Dispatch, Kernel, OptimizerKernel


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherOverlap:
    """One all-gather as one rank sees it; summed over an iteration these are the measures of that rank.

    `transfer_ns` is when data moves, `overlapped_ns` the part of it during which the rank's compute stream runs a
    kernel, `rendezvous_ns` what the rank's NCCL stream spun before. An all-gather that never ended is none.
    """

    iteration: int
    rank: int
    bucket: int
    transfer_ns: int
    overlapped_ns: int
    rendezvous_ns: int


def gather_overlaps(timeline: Timeline, rank: int) -> Iterator[GatherOverlap]:
    """Every all-gather of the rank that ended, in the order of its communicator."""
    times = timeline.ranks[rank]
    busy = _busy(timeline, rank)
    for index, operation in enumerate(timeline.program.ranks[rank].operations):
        if isinstance(operation, Dispatch) and operation.collective == "all-gather":
            ready_ns, transfer = times.started_ns[index], timeline.transfer(operation.sequence)
            if ready_ns is not None and transfer is not None:
                yield GatherOverlap(
                    iteration=operation.iteration,
                    rank=rank,
                    bucket=operation.bucket,
                    transfer_ns=transfer[1] - transfer[0],
                    overlapped_ns=_common_ns(transfer, busy),
                    rendezvous_ns=transfer[0] - ready_ns,
                )


def _busy(timeline: Timeline, rank: int) -> list[Interval]:
    """When the rank's compute stream runs a kernel, in order."""
    times = timeline.ranks[rank]
    spans = zip(timeline.program.ranks[rank].operations, times.started_ns, times.ended_ns, strict=True)
    return [
        (start_ns, end_ns)
        for operation, start_ns, end_ns in spans
        if isinstance(operation, Kernel | OptimizerKernel) and start_ns is not None and end_ns is not None
    ]


def _common_ns(span: Interval, busy: Sequence[Interval]) -> int:
    """How long the span and the disjoint, ordered intervals have in common."""
    total_ns = 0
    index = max(0, bisect_right(busy, span[0], key=lambda interval: interval[0]) - 1)
    while index < len(busy) and busy[index][0] < span[1]:
        total_ns += max(0, min(span[1], busy[index][1]) - max(span[0], busy[index][0]))
        index += 1
    return total_ns
