"""Where the forward pass first needs a bucket before one that is gathered earlier, and from which size on it does not.

The chain dispatches buckets in gather order. A module that needs a later bucket first therefore finds it not yet
dispatched: up to Megatron-core 0.8 it reads stale weights, from 0.11 on its gather is dispatched on demand and queues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simgather.workload.layout import Bucket
from simgather.workload.workload import Order

_SCAN_STEP = 1.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Inversion:
    """`early` runs first and needs `bucket`; `late` is the first to need `overtaken`, which is gathered before it."""

    early: str
    bucket: int
    late: str
    overtaken: int


def inversions(order: Order, hook_buckets: Sequence[Sequence[int]], chain: Sequence[int]) -> tuple[Inversion, ...]:
    """All overtaken buckets, in execution order.

    `hook_buckets` is indexed by module, `chain` by bucket: only buckets of one chain are compared.
    """
    furthest: dict[int, tuple[int, str]] = {}
    needed: set[int] = set()
    found = []
    for use in order:
        if use.functional:
            continue
        for bucket in hook_buckets[use.module]:
            if bucket in needed:
                continue
            needed.add(bucket)
            ahead, early = furthest.get(chain[bucket], (-1, ""))
            if bucket < ahead:
                found.append(Inversion(early=early, bucket=ahead, late=use.name, overtaken=bucket))
            else:
                furthest[chain[bucket]] = (bucket, use.name)
    return tuple(found)


def clean_from(inverted: Callable[[int], bool], size: int, most: int) -> int | None:
    """The least bucket size above `size` from which on no size up to `most` is `inverted`; None if `most` still is.

    Sizes are tried in steps of 15 % and the border between the last inverted one and the next is then found exactly.
    """
    tried = [size]
    while tried[-1] < most:
        tried.append(min(most, int(tried[-1] * _SCAN_STEP) + 1))
    answers = [inverted(one) for one in tried]
    if answers[-1]:
        return None
    last = max((index for index, answer in enumerate(answers) if answer), default=None)
    if last is None:
        return size
    low, high = tried[last], tried[last + 1]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if inverted(middle) else (low, middle)
    return high


def hooks_of(buckets: Sequence[Bucket], modules: int) -> list[list[int]]:
    """The buckets of every module's own parameters, in the order in which they lie in the buffer, last first."""
    found: list[list[int]] = [[] for _ in range(modules)]
    for bucket in buckets:
        for placed in reversed(bucket.parameters):
            if bucket.index not in found[placed.module]:
                found[placed.module].append(bucket.index)
    return found
