"""In which order the forward pass uses modules: one order, one per iteration, or its own for some ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, GetCoreSchemaHandler, Tag, WithJsonSchema
from pydantic_core import CoreSchema

from simgather.scenario.cluster import MAX_GPUS
from simgather.scenario.fields import Name, Section, Time, Whole, by_shape, problem, read_as


class _FunctionalUse(Section):
    functional: Name = Field(description="Module whose weight is used without calling the module.", examples=["B"])
    name: Name | None = Field(None, description="Name of the kernel; by default the module's.")
    forward: Time | None = Field(None, description="Duration of the forward kernel; by default the module's.")
    backward: Time | None = Field(None, description="Duration of the backward kernel; by default the module's.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UseSpec:
    """One step of an execution order: `module` runs, or its weight is used without calling it (`functional`).

    What is None is the module's own. Durations are in nanoseconds.
    """

    module: str
    functional: bool = False
    name: str | None = None
    forward_ns: int | None = None
    backward_ns: int | None = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return read_as(cls, cls._from_written, _UseWritten, handler)

    @classmethod
    def _from_written(cls, written: str | _FunctionalUse) -> UseSpec:
        if isinstance(written, str):
            return cls(module=written)
        return cls(
            module=written.functional,
            functional=True,
            name=written.name,
            forward_ns=written.forward,
            backward_ns=written.backward,
        )


_UseWritten = Annotated[
    Annotated[Name, Tag("module")] | Annotated[_FunctionalUse, Tag("functional use")],
    by_shape(mapping="functional use", other="module"),
]

Orders: TypeAlias = tuple[tuple[UseSpec, ...], ...]
"""One order for all iterations, or one per iteration; each a forward pass from its first step to its last."""


def _order_or_orders(written: Any) -> str:
    nested = isinstance(written, tuple | list) and any(isinstance(item, tuple | list) for item in written)
    return "an order per iteration" if nested else "one order"


def _shape_of_forward(written: Any) -> str:
    return "orders by rank" if isinstance(written, dict) else _order_or_orders(written)


def _as_orders(written: tuple[UseSpec, ...] | Orders) -> Orders:
    """A single order holds for all iterations."""
    single = tuple(use for use in written if isinstance(use, UseSpec))
    return (single,) if single else tuple(order for order in written if not isinstance(order, UseSpec))


def _read_rank(written: Any) -> Any:
    """A rank as an integer; JSON and its relatives have only text as keys."""
    return int(written) if isinstance(written, str) and written.isdecimal() and len(written) < 10 else written


def _check_ranks(written: Any) -> Any:
    if isinstance(written, dict) and len({_read_rank(key) for key in written}) < len(written):
        raise problem("names a rank twice")
    return written


_Order = Annotated[tuple[UseSpec, ...], Field(min_length=1)]
_OneOrder = Annotated[_Order, Tag("one order")]
_OrderPerIteration = Annotated[tuple[_Order, ...], Field(min_length=1), Tag("an order per iteration")]
_Rank = Annotated[
    Whole,
    BeforeValidator(_read_rank),
    Field(ge=0, lt=MAX_GPUS),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]+$"}),
]


class _OrdersByRank(Section):
    per_rank: Annotated[
        dict[_Rank, Annotated[_OneOrder | _OrderPerIteration, Discriminator(_order_or_orders)]],
        Field(min_length=1),
        BeforeValidator(_check_ranks),
    ] = Field(
        description="Orders by rank; ranks not named run in registration order.", examples=["{0: [A, B], 1: [B, A]}"]
    )


_ForwardWritten = Annotated[
    _OneOrder | _OrderPerIteration | Annotated[_OrdersByRank, Tag("orders by rank")], Discriminator(_shape_of_forward)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """The execution order of every rank in every iteration.

    Either `orders` holds for all ranks, or it is empty and `per_rank` has the orders of the ranks it names; the others
    run in registration order.
    """

    orders: Orders = ()
    per_rank: dict[int, Orders] | None = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return read_as(cls, cls._from_written, _ForwardWritten, handler)

    @classmethod
    def _from_written(cls, written: tuple[UseSpec, ...] | Orders | _OrdersByRank) -> Forward:
        if isinstance(written, _OrdersByRank):
            return cls(per_rank={rank: _as_orders(orders) for rank, orders in written.per_rank.items()})
        return cls(orders=_as_orders(written))

    def each(self) -> Iterator[tuple[tuple[str | int, ...], Orders]]:
        """The orders, each with its keys below ``forward``."""
        if self.per_rank is None:
            yield (), self.orders
        else:
            for rank, orders in self.per_rank.items():
                yield ("per_rank", rank), orders
