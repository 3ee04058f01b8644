"""The job as the simulator needs it: modules, buckets, who reads what, and what each rank runs in each iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from simgather.workload.layout import Bucket
from simgather.workload.model import Module, Use

Order = tuple[Use, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What an iteration consists of, beside the forward pass."""

    iterations: int
    microbatches: int = 1
    recompute: Literal["none", "full"] = "none"
    backward: bool = True
    gradient_sync: bool = True
    hooks_in_first_iteration: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRead:
    """What one module reads of one bucket.

    `elements` is the number of elements; `own_elements`, indexed by rank, how many of them lie in that rank's shard.
    """

    bucket: int
    elements: int
    own_elements: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Everything about the job that does not depend on time.

    `modules` are in registration order; `buckets` in gather order; `orders` is indexed ``[rank][iteration]`` (ranks
    that run the same share one object). `hook_buckets` and `reads` are indexed by module: the buckets its pre-hook
    looks at, in registration order, and what its kernel reads.
    """

    dp: int
    element_bytes: int
    modules: tuple[Module, ...]
    buckets: tuple[Bucket, ...]
    orders: tuple[tuple[Order, ...], ...]
    training: Training
    hook_buckets: tuple[tuple[int, ...], ...]
    reads: tuple[tuple[BucketRead, ...], ...]


def make_workload(
    *,
    dp: int,
    element_bytes: int,
    modules: Sequence[Module],
    buckets: Sequence[Bucket],
    orders: Sequence[tuple[Order, ...]],
    training: Training,
) -> Workload:
    """A workload with its hooks and reads derived from where the parameters lie."""
    hook_buckets: list[list[int]] = [[] for _ in modules]
    ranges: list[list[tuple[int, int]]] = [[] for _ in modules]
    registered: dict[tuple[int, str], int] = {}
    for bucket in buckets:
        for placed in bucket.parameters:
            registered[placed.module, placed.name] = bucket.index
            ranges[placed.module].append((placed.start, placed.end))
    for index, module in enumerate(modules):
        for parameter in module.parameters:
            home = registered.get((index, parameter.name))
            if home is not None and home not in hook_buckets[index]:
                hook_buckets[index].append(home)
    return Workload(
        dp=dp,
        element_bytes=element_bytes,
        modules=tuple(modules),
        buckets=tuple(buckets),
        orders=tuple(orders),
        training=training,
        hook_buckets=tuple(tuple(homes) for homes in hook_buckets),
        reads=tuple(_reads(module_ranges, buckets, dp) for module_ranges in ranges),
    )


def _reads(ranges: list[tuple[int, int]], buckets: Sequence[Bucket], dp: int) -> tuple[BucketRead, ...]:
    reads = []
    for bucket in buckets:
        pieces = [_intersect(piece, (bucket.start, bucket.end)) for piece in ranges]
        elements = sum(end - start for start, end in pieces)
        if elements:
            own = tuple(
                sum(end - start for start, end in (_intersect(piece, bucket.shard(rank, dp)) for piece in pieces))
                for rank in range(dp)
            )
            reads.append(BucketRead(bucket=bucket.index, elements=elements, own_elements=own))
    return tuple(reads)


def _intersect(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    start = max(one[0], other[0])
    return start, max(start, min(one[1], other[1]))
