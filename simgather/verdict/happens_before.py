"""What is ordered with what, whatever the timing: decided from a rank's operations alone.

Happens-before is program order on the host and on each stream, event record to stream wait, the rendezvous of a
collective, and the host sync. All collectives of a rank run on one NCCL stream, first in first out, and end on all
ranks at once. So a vector clock over (host, compute, NCCL) shrinks to one number for what follows on the compute
stream: the latest collective known to have ended. It only ever rises at a wait, and every later launch inherits it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simgather.program.collectives import Matching
from simgather.program.operations import Dispatch, Kernel, OptimizerKernel, RankProgram, Wait
from simgather.workload.workload import Workload

ReadOrder = Literal["initial", "ordered", "unordered", "undispatched"]


@dataclass(frozen=True, slots=True)
class OptimizerRace:
    """The optimizer writes the rank's shard of `bucket` while nothing has waited for the all-gather that reads it."""

    iteration: int
    bucket: int


@dataclass(frozen=True, slots=True)
class RankOrders:
    """Verdicts for one rank: per kernel (index of its operation) the order of each of its reads, and races.

    `dispatched` is, per kernel, how many collectives the rank had dispatched before it.
    """

    reads: dict[int, tuple[ReadOrder, ...]]
    dispatched: dict[int, int]
    optimizer_races: tuple[OptimizerRace, ...]


def order_rank(program: RankProgram, matching: Matching, workload: Workload) -> RankOrders:
    """Classify every read of the rank, in the order of `workload.reads` of its module."""
    ended = -1
    last: dict[int, tuple[int, int]] = {}
    unfinished: dict[int, int] = {}
    reads: dict[int, tuple[ReadOrder, ...]] = {}
    dispatched: dict[int, int] = {}
    collectives = 0
    races: list[OptimizerRace] = []
    for index, operation in enumerate(program.operations):
        if isinstance(operation, Kernel):
            dispatched[index] = collectives
            bucket_reads = workload.reads[operation.use.module]
            reads[index] = tuple(
                _order(operation.iteration, last.get(read.bucket), ended, workload.dp) for read in bucket_reads
            )
        elif isinstance(operation, Wait):
            ended = max(ended, operation.sequence)
        elif isinstance(operation, Dispatch):
            collectives = operation.sequence + 1
            if operation.collective == "all-gather":
                unfinished[operation.sequence] = operation.bucket
                version = _delivers(operation, matching)
                known = last.get(operation.bucket)
                if version is not None and (known is None or known[0] < version):
                    last[operation.bucket] = (version, operation.sequence)
        elif isinstance(operation, OptimizerKernel) and workload.dp > 1:
            unfinished = {sequence: bucket for sequence, bucket in unfinished.items() if sequence > ended}
            races += [OptimizerRace(operation.iteration, bucket) for bucket in unfinished.values()]
    return RankOrders(reads, dispatched, tuple(races))


def _order(iteration: int, last: tuple[int, int] | None, ended: int, dp: int) -> ReadOrder:
    if iteration == 0:
        return "initial"
    if dp == 1:
        return "ordered"
    if last is None or last[0] < iteration:
        return "undispatched"
    return "ordered" if last[1] <= ended else "unordered"


def _delivers(dispatch: Dispatch, matching: Matching) -> int | None:
    """The version that an all-gather brings to the whole bucket; None if it brings some other bucket's data."""
    if dispatch.sequence >= len(matching.collectives):
        return dispatch.iteration
    collective = matching.collectives[dispatch.sequence]
    return None if collective.swapped else collective.version
