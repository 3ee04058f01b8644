"""A second engine, as small as the rules allow: every time is a maximum of earlier times plus a cost.

It walks each rank's operations once per pass, given when every collective ends, and passes until those ends agree with
themselves: the least solution of the machine's equations. Infinity is what never happens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from simgather.program.operations import Dispatch, HostSync, Kernel, OptimizerKernel, RankProgram, Wait
from simgather.report.report import Report


@dataclass
class Times:
    """Like `RankTimeline`, and per collective when the rank was ready for it."""

    enqueued_ns: list[float | None] = field(default_factory=list)
    started_ns: list[float | None] = field(default_factory=list)
    ended_ns: list[float | None] = field(default_factory=list)
    ready: dict[int, float] = field(default_factory=dict)

    def add(self, *times: float | None) -> None:
        """What happened to one operation; what never did is None."""
        for column, time in zip((self.enqueued_ns, self.started_ns, self.ended_ns), times, strict=True):
            column.append(None if time == inf else time)


@dataclass
class Evaluation:
    """All ranks' times, and the start and end of every collective."""

    ranks: list[Times]
    starts: list[float | None]
    ends: list[float | None]


def evaluate(report: Report) -> Evaluation:
    """When everything happens in the report's program under its costs."""
    timeline, costs = report.timeline, report.costs
    collectives = timeline.matching.collectives
    by_kind = {"all-gather": costs.gather_ns, "reduce-scatter": costs.reduce_scatter_ns}
    ends: list[float] = [0.0] * len(collectives)
    while True:
        ranks = [_walk(report, rank, program, ends) for rank, program in enumerate(timeline.program.ranks)]
        starts = [max(times.ready.get(item.sequence, inf) for times in ranks) for item in collectives]
        durations = [by_kind[item.kind][item.buckets[0]] for item in collectives]
        now = [start + duration for start, duration in zip(starts, durations, strict=True)]
        if now == ends:
            return Evaluation(ranks, _or_none(starts), _or_none(ends))
        ends = now


def _walk(report: Report, rank: int, program: RankProgram, ends: list[float]) -> Times:
    costs, shared = report.costs, report.scenario.cluster.connections == 1
    times = Times()
    # `queue` is the start of the item enqueued last on any stream; it holds up the next only on a shared queue.
    host = compute = nccl = queue = 0.0
    for item in program.operations:
        front = queue if shared else 0.0
        if isinstance(item, Kernel | OptimizerKernel):
            host += costs.launch_ns
            queue = max(host, compute, front)
            compute = queue + (_duration(report, rank, item) if isinstance(item, Kernel) else costs.optimizer_ns)
            times.add(host, queue, compute)
        elif isinstance(item, Dispatch):
            host += costs.dispatch_ns
            queue = max(host, compute, nccl, front)
            nccl = ends[item.sequence] if item.sequence < len(ends) else inf
            nccl = max(queue, nccl)
            times.ready[item.sequence] = queue
            times.add(host, queue, nccl)
        elif isinstance(item, Wait):
            host += costs.wait_ns
            reached = max(host, compute)
            queue = compute = max(reached, front, ends[item.sequence] if item.sequence < len(ends) else inf)
            times.add(host, reached, compute)
        elif isinstance(item, HostSync):
            reached, host = host, max(host, compute)
            times.add(reached, None, None if reached == inf else host)
        else:
            times.add(host, None, None)
    return times


def _duration(report: Report, rank: int, kernel: Kernel) -> int:
    use = kernel.use
    nanoseconds = use.backward_ns if kernel.phase.startswith("backward") else use.forward_ns
    return round(nanoseconds * report.costs.skew[rank])


def _or_none(times: list[float]) -> list[float | None]:
    return [None if time == inf else time for time in times]
