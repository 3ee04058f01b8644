"""Nanoseconds to the unit that a time axis is labelled in, and to inches on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of time and its length in nanoseconds."""

    name: str
    ns: int

    def of(self, ns: float) -> float:
        """The time in this unit."""
        return ns / self.ns


NS, US, MS, S = Unit("ns", 1), Unit("us", 10**3), Unit("ms", 10**6), Unit("s", 10**9)


def unit_for(span_ns: int) -> Unit:
    """The largest unit of which the span has at least two."""
    return next((unit for unit in (S, MS, US) if span_ns >= 2 * unit.ns), NS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler:
    """Time to the x axis: `origin_ns` is at 0, and an inch is `ns_per_inch`."""

    unit: Unit
    origin_ns: int
    ns_per_inch: float

    def x(self, ns: float) -> float:
        """Where the moment is."""
        return self.unit.of(ns - self.origin_ns)

    def inches(self, ns: float) -> float:
        """How wide the duration is."""
        return ns / self.ns_per_inch

    def wide(self, inches: float) -> float:
        """A width in inches as a length on the axis."""
        return self.unit.of(inches * self.ns_per_inch)
