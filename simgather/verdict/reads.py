"""What every read of a bucket sees: ordered or not (from the Program), fresh, torn or stale (from the Timeline)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from simgather.engine.timeline import Interval, Timeline
from simgather.program.collectives import Collective
from simgather.program.operations import Kernel, Phase, RankProgram
from simgather.verdict.happens_before import RankOrders, ReadOrder
from simgather.workload.workload import BucketRead, Workload

ReadState = Literal["fresh", "torn", "stale"]

SEVERITY: tuple[ReadOrder, ...] = ("initial", "ordered", "unordered", "undispatched")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One read of one bucket by one kernel, on all ranks.

    `state`, `fresh_elements`, `age` and `start_ns` are indexed by rank; None on a rank that never came to it.
    `fresh_elements` out of `elements` carry this step's version for certain; while an all-gather is moving data (torn)
    that is a lower bound, and `age`, the iterations that the oldest element lags behind, an upper one. `use` names the
    kernel where it is not the module's own (a tied output layer); `order` is the worst over the ranks.
    """

    iteration: int
    microbatch: int
    module: str
    use: str
    bucket: int
    phase: Phase
    recomputed: bool
    order: ReadOrder
    elements: int
    state: tuple[ReadState | None, ...]
    fresh_elements: tuple[int | None, ...]
    age: tuple[int | None, ...]
    start_ns: tuple[int | None, ...]

    @property
    def is_stale(self) -> bool:
        """Whether some rank saw old data, or could have under another timing."""
        return self.order in ("unordered", "undispatched") or any(state in ("torn", "stale") for state in self.state)


@dataclass(frozen=True, slots=True)
class _Seen:
    state: ReadState
    fresh_elements: int
    age: int
    start_ns: int


@dataclass(slots=True)
class _Deliveries:
    """The all-gathers of one bucket, in the order in which they end."""

    collectives: list[Collective]
    start_ns: list[int]
    end_ns: list[int]


def observe_reads(timeline: Timeline, orders: Sequence[RankOrders], workload: Workload) -> tuple[Read, ...]:
    """All reads, in the host order of rank 0 (then of the other ranks); `orders` is indexed by rank."""
    observer = _Observer(timeline, orders, workload)
    return tuple(
        observer.observe(kernel, ranks, position, read)
        for kernel, ranks in _aligned_kernels(timeline.program.ranks)
        for position, read in enumerate(workload.reads[kernel.use.module])
    )


def _aligned_kernels(programs: Sequence[RankProgram]) -> Iterable[tuple[Kernel, dict[int, int]]]:
    """Every kernel with the index of its operation on each rank that runs it.

    Where ranks differ, a kernel is the same by iteration, microbatch, phase, use and how often it ran before.
    """
    if all(program is programs[0] for program in programs):
        for index, operation in enumerate(programs[0].operations):
            if type(operation) is Kernel:
                yield operation, dict.fromkeys(range(len(programs)), index)
        return
    aligned: dict[tuple[object, ...], tuple[Kernel, dict[int, int]]] = {}
    for rank, program in enumerate(programs):
        repeats: Counter[Kernel] = Counter()
        for index, operation in enumerate(program.operations):
            if type(operation) is Kernel:
                repeats[operation] += 1
                aligned.setdefault((operation, repeats[operation]), (operation, {}))[1][rank] = index
    yield from aligned.values()


class _Observer:
    """Looks up what each read saw, given when every all-gather of its bucket moved data."""

    def __init__(self, timeline: Timeline, orders: Sequence[RankOrders], workload: Workload) -> None:
        self.timeline = timeline
        self.orders = orders
        self.deliveries = _deliveries(timeline, len(workload.buckets))

    def observe(self, kernel: Kernel, ranks: dict[int, int], position: int, read: BucketRead) -> Read:
        """The read at `position` among the kernel's reads; `ranks` has the operation's index on each rank."""
        seen: list[_Seen | None] = [None] * len(self.timeline.ranks)
        for rank, index in ranks.items():
            times = self.timeline.ranks[rank]
            start_ns, end_ns = times.started_ns[index], times.ended_ns[index]
            if start_ns is not None and end_ns is not None:
                dispatched = self.orders[rank].dispatched[index]
                seen[rank] = self._see(rank, kernel.iteration, read, (start_ns, end_ns), dispatched)
        orders = (self.orders[rank].reads[index][position] for rank, index in ranks.items())
        return Read(
            iteration=kernel.iteration,
            microbatch=kernel.microbatch,
            module=kernel.use.module_name,
            use=kernel.use.name,
            bucket=read.bucket,
            phase=kernel.phase,
            recomputed=kernel.recomputed,
            order=max(orders, key=SEVERITY.index),
            elements=read.elements,
            state=tuple(None if sight is None else sight.state for sight in seen),
            fresh_elements=tuple(None if sight is None else sight.fresh_elements for sight in seen),
            age=tuple(None if sight is None else sight.age for sight in seen),
            start_ns=tuple(None if sight is None else sight.start_ns for sight in seen),
        )

    def _see(self, rank: int, iteration: int, read: BucketRead, during: Interval, dispatched: int) -> _Seen:
        """What a read sees `during` its kernel; collectives from the number `dispatched` on come after it."""
        deliveries = self.deliveries[read.bucket]
        before = bisect_left(deliveries.collectives, dispatched, key=lambda collective: collective.sequence)
        done = bisect_right(deliveries.end_ns, during[0], hi=before)
        delivered = deliveries.collectives[done - 1].iterations if done else None
        fresh, age = _freshness(rank, iteration, read, delivered)
        if fresh == read.elements:
            return _Seen("fresh", fresh, 0, during[0])
        begun = bisect_left(deliveries.start_ns, during[1], lo=done)
        moving = any(collective.version > iteration - age for collective in deliveries.collectives[done:begun])
        return _Seen("torn" if moving else "stale", fresh, age, during[0])


def _freshness(rank: int, iteration: int, read: BucketRead, delivered: Sequence[int] | None) -> tuple[int, int]:
    """How many elements carry version `iteration`, and the age of the oldest; the rank's own shard always does.

    `delivered` is the version of every owner's shard as the last all-gather brought it; None before the first.
    """
    if delivered is None or delivered.count(delivered[0]) == len(delivered):
        age = iteration - (delivered[0] if delivered else 0)
        others = read.elements - read.own_elements[rank]
        return (read.elements, 0) if age <= 0 or not others else (read.own_elements[rank], age)
    fresh, age = 0, 0
    for owner, elements in enumerate(read.own_elements):
        lag = 0 if owner == rank or not elements else max(0, iteration - delivered[owner])
        fresh += 0 if lag else elements
        age = max(age, lag)
    return fresh, age


def _deliveries(timeline: Timeline, buckets: int) -> list[_Deliveries]:
    deliveries = [_Deliveries([], [], []) for _ in range(buckets)]
    for collective in timeline.matching.collectives:
        transfer = timeline.transfer(collective.sequence)
        if collective.kind == "all-gather" and not collective.swapped and transfer is not None:
            bucket = deliveries[collective.bucket]
            bucket.collectives.append(collective)
            bucket.start_ns.append(transfer[0])
            bucket.end_ns.append(transfer[1])
    return deliveries
