"""How old every owner's shard is in what a forward read sees: the mixture of versions that each rank computes with."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from simgather.engine.timeline import Timeline
from simgather.program.collectives import Collective
from simgather.verdict.reads import Read
from simgather.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """What one rank sees in one read: per owner, how many elements are its shard's and how many iterations they lag.

    The rank's own shard never lags. While an all-gather moves data (`read.state` is torn) the ages are upper bounds.
    """

    read: Read
    rank: int
    elements: tuple[int, ...]
    ages: tuple[int, ...]


def mixtures(
    timeline: Timeline, workload: Workload, reads: Iterable[Read], ranks: Iterable[int] | None = None
) -> Iterator[Mixture]:
    """The mixtures of every forward read of the first microbatch, on all ranks or on those given.

    Recomputed forwards are left out.
    """
    seeing = range(workload.dp) if ranks is None else tuple(ranks)
    delivered = _deliveries(timeline)
    modules = {module.name: index for index, module in enumerate(workload.modules)}
    for read in reads:
        if read.microbatch or read.recomputed or read.phase not in ("forward", "functional"):
            continue
        elements = next(
            piece.own_elements for piece in workload.reads[modules[read.module]] if piece.bucket == read.bucket
        )
        for rank in seeing:
            start_ns = read.start_ns[rank]
            if start_ns is not None:
                ends_ns, gathers = delivered[read.bucket]
                done = bisect_right(ends_ns, start_ns)
                versions = gathers[done - 1].iterations if done else (0,) * workload.dp
                ages = tuple(
                    0 if owner == rank else max(0, read.iteration - version) for owner, version in enumerate(versions)
                )
                yield Mixture(read=read, rank=rank, elements=elements, ages=ages)


def _deliveries(timeline: Timeline) -> dict[int, tuple[list[int], list[Collective]]]:
    """Per bucket the all-gathers that brought its own data, and when they ended, in order."""
    deliveries: dict[int, tuple[list[int], list[Collective]]] = defaultdict(lambda: ([], []))
    for collective in timeline.matching.collectives:
        transfer = timeline.transfer(collective.sequence)
        if collective.kind == "all-gather" and not collective.swapped and transfer is not None:
            ends_ns, gathers = deliveries[collective.bucket]
            ends_ns.append(transfer[1])
            gathers.append(collective)
    return deliveries
