"""What is wrong, one finding per place and iteration, each with the names involved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from simgather.program.collectives import Matching, Party
from simgather.program.operations import Program
from simgather.verdict.happens_before import RankOrders
from simgather.verdict.reads import Read
from simgather.workload.workload import Workload

FindingKind = Literal[
    "framework-error",
    "collective-mismatch",
    "collective-swap",
    "undispatched-read",
    "unordered-read",
    "version-mismatch",
    "never-gathered",
    "optimizer-race",
    "duplicate-gather",
]

KINDS: dict[FindingKind, str] = {
    "framework-error": "the training framework itself raises an exception",
    "collective-mismatch": "ranks issue collectives that cannot meet: the job hangs",
    "collective-swap": "ranks join one collective with different buckets of equal size: silent corruption",
    "undispatched-read": "weights read although no all-gather of this iteration was dispatched before",
    "unordered-read": "an all-gather was dispatched before the read, but nothing waits for it: a race",
    "version-mismatch": "forward and backward of one module used different weights",
    "never-gathered": "bucket not gathered at all in an iteration: its replicas drift apart",
    "optimizer-race": "the optimizer may write a shard that an all-gather is still reading",
    "duplicate-gather": "bucket gathered more than once in an iteration: wasted time",
}
"""All kinds of findings, worst first, with what each means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found in one iteration. `module`, `bucket` and `ranks` are empty where they do not apply."""

    kind: FindingKind
    iteration: int
    message: str
    module: str | None = None
    bucket: int | None = None
    ranks: tuple[int, ...] = ()


def find(
    program: Program,
    matching: Matching,
    orders: Sequence[RankOrders],
    reads: Sequence[Read],
    workload: Workload,
) -> tuple[Finding, ...]:
    """Everything wrong, worst kind first, then by iteration."""
    findings = [
        *_failures(program),
        *_mismatch(matching, workload),
        *_swaps(matching),
        *_reads(reads),
        *_version_mismatches(reads),
        *_never_gathered(matching, reads),
        *_optimizer_races(orders),
        *_duplicates(matching),
    ]
    kinds = list(KINDS)
    return tuple(sorted(findings, key=lambda finding: (kinds.index(finding.kind), finding.iteration)))


def _failures(program: Program) -> Iterator[Finding]:
    by_failure = defaultdict(list)
    for rank, rank_program in enumerate(program.ranks):
        if rank_program.failure is not None:
            by_failure[rank_program.failure].append(rank)
    for failure, ranks in by_failure.items():
        yield Finding(
            kind="framework-error",
            iteration=failure.iteration,
            message=f"{failure.type_name}({failure.text!r}) in {failure.phase}: the job dies here",
            ranks=tuple(ranks),
        )


def _mismatch(matching: Matching, workload: Workload) -> Iterator[Finding]:
    mismatch = matching.mismatch
    if mismatch is not None:
        dispatch = mismatch.parties[0].dispatch or mismatch.parties[1].dispatch
        yield Finding(
            kind="collective-mismatch",
            iteration=dispatch.iteration if dispatch else 0,
            message=f"collective number {mismatch.sequence} of the communicator: "
            + "; ".join(_describe(party, workload) for party in mismatch.parties),
            bucket=dispatch.bucket if dispatch else None,
            ranks=tuple(party.rank for party in mismatch.parties),
        )


def _describe(party: Party, workload: Workload) -> str:
    if party.dispatch is None:
        return f"rank {party.rank} has nothing left to issue"
    size = workload.buckets[party.dispatch.bucket].numel * workload.element_bytes
    place = f" before module {party.module}" if party.module else ""
    return (
        f"rank {party.rank} issues {party.dispatch.collective} of bucket {party.dispatch.bucket} ({size} bytes){place}"
    )


def _swaps(matching: Matching) -> Iterator[Finding]:
    for collective in matching.collectives:
        if collective.swapped:
            odd = next(rank for rank, bucket in enumerate(collective.buckets) if bucket != collective.bucket)
            yield Finding(
                kind="collective-swap",
                iteration=collective.iteration,
                message=f"{collective.kind} number {collective.sequence}: rank 0 issues bucket {collective.bucket}, "
                f"rank {odd} bucket {collective.buckets[odd]}, of the same size: the data lands in the wrong bucket",
                bucket=collective.bucket,
                ranks=(0, odd),
            )


def _reads(reads: Sequence[Read]) -> Iterator[Finding]:
    for read in reads:
        if read.order == "undispatched":
            yield Finding(
                kind="undispatched-read",
                iteration=read.iteration,
                message=f"{read.use} reads bucket {read.bucket} in its {_pass(read)}, but no all-gather of it was "
                f"dispatched before in this iteration: {_share(read)}",
                module=read.module,
                bucket=read.bucket,
                ranks=_affected(read),
            )
        elif read.order == "unordered":
            yield Finding(
                kind="unordered-read",
                iteration=read.iteration,
                message=f"{read.use} reads bucket {read.bucket} in its {_pass(read)}; its all-gather was dispatched, "
                f"but nothing waits for it: under this timing {_states(read)}",
                module=read.module,
                bucket=read.bucket,
                ranks=_affected(read),
            )


def _pass(read: Read) -> str:
    names = {"functional": "forward (functional use)", "backward_functional": "backward (functional use)"}
    return names.get(read.phase, read.phase) + (" (recomputed)" if read.recomputed else "")


def _affected(read: Read) -> tuple[int, ...]:
    return tuple(rank for rank, state in enumerate(read.state) if state in ("torn", "stale"))


def _share(read: Read) -> str:
    affected = _affected(read)
    if not affected:
        return "fresh here only because every rank owns all of it"
    rank = affected[0]
    new = 100 * (read.fresh_elements[rank] or 0) / read.elements
    age = read.age[rank] or 0
    return f"rank {rank} sees {new:.1f} % new (its own shard), {100 - new:.1f} % {age} step{'s'[: age > 1]} old"


def _states(read: Read) -> str:
    ranks: dict[str, list[int]] = defaultdict(list)
    for rank, state in enumerate(read.state):
        if state is not None:
            ranks[state].append(rank)
    if len(ranks) == 1:
        return f"{next(iter(ranks))} on every rank"
    return ", ".join(f"{state} on rank {', '.join(map(str, who))}" for state, who in ranks.items()) or "never reached"


def _version_mismatches(reads: Sequence[Read]) -> Iterator[Finding]:
    """Backward runs in reverse, so the forward of a backward read is the last one not yet taken."""
    forward: dict[tuple[object, ...], list[Read]] = defaultdict(list)
    for read in reads:
        functional = read.phase in ("functional", "backward_functional")
        key = (read.iteration, read.microbatch, read.module, read.use, functional, read.bucket)
        if read.phase in ("forward", "functional"):
            if not read.recomputed:
                forward[key].append(read)
        elif forward[key]:
            yield from _version_mismatch(forward[key].pop(), read)


def _version_mismatch(before: Read, read: Read) -> Iterator[Finding]:
    ranks = tuple(
        rank
        for rank, (one, other) in enumerate(zip(before.age, read.age, strict=True))
        if one is not None and other is not None and one != other
    )
    if ranks:
        yield Finding(
            kind="version-mismatch",
            iteration=read.iteration,
            message=f"{read.use} read bucket {read.bucket} {before.age[ranks[0]]} step(s) old in its forward and "
            f"{read.age[ranks[0]]} step(s) old in its backward pass: its gradient fits neither",
            module=read.module,
            bucket=read.bucket,
            ranks=ranks,
        )


def _never_gathered(matching: Matching, reads: Sequence[Read]) -> Iterator[Finding]:
    gathered = {
        (iteration, bucket)
        for collective in matching.collectives
        if collective.kind == "all-gather"
        for iteration, bucket in zip(collective.iterations, collective.buckets, strict=True)
    }
    seen = set()
    for read in reads:
        place = (read.iteration, read.bucket)
        if read.order == "undispatched" and place not in gathered and place not in seen:
            seen.add(place)
            age = max((age for age in read.age if age is not None), default=0)
            yield Finding(
                kind="never-gathered",
                iteration=read.iteration,
                message=f"bucket {read.bucket} is not gathered in this iteration: every rank keeps its own mixture, "
                f"by now up to {age} step{'s'[: age > 1]} old",
                bucket=read.bucket,
            )


def _optimizer_races(orders: Sequence[RankOrders]) -> Iterator[Finding]:
    by_race = defaultdict(list)
    for rank, rank_orders in enumerate(orders):
        for race in rank_orders.optimizer_races:
            by_race[race].append(rank)
    for race, ranks in by_race.items():
        yield Finding(
            kind="optimizer-race",
            iteration=race.iteration,
            message=f"the optimizer writes its shard of bucket {race.bucket} while nothing has waited for the "
            "all-gather that reads it",
            bucket=race.bucket,
            ranks=tuple(ranks),
        )


def _duplicates(matching: Matching) -> Iterator[Finding]:
    seen = set()
    for collective in matching.collectives:
        place = (collective.iteration, collective.bucket)
        if collective.kind == "all-gather" and place in seen:
            yield Finding(
                kind="duplicate-gather",
                iteration=collective.iteration,
                message=f"bucket {collective.bucket} is gathered again in the same iteration",
                bucket=collective.bucket,
            )
        elif collective.kind == "all-gather":
            seen.add(place)
