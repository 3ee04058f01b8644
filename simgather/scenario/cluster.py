"""The machine a scenario runs on: ranks, the cost of collectives and of host calls, and the GPU."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from simgather.scenario.collective import CollectiveCost
from simgather.scenario.fields import Section, Time, Whole, problem
from simgather.scenario.gpu import Gpu

MAX_GPUS = 16_384
_MAX_SKEW = 1000


class Host(Section):
    """What each call costs the host thread, in nanoseconds; what is not stated costs nothing."""

    launch_ns: Time = Field(0, alias="launch", description="Launching a kernel.")
    wait_ns: Time = Field(0, alias="wait", description="Making the compute stream wait for a collective.")
    collective_ns: Time = Field(0, alias="collective", description="Dispatching a collective.")


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
