"""The gather buffer: where every parameter lies, where buckets end, and which shard of a bucket a rank owns.

All positions and sizes are in elements of the buffer. The rules are those of Megatron-core's distributed optimizer:
parameters are walked in reverse registration order, so the bucket that is gathered first lies last in the buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lcm

from simgather.workload.model import Module, Parameter

PARAMETER_ALIGNMENT = 64
BUCKET_ALIGNMENT = 128
HIGH_BUSBW_ALIGNMENT = 2**16
DEFAULT_BUCKET_SIZE = 40_000_000
DEFAULT_BUCKET_SIZE_PER_RANK = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedParameter:
    """A parameter at its place ``[start, end)`` in the buffer; `module` is an index in registration order."""

    module: int
    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A contiguous range ``[start, end)`` of the buffer that one all-gather delivers.

    `index` counts in gather order (0 first). `parameters` are in buffer order. `numel_unpadded` leaves out the padding
    at the bucket's end.
    """

    index: int
    start: int
    end: int
    numel_unpadded: int
    parameters: tuple[PlacedParameter, ...]

    @property
    def numel(self) -> int:
        """Elements of the bucket, padding included."""
        return self.end - self.start

    def shard(self, rank: int, dp: int) -> tuple[int, int]:
        """Range ``[start, end)`` of the buffer that `rank` of `dp` ranks owns in this bucket."""
        size = self.numel // dp
        return self.start + rank * size, self.start + (rank + 1) * size


def default_bucket_size(dp: int) -> int:
    """Megatron's bucket size in elements when none is asked for."""
    return max(DEFAULT_BUCKET_SIZE, DEFAULT_BUCKET_SIZE_PER_RANK * dp)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a job's parameters are put into buckets; `bucket_size` None is one bucket, or buckets chosen by hand.

    `by_default` says that the size is Megatron's own for `dp` ranks.
    """

    dp: int
    bucket_size: int | None
    by_default: bool
    pad_for_high_nccl_busbw: bool
    splits_shared_embedding: bool

    def buckets(self, modules: Sequence[Module]) -> tuple[Bucket, ...]:
        """The buckets of modules in registration order, in gather order."""
        return lay_out(
            modules,
            dp=self.dp,
            bucket_size=self.bucket_size,
            pad_for_high_nccl_busbw=self.pad_for_high_nccl_busbw,
            splits_shared_embedding=self.splits_shared_embedding,
        )


def lay_out(
    modules: Sequence[Module],
    *,
    dp: int,
    bucket_size: int | None,
    pad_for_high_nccl_busbw: bool = False,
    distributed_optimizer: bool = True,
    splits_shared_embedding: bool = False,
) -> tuple[Bucket, ...]:
    """Buckets in gather order for modules given in registration order.

    `bucket_size` is in elements; None puts everything into one bucket. Frozen parameters are in no bucket. Without the
    distributed optimizer nothing is padded and a shared embedding gets no bucket of its own. Up to Megatron-core 0.11 a
    shared embedding may start before its bucket does, in the padding of the one before it: `splits_shared_embedding`.
    """
    builder = _Builder(dp, pad_for_high_nccl_busbw, distributed_optimizer)
    for module, parameter in reversed(list(_trainable(modules))):
        builder.align_parameter()
        alone = parameter.shared_embedding and distributed_optimizer
        if alone:
            builder.close_before_shared_embedding(moves_on=not splits_shared_embedding)
        builder.place(module, parameter)
        if alone or (bucket_size is not None and builder.position - builder.bucket_start >= bucket_size):
            builder.close()
    builder.close()
    return builder.in_gather_order()


def lay_out_groups(
    groups: Sequence[Sequence[tuple[int, Parameter]]],
    *,
    dp: int,
    pad_for_high_nccl_busbw: bool = False,
) -> tuple[Bucket, ...]:
    """Buckets chosen by hand: one group of (module index, parameter) per bucket, in gather order."""
    builder = _Builder(dp, pad_for_high_nccl_busbw, distributed_optimizer=True)
    for group in reversed(groups):
        for module, parameter in reversed(group):
            builder.align_parameter()
            builder.place(module, parameter)
        builder.close()
    return builder.in_gather_order()


def _trainable(modules: Sequence[Module]) -> Iterable[tuple[int, Parameter]]:
    for index, module in enumerate(modules):
        for parameter in module.parameters:
            if not parameter.frozen:
                yield index, parameter


class _Builder:
    """Fills the buffer from its start: `position` is where the next parameter goes."""

    def __init__(self, dp: int, pad_for_high_nccl_busbw: bool, distributed_optimizer: bool) -> None:
        self.dp = dp
        self.padded = distributed_optimizer
        self.bucket_alignment = lcm(dp, BUCKET_ALIGNMENT, HIGH_BUSBW_ALIGNMENT if pad_for_high_nccl_busbw else 1)
        self.position = 0
        self.bucket_start = 0
        self.open: list[PlacedParameter] = []
        self.closed: list[tuple[int, int, int, tuple[PlacedParameter, ...]]] = []

    def align_parameter(self) -> None:
        if self.padded:
            self.position = _round_up(self.position, PARAMETER_ALIGNMENT)

    def place(self, module: int, parameter: Parameter) -> None:
        end = self.position + parameter.numel
        self.open.append(PlacedParameter(module=module, name=parameter.name, start=self.position, end=end))
        self.position = end

    def close_before_shared_embedding(self, *, moves_on: bool) -> None:
        if self.position % self.dp:
            self.position = _round_up(self.position, self.bucket_alignment)
        position = self.position
        self.close()
        if not moves_on:
            self.position = position

    def close(self) -> None:
        if not self.open:
            return
        end = _round_up(self.position, self.bucket_alignment) if self.padded else self.position
        unpadded = max(0, self.position - self.bucket_start)
        self.closed.append((self.bucket_start, end, unpadded, tuple(self.open)))
        self.open = []
        self.bucket_start = self.position = end

    def in_gather_order(self) -> tuple[Bucket, ...]:
        return tuple(
            Bucket(index=index, start=start, end=end, numel_unpadded=unpadded, parameters=parameters)
            for index, (start, end, unpadded, parameters) in enumerate(reversed(self.closed))
        )


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
