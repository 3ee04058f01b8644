"""The job as the simulator needs it: modules, buckets, who reads what, and what each rank runs in each iteration."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from simgather.workload.layout import Bucket, PlacedParameter
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
    placed: list[list[tuple[PlacedParameter, int]]] = [[] for _ in modules]
    for bucket in buckets:
        for parameter in bucket.parameters:
            placed[parameter.module].append((parameter, bucket.index))
    registration = [
        {parameter.name: number for number, parameter in enumerate(module.parameters)} for module in modules
    ]
    for module_placed, numbers in zip(placed, registration, strict=True):
        module_placed.sort(key=lambda item: numbers[item[0].name])
    by_start = sorted(buckets, key=lambda bucket: (bucket.start, bucket.end))
    return Workload(
        dp=dp,
        element_bytes=element_bytes,
        modules=tuple(modules),
        buckets=tuple(buckets),
        orders=tuple(orders),
        training=training,
        hook_buckets=tuple(tuple(dict.fromkeys(bucket for _, bucket in items)) for items in placed),
        reads=tuple(_reads([parameter for parameter, _ in items], by_start, dp) for items in placed),
    )


def _reads(parameters: Sequence[PlacedParameter], by_start: Sequence[Bucket], dp: int) -> tuple[BucketRead, ...]:
    """What lies in which bucket and shard. A parameter that starts before its own bucket is read from both."""
    pieces: dict[int, list[tuple[int, int]]] = {}
    for parameter in parameters:
        number = bisect_right(by_start, parameter.start, key=lambda bucket: bucket.start) - 1
        while number < len(by_start) and by_start[number].start < parameter.end:
            bucket = by_start[number]
            piece = _intersect((parameter.start, parameter.end), (bucket.start, bucket.end))
            pieces.setdefault(number, []).append(piece)
            number += 1
    reads = [
        BucketRead(
            bucket=by_start[number].index,
            elements=sum(end - start for start, end in ranges),
            own_elements=tuple(
                sum(
                    end - start
                    for start, end in (_intersect(piece, by_start[number].shard(rank, dp)) for piece in ranges)
                )
                for rank in range(dp)
            ),
        )
        for number, ranges in pieces.items()
    ]
    return tuple(sorted(reads, key=lambda read: read.bucket))


def _intersect(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    start = max(one[0], other[0])
    return start, max(start, min(one[1], other[1]))
