"""The cost of a collective, in any of its forms."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from simgather.scenario.fields import Bandwidth, Name, Section, Time, problem


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
