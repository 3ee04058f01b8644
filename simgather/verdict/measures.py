"""How fast it is: the measures of one iteration on one rank, all in integer nanoseconds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simgather.costs.costs import Costs
from simgather.engine.timeline import Timeline
from simgather.program.operations import Kernel, Mark, Operation, OptimizerKernel
from simgather.verdict.exposure import exposures
from simgather.verdict.gather_overlap import GatherOverlap, gather_overlaps
from simgather.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """One iteration on one rank; None where there is nothing to measure.

    The forward window runs from when the first forward work is possible to the end of the last forward kernel (of the
    last microbatch). Where nothing but forward kernels runs in it, `forward_ns` = `compute_ns` + `exposed_ns` +
    `host_bound_ns`. `gather_ns` is transfer time of the iteration's all-gathers, `overlapped_ns` the part of it during
    which this rank's compute stream runs a kernel, `rendezvous_ns` what this rank's NCCL stream spun before those
    transfers. `lower_bound_ns` is the least forward time any gather schedule without stale reads could reach.
    """

    iteration: int
    rank: int
    forward_ns: int | None
    compute_ns: int | None
    exposed_ns: int | None
    host_bound_ns: int | None
    gather_ns: int
    overlapped_ns: int
    rendezvous_ns: int
    lower_bound_ns: int | None

    @property
    def overlap_efficiency(self) -> float | None:
        """Overlapped share of the all-gather time (Holistic Trace Analysis' definition)."""
        return self.overlapped_ns / self.gather_ns if self.gather_ns else None

    @property
    def schedule_efficiency(self) -> float | None:
        """Lower bound over forward time: 1 is as good as any schedule."""
        if self.lower_bound_ns is None or not self.forward_ns:
            return None
        return self.lower_bound_ns / self.forward_ns


def measure(timeline: Timeline, costs: Costs, workload: Workload) -> tuple[Measures, ...]:
    """Measures by iteration, then rank, for every iteration that a rank began."""
    by_rank = [list(_measure_rank(rank, timeline, costs, workload)) for rank in range(len(timeline.ranks))]
    return tuple(sorted((one for rank in by_rank for one in rank), key=lambda one: (one.iteration, one.rank)))


def _measure_rank(rank: int, timeline: Timeline, costs: Costs, workload: Workload) -> Iterator[Measures]:
    operations = timeline.program.ranks[rank].operations
    times = timeline.ranks[rank]
    exposed_ns: Counter[int] = Counter()
    host_bound_ns: Counter[int] = Counter()
    for exposure in exposures(timeline, rank):
        exposed_ns[exposure.iteration] += exposure.exposed_ns
        host_bound_ns[exposure.iteration] += exposure.host_bound_ns
    gathers: dict[int, list[GatherOverlap]] = defaultdict(list)
    for gather in gather_overlaps(timeline, rank):
        gathers[gather.iteration].append(gather)
    previous_end = 0
    for iteration, indices in _iterations(operations):
        host_ns = times.enqueued_ns[indices[0]]
        if host_ns is None:
            return
        window_start = window_end = max(host_ns, previous_end)
        kernels: list[tuple[Kernel, int]] = []
        forward: list[int] = []
        for index in indices:
            operation = operations[index]
            start_ns, end_ns = times.started_ns[index], times.ended_ns[index]
            if start_ns is None or end_ns is None:
                continue
            if isinstance(operation, Kernel):
                kernels.append((operation, end_ns - start_ns))
                if operation.in_forward_pass:
                    forward.append(len(kernels))
                    window_end = end_ns
                previous_end = end_ns
            elif isinstance(operation, OptimizerKernel):
                previous_end = end_ns
        complete = len(forward) == len(workload.orders[rank][iteration]) * workload.training.microbatches
        yield Measures(
            iteration=iteration,
            rank=rank,
            forward_ns=window_end - window_start if complete else None,
            compute_ns=sum(kernels[number - 1][1] for number in forward) if complete else None,
            exposed_ns=exposed_ns[iteration] if complete else None,
            host_bound_ns=host_bound_ns[iteration] if complete else None,
            gather_ns=sum(gather.transfer_ns for gather in gathers[iteration]),
            overlapped_ns=sum(gather.overlapped_ns for gather in gathers[iteration]),
            rendezvous_ns=sum(gather.rendezvous_ns for gather in gathers[iteration]),
            lower_bound_ns=_lower_bound(kernels[: max(forward, default=0)], costs, workload) if complete else None,
        )


def _lower_bound(kernels: Sequence[tuple[Kernel, int]], costs: Costs, workload: Workload) -> int:
    """Over all k: transfers needed up to the k-th kernel, plus the compute from the k-th kernel on."""
    remaining = bound = sum(duration for _, duration in kernels)
    needed: set[int] = set()
    transfers = 0
    for kernel, duration in kernels:
        if kernel.iteration and workload.dp > 1:
            for read in workload.reads[kernel.use.module]:
                if read.bucket not in needed:
                    needed.add(read.bucket)
                    transfers += costs.gather_ns[read.bucket]
        bound = max(bound, transfers + remaining)
        remaining -= duration
    return bound


def _iterations(operations: Sequence[Operation]) -> Iterator[tuple[int, range]]:
    borders = [index for index, item in enumerate(operations) if type(item) is Mark and item.event == "iteration"]
    for iteration, (start, end) in enumerate(zip(borders, [*borders[1:], len(operations)], strict=True)):
        yield iteration, range(start, end)
