"""NCCL's own ring model: how long a collective takes over a named link, within one node.

For every protocol the time is a base latency, a latency per hop and the data over the protocol's bandwidth; NCCL takes
the fastest. With n ranks and S bytes of total output, in microseconds and GB/s:

    t = t0 + min over protocols of { base + (n-1)·hop + S·(n-1)/n / (eff·bandwidth·1e3) }

The constants are those of NCCL's tuning tables (unchanged from 2.18 to 2.30); `t0` = 9 us and `eff` = 0.95 make the
model stay within 11 % of measured 4- and 8-GPU H100 NVLink tables from 16 MiB on, and within 40 % from 1 MiB on. Below
that trust only a measurement. The same ring serves all-gather and reduce-scatter.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from simgather.errors import InputError

START_UP_US = Fraction(9)
EFFICIENCY = Fraction(95, 100)
NS_PER_US = 1000
BYTES_PER_US = 1000
"""Bytes per microsecond in one GB/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """One of NCCL's protocols on a link: latencies in microseconds, bandwidth in GB/s."""

    base_us: Fraction
    hop_us: Fraction
    bandwidth: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link by name; `source` says where its bandwidth comes from."""

    name: str
    protocols: tuple[Protocol, ...]
    source: str


def _nvlink(name: str, channels: int, per_channel: int, ll_most: str, ll128_per_channel: str) -> Link:
    ring = Fraction(channels * per_channel)
    return Link(
        name=name,
        protocols=(
            _protocol("6.6", "0.6", min(Fraction(ll_most), ring / 2)),
            _protocol("14.0", "1.9", min(Fraction("0.92") * ring, channels * Fraction(ll128_per_channel))),
            _protocol("8.4", "3.4", ring),
        ),
        source=f"NCCL tuning tables: {channels} channels of {per_channel} GB/s",
    )


def _pcie(name: str, bus_bandwidth: int, source: str) -> Link:
    """PCIe without NVLink; NCCL does not use LL128 there."""
    ring = Fraction(bus_bandwidth)
    return Link(
        name=name,
        protocols=(_protocol("6.6", "1.0", ring / 2), _protocol("8.4", "5.7", ring / EFFICIENCY)),
        source=source,
    )


def _protocol(base_us: str, hop_us: str, bandwidth: Fraction) -> Protocol:
    return Protocol(base_us=Fraction(base_us), hop_us=Fraction(hop_us), bandwidth=bandwidth)


LINKS: dict[str, Link] = {
    link.name: link
    for link in (
        _nvlink("nvlink-a100", 12, 20, "87.7", "20"),
        _nvlink("nvlink-h100", 12, 30, "141", "36.7"),
        _nvlink("nvlink-b200", 18, 40, "282", "40"),
        _pcie("pcie-5", 19, "about 19 GB/s bus bandwidth measured on 4 GPUs without NVLink"),
        _pcie("pcie-4", 15, "10 to 20 GB/s bus bandwidth on 4 GPUs without NVLink; the middle is assumed"),
    )
}
"""Known links by name."""


def link_transfer_ns(size_bytes: int, *, ranks: int, link: Link) -> int:
    """Time of an all-gather or reduce-scatter of `size_bytes` total output, in nanoseconds, rounded once."""
    moved = Fraction(size_bytes * (ranks - 1), ranks)
    fastest_us = min(
        protocol.base_us + (ranks - 1) * protocol.hop_us + moved / (EFFICIENCY * protocol.bandwidth * BYTES_PER_US)
        for protocol in link.protocols
    )
    return round((START_UP_US + fastest_us) * NS_PER_US)


def find_link(name: str, key: str | None = None) -> Link:
    """The link of that name; `key` is where the scenario names it.

    Raises:
        InputError: there is none; names the nearest.

    """
    folded = name.casefold()
    if folded in LINKS:
        return LINKS[folded]
    near = get_close_matches(folded, LINKS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(LINKS)}"
    raise InputError(f"no link {name[:40]!r}: {hint}", key=key)
