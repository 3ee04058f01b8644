"""Small models to lay out."""

from __future__ import annotations

from typing import Any

from simgather.workload.layout import Bucket, lay_out
from simgather.workload.model import Module, Parameter


def module(name: str, *sizes: int, **flags: bool) -> Module:
    """A module whose parameters p0, p1, ... have these sizes; the flags are those of every parameter."""
    parameters = tuple(Parameter(name=f"p{number}", shape=(size,), **flags) for number, size in enumerate(sizes))
    return Module(name=name, parameters=parameters, forward_ns=1, backward_ns=2)


def laid_out(*modules: Module, dp: int = 2, bucket_size: int | None = 1, **keywords: Any) -> tuple[Bucket, ...]:
    """Buckets in gather order; by default every parameter alone in its bucket."""
    return lay_out(modules, dp=dp, bucket_size=bucket_size, **keywords)


def ranges(buckets: tuple[Bucket, ...]) -> list[tuple[int, int]]:
    """Where the buckets lie, in gather order."""
    return [(bucket.start, bucket.end) for bucket in buckets]


def places(buckets: tuple[Bucket, ...]) -> list[list[tuple[int, str, int, int]]]:
    """Module, name, start and end of the parameters of each bucket."""
    return [[(one.module, one.name, one.start, one.end) for one in bucket.parameters] for bucket in buckets]
