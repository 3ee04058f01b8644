"""Where the three lanes of a band lie, in inches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """Heights in inches, from the band's bottom upward: NCCL lane, compute lane, host lane."""

    nccl: tuple[float, float]
    compute: tuple[float, float]
    host: tuple[float, float]
    height: float


def lanes(bands: int) -> Lanes:
    """Lanes that leave a figure of that many bands readable."""
    compute, nccl, gap = (0.42, 0.26, 0.16) if bands <= 4 else (0.3, 0.2, 0.12)
    host, spare = 0.13, 0.17
    floor = 0.05
    compute_floor = floor + nccl + gap
    host_floor = compute_floor + compute + spare
    return Lanes(
        nccl=(floor, floor + nccl),
        compute=(compute_floor, compute_floor + compute),
        host=(host_floor, host_floor + host),
        height=host_floor + host + 0.1,
    )
