"""How the ranks' collectives meet: NCCL matches them by their order on the communicator, not by bucket."""

from __future__ import annotations

from dataclasses import dataclass

from simgather.program.operations import CollectiveKind, Dispatch, Kernel, Program, RankProgram
from simgather.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective that every rank takes part in; `sequence` is its place on the communicator.

    `buckets` and `iterations` are indexed by rank: what each rank dispatched, and when. If the buckets differ the
    sizes are equal and the data lands in the wrong place: `swapped`.
    """

    sequence: int
    kind: CollectiveKind
    buckets: tuple[int, ...]
    iterations: tuple[int, ...]

    @property
    def bucket(self) -> int:
        """The bucket, as rank 0 has it."""
        return self.buckets[0]

    @property
    def iteration(self) -> int:
        """The iteration in which rank 0 dispatched it."""
        return self.iterations[0]

    @property
    def swapped(self) -> bool:
        """Whether ranks take part with different buckets."""
        return self.buckets.count(self.buckets[0]) != len(self.buckets)

    @property
    def version(self) -> int:
        """The parameter version that every shard has at least when it ends: the earliest rank's iteration."""
        return min(self.iterations)


@dataclass(frozen=True, slots=True)
class Party:
    """What one rank has next on the communicator: a dispatch and the next module it launches, or nothing."""

    rank: int
    dispatch: Dispatch | None
    module: str | None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first place where ranks cannot meet: different kinds or sizes, or one has nothing left to issue."""

    sequence: int
    parties: tuple[Party, Party]


@dataclass(frozen=True, slots=True)
class Matching:
    """All collectives that take place, in sequence, and where the ranks part for good, if they do."""

    collectives: tuple[Collective, ...]
    mismatch: Mismatch | None


def match_collectives(program: Program, workload: Workload) -> Matching:
    """Match every rank's dispatches by sequence number, up to the first that can never take place."""
    first = program.ranks[0]
    dispatches = {id(rank): _dispatches(rank) for rank in program.ranks}
    if len(dispatches) == 1:
        count = len(program.ranks)
        return Matching(
            tuple(
                Collective(item.sequence, item.collective, (item.bucket,) * count, (item.iteration,) * count)
                for item in dispatches[id(first)]
            ),
            None,
        )
    lists = [dispatches[id(rank)] for rank in program.ranks]
    collectives: list[Collective] = []
    for sequence in range(max(len(items) for items in lists)):
        present = [items[sequence] if sequence < len(items) else None for items in lists]
        odd = next((rank for rank, item in enumerate(present) if not _can_meet(present[0], item, workload)), None)
        if odd is not None:
            parties = (_party(program, 0, present[0]), _party(program, odd, present[odd]))
            return Matching(tuple(collectives), Mismatch(sequence, parties))
        items = [item for item in present if item is not None]
        collectives.append(
            Collective(
                sequence,
                items[0].collective,
                tuple(item.bucket for item in items),
                tuple(item.iteration for item in items),
            )
        )
    return Matching(tuple(collectives), None)


def _dispatches(rank: RankProgram) -> list[Dispatch]:
    return [operation for operation in rank.operations if type(operation) is Dispatch]


def _can_meet(one: Dispatch | None, other: Dispatch | None, workload: Workload) -> bool:
    if one is None or other is None:
        return one is other
    sizes = [workload.buckets[item.bucket].numel for item in (one, other)]
    return one.collective == other.collective and sizes[0] == sizes[1]


def _party(program: Program, rank: int, dispatch: Dispatch | None) -> Party:
    module = None
    if dispatch is not None:
        operations = program.ranks[rank].operations
        later = operations[operations.index(dispatch) :]
        module = next((operation.use.name for operation in later if type(operation) is Kernel), None)
    return Party(rank, dispatch, module)
