"""The GPU a scenario names or describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema

from simgather.scenario.fields import Bandwidth, ComputeRate, Name, Section, by_shape, read_as


class _GpuRates(Section):
    flops: ComputeRate = Field(description="Matrix-multiply rate that kernels reach.", examples=["690 TFLOP/s"])
    memory_bandwidth: Bandwidth = Field(
        description="Device memory bandwidth that kernels reach.", examples=["3.35 TB/s"]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """The GPU whose roofline times a Megatron model: a known `name`, or both rates. What is not given is None."""

    name: str | None = None
    flops_per_second: int | None = None
    memory_bytes_per_second: int | None = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return read_as(cls, cls._from_written, _GpuWritten, handler)

    @classmethod
    def _from_written(cls, written: str | _GpuRates) -> Gpu:
        if isinstance(written, str):
            return cls(name=written)
        return cls(flops_per_second=written.flops, memory_bytes_per_second=written.memory_bandwidth)


_GpuWritten = Annotated[
    Annotated[Name, Tag("gpu by name")] | Annotated[_GpuRates, Tag("gpu by rates")],
    by_shape(mapping="gpu by rates", other="gpu by name"),
]
