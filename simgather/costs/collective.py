"""How long an all-gather or reduce-scatter takes, from the last rank's arrival to its end.

Sizes are always the total output of the all-gather (the whole bucket), never one rank's share.
"""

from __future__ import annotations

from fractions import Fraction

NS_PER_S = 1_000_000_000


def transfer_ns(size_bytes: int, *, ranks: int, latency_ns: int, bus_bandwidth: int) -> int:
    """Latency plus ``size·(n-1)/n`` over the bus bandwidth (bytes per second), nccl-tests' definition of it."""
    return round(latency_ns + Fraction(size_bytes * (ranks - 1) * NS_PER_S, ranks * bus_bandwidth))
