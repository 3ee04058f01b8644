"""A scenario, validated: what is asked, as frozen data in nanoseconds, bytes and elements.

Field names are what the program reads, aliases are the keys of the file. Checks that need buckets or a Megatron model
(fixed times per bucket, groups, the execution order of a Megatron model, names of GPUs) happen where those exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    Tag,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from simgather.errors import LimitError
from simgather.scenario.cluster import Cluster, Host
from simgather.scenario.collective import CollectiveCost
from simgather.scenario.fields import BucketSize, Flag, Name, Section, Time, Whole, by_shape, nearest, problem, read_as
from simgather.scenario.gpu import Gpu
from simgather.scenario.modules import ExplicitModel, MegatronModel, ModuleSpec, ParameterSpec
from simgather.scenario.order import Forward, Orders, UseSpec
from simgather.units import Size

__all__ = [
    "MAX_PROGRAM_SIZE",
    "POLICY_NAMES",
    "Buckets",
    "Cluster",
    "CollectiveCost",
    "ExplicitModel",
    "Forward",
    "Gpu",
    "Host",
    "MegatronModel",
    "ModuleSpec",
    "ParameterSpec",
    "PolicyChoice",
    "Scenario",
    "Training",
    "UseSpec",
    "check_program_size",
    "longest_forward",
]

POLICY_NAMES = (
    "megatron-core-0.8",
    "megatron-core-0.10",
    "megatron-core-0.11",
    "megatron-core-0.16",
    "all-upfront",
    "synchronous",
    "prefetch",
)
MAX_PROGRAM_SIZE = 1_000_000
_WITH_DEPTH = "prefetch"


def _check_policy(name: str) -> str:
    if name in POLICY_NAMES:
        return name
    if ".py" in name or ":" in name:
        raise problem(f"policies of your own are not supported yet; use one of {', '.join(POLICY_NAMES)}")
    hint = nearest(name, POLICY_NAMES) or "."
    raise problem(f"no policy is named {name!r}{hint} Known: {', '.join(POLICY_NAMES)}")


_PolicyName = Annotated[
    Name, AfterValidator(_check_policy), WithJsonSchema({"type": "string", "enum": [*POLICY_NAMES]})
]


class _PolicyKeys(Section):
    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["depth"]},
            "then": {"properties": {"name": {"const": _WITH_DEPTH}}},
        }
    )

    name: _PolicyName = Field(description="Name of the policy.", examples=["prefetch"])
    depth: Annotated[Whole, Field(ge=0, le=10_000)] | None = Field(
        None, description="All-gathers dispatched ahead of the module that runs; only for prefetch, by default 1."
    )

    @model_validator(mode="after")
    def _check_depth(self) -> _PolicyKeys:
        if self.depth is not None and self.name != _WITH_DEPTH:
            raise problem(f"only the policy {_WITH_DEPTH} has a depth; remove it", "depth")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChoice:
    """The rule that decides when to dispatch and when to wait; `depth` is None for a policy that has none."""

    name: str
    depth: int | None = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return read_as(cls, cls._from_written, _PolicyWritten, handler)

    @classmethod
    def _from_written(cls, written: str | _PolicyKeys) -> PolicyChoice:
        return cls.named(written) if isinstance(written, str) else cls.named(written.name, written.depth)

    @classmethod
    def named(cls, name: str, depth: int | None = None) -> PolicyChoice:
        """The built-in policy of that name, with the default depth where it has one and none is given."""
        return cls(name=name, depth=1 if depth is None and name == _WITH_DEPTH else depth)


_PolicyWritten = Annotated[
    Annotated[_PolicyName, Tag("policy by name")] | Annotated[_PolicyKeys, Tag("policy by keys")],
    by_shape(mapping="policy by keys", other="policy by name"),
]


def _read_none(written: Any) -> str:
    if written != "none":
        raise problem("expected none, or a mapping such as {size: 40M}")
    return "none"


class _BucketKeys(Section):
    model_config = ConfigDict(json_schema_extra={"not": {"required": ["size", "groups"]}})

    size: BucketSize = Field(
        None, description="A bucket is closed when it has reached this many elements or bytes; none for one bucket."
    )
    groups: Annotated[tuple[Annotated[tuple[Name, ...], Field(min_length=1)], ...], Field(min_length=1)] | None = Field(
        None, description="Modules, or parameters as module.parameter, of each bucket in gather order."
    )
    pad_for_high_nccl_busbw: Flag = Field(False, description="--ddp-pad-buckets-for-high-nccl-busbw")

    @model_validator(mode="after")
    def _check_form(self) -> _BucketKeys:
        if self.groups is not None and "size" in self.model_fields_set:
            raise problem("size and groups exclude each other; remove one", "size")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """How parameters are divided into buckets: by size, into one, in groups, or (with nothing set) as Megatron would.

    At most one of `size_elements`, `size_bytes`, `one` and `groups` is set.
    """

    size_elements: int | None = None
    size_bytes: int | None = None
    one: bool = False
    groups: tuple[tuple[str, ...], ...] | None = None
    pad_for_high_nccl_busbw: bool = False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return read_as(cls, cls._from_written, _BucketsWritten, handler)

    @classmethod
    def _from_written(cls, written: str | _BucketKeys) -> Buckets:
        if isinstance(written, str):
            return cls(one=True)
        size = written.size or Size()
        return cls(
            size_elements=size.elements,
            size_bytes=size.bytes,
            one="size" in written.model_fields_set and written.size is None,
            groups=written.groups,
            pad_for_high_nccl_busbw=written.pad_for_high_nccl_busbw,
        )


_BucketsWritten = Annotated[
    Annotated[str, PlainValidator(_read_none), WithJsonSchema({"const": "none"}), Tag("one bucket")]
    | Annotated[_BucketKeys, Tag("buckets by keys")],
    by_shape(mapping="buckets by keys", other="one bucket"),
]


class Training(Section):
    """What an iteration consists of. What is None was not given: the model or the policy has its own default."""

    microbatches: Annotated[Whole, Field(ge=1, le=10_000)] | None = Field(
        None, description="Forward and backward passes per iteration."
    )
    recompute: Literal["none", "full"] | None = Field(
        None, description="full runs each module's forward again before its backward."
    )
    optimizer_ns: Time = Field(0, alias="optimizer", description="Duration of the optimizer kernel.")
    backward: Flag = Field(True, description="Whether the backward pass is part of an iteration.")
    gradient_sync: Flag = Field(True, description="Whether gradients are reduce-scattered.")
    hooks_in_first_iteration: Flag | None = Field(
        None, description="Whether forward hooks run before the first optimizer step; by default the policy decides."
    )


def _model_tag(written: Any) -> str:
    megatron = isinstance(written, MegatronModel) or (isinstance(written, dict) and "megatron" in written)
    return "megatron model" if megatron else "explicit model"


_Model = Annotated[
    Annotated[ExplicitModel, Tag("explicit model")] | Annotated[MegatronModel, Tag("megatron model")],
    Discriminator(_model_tag),
]


class Scenario(Section):
    """Everything a simulation is asked, in one value that never changes."""

    name: Name = Field("scenario", description="Title of the reports.")
    policy: PolicyChoice = Field(
        description="Rule that decides when to dispatch and when to wait.", examples=["megatron-core-0.11"]
    )
    iterations: Annotated[Whole, Field(ge=1, le=100_000)] = Field(3, description="Training iterations.")
    cluster: Cluster = Field(description="The machine.", examples=["{gpus: 4, gather: {latency: 20 us, ...}}"])
    model: _Model = Field(description="What is trained.", examples=["{modules: [...]}"])
    buckets: Buckets = Field(
        default_factory=Buckets, description="How parameters are divided; by default as Megatron would."
    )
    forward: Forward | None = Field(None, description="Execution order; by default registration order.")
    training: Training = Field(default_factory=Training, description="What an iteration consists of.")

    @model_validator(mode="after")
    def _check_together(self) -> Scenario:
        if isinstance(self.model, MegatronModel) and self.cluster.gpu is None:
            raise problem("a Megatron model needs cluster.gpu, which times its kernels: gpu: h100-sxm", "cluster")
        for keys, orders in self.forward.each() if self.forward else ():
            self._check_orders(("forward", *keys), orders)
        return self

    def _check_orders(self, keys: tuple[str | int, ...], orders: Orders) -> None:
        if keys[1:] and keys[-1] not in range(self.cluster.gpus):
            raise problem(f"there is no rank {keys[-1]} among {self.cluster.gpus} (cluster.gpus)", *keys)
        if len(orders) not in (1, self.iterations):
            raise problem(f"needs one order, or one per iteration: {self.iterations}, got {len(orders)}", *keys)
        if isinstance(self.model, MegatronModel):
            return
        names = {module.name: None for module in self.model.modules}
        for i, order in enumerate(orders):
            for j, use in enumerate(order):
                if use.module not in names:
                    hint = nearest(use.module, [*names])
                    raise problem(f"no module is named {use.module!r}{hint}", *keys, i, j, "functional")


def check_program_size(scenario: Scenario, uses: int, microbatches: int) -> None:
    """Raises `LimitError` if a forward pass of `uses` steps makes a program too long to be worth simulating.

    At the limit a simulation takes some minutes and some gigabytes.
    """
    factors = {
        "iterations": scenario.iterations,
        "training.microbatches": microbatches,
        "steps of the forward pass": uses,
        "cluster.gpus": scenario.cluster.gpus,
    }
    size = prod(factors.values())
    if size > MAX_PROGRAM_SIZE:
        product = " x ".join(f"{count:,} {what}" for what, count in factors.items() if count > 1)
        largest = sorted(factors, key=lambda what: -factors[what])[:2]
        raise LimitError(
            f"asks for {size:,} kernels ({product}); at most {MAX_PROGRAM_SIZE:,}: lower {' or '.join(largest)}"
        )


def longest_forward(scenario: Scenario) -> int:
    """Steps of the longest forward pass; of a Megatron model, whose modules are not known here, 1."""
    lengths = [len(order) for _, orders in scenario.forward.each() for order in orders] if scenario.forward else []
    registered = len(scenario.model.modules) if isinstance(scenario.model, ExplicitModel) else 1
    # Ranks without an order of their own run in registration order.
    whole = not scenario.forward or scenario.forward.per_rank is not None
    return max([*lengths, registered] if whole else lengths)
