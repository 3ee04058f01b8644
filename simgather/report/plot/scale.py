"""Nanoseconds to the unit that a time axis is labelled in."""

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
