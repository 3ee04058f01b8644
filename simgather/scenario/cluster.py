"""The machine a scenario runs on: ranks, the cost of collectives and of host calls, and the GPU."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, PlainValidator, Tag, WithJsonSchema, model_validator
from pydantic_core import CoreSchema

from simgather.scenario.fields import Bandwidth, ComputeRate, Name, Section, Time, Whole, by_shape, problem, read_as

MAX_GPUS = 16_384
_MAX_SKEW = 1000


class CollectiveCost(Section):
    """What a collective costs: latency and bus bandwidth, a named link, or one fixed time per bucket in gather order.

    Exactly one of the three forms is set. Whether `times_ns` has one entry per bucket, and whether there is such a
    `link`, is known only where buckets and links are, so it is checked there.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["latency", "bus_bandwidth"], "properties": {"times": False, "link": False}},
                {"required": ["times"], "properties": {"latency": False, "bus_bandwidth": False, "link": False}},
                {"required": ["link"], "properties": {"latency": False, "bus_bandwidth": False, "times": False}},
            ]
        }
    )

    latency_ns: Time | None = Field(None, alias="latency", description="Fixed part of each collective's time.")
    bus_bandwidth: Bandwidth | None = Field(None, description="Bus bandwidth, as nccl-tests defines it.")
    link: Name | None = Field(
        None, description="A link of one node, through NCCL's ring model.", examples=["nvlink-h100"]
    )
    times_ns: Annotated[tuple[Time, ...], Field(min_length=1)] | None = Field(
        None, alias="times", description="Time of each bucket's collective, in gather order."
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_what_is_to_come(cls, written: Any) -> Any:
        if isinstance(written, dict) and "table" in written:
            raise problem("is not supported yet; write latency and bus_bandwidth, or link", "table")
        return written

    @model_validator(mode="after")
    def _check_form(self) -> CollectiveCost:
        modelled = {"latency": self.latency_ns, "bus_bandwidth": self.bus_bandwidth}
        whole = [key for key, value in (("times", self.times_ns), ("link", self.link)) if value is not None]
        given = [key for key, value in modelled.items() if value is not None] + whole[1:]
        if whole and given:
            raise problem(f"{whole[0]} and {given[0]} exclude each other; remove one", given[0])
        if not whole and len(given) < 2:
            missing = next(key for key in modelled if key not in given)
            beside = f" beside {given[0]}" if given else " and bus_bandwidth, or link, or times"
            raise problem(f"needs {missing}{beside}")
        return self


class Host(Section):
    """What each call costs the host thread, in nanoseconds; what is not stated costs nothing."""

    launch_ns: Time = Field(0, alias="launch", description="Launching a kernel.")
    wait_ns: Time = Field(0, alias="wait", description="Making the compute stream wait for a collective.")
    collective_ns: Time = Field(0, alias="collective", description="Dispatching a collective.")


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


def _read_factor(written: Any) -> Decimal:
    if isinstance(written, bool) or not isinstance(written, int | float | Decimal):
        raise problem("a factor is a plain number: 1.1")
    factor = Decimal(str(written))
    if not factor.is_finite() or not 0 < factor <= _MAX_SKEW:
        raise problem(f"a factor is above 0 and at most {_MAX_SKEW}")
    return factor


Factor = Annotated[
    Decimal,
    PlainValidator(_read_factor),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": _MAX_SKEW}),
]
"""A plain number above zero, kept as the decimal that was written."""


class Cluster(Section):
    """The ranks and what they cost. `reduce_scatter` None means: as the all-gather."""

    gpus: Annotated[Whole, Field(ge=1, le=MAX_GPUS)] = Field(description="Data-parallel ranks.", examples=["4"])
    gather: CollectiveCost = Field(
        description="Cost of an all-gather.", examples=["{latency: 20 us, bus_bandwidth: 340 GB/s}"]
    )
    reduce_scatter: CollectiveCost | None = Field(None, description="Cost of a reduce-scatter; by default as gather.")
    host: Host = Field(default_factory=Host, description="Cost of calls on the host thread.")
    connections: Annotated[Whole, Field(ge=1, le=32)] = Field(
        8, description="CUDA_DEVICE_MAX_CONNECTIONS; 1 makes all streams share one queue."
    )
    compute_skew: Annotated[tuple[Factor, ...], Field(min_length=1)] | None = Field(
        None, description="Factor on the module times of each rank, one per rank."
    )
    gpu: Gpu | None = Field(None, description="GPU whose roofline times a Megatron model: a name, or its rates.")

    @model_validator(mode="after")
    def _check_skew(self) -> Cluster:
        if self.compute_skew is not None and len(self.compute_skew) != self.gpus:
            count = len(self.compute_skew)
            raise problem(f"needs one factor per rank: {self.gpus} of them, got {count}", "compute_skew")
        return self
