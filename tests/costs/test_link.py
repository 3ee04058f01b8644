"""NCCL's ring model against measured tables, with the stated tolerances.

The points are all-gathers of nccl-tests on 4 and 8 H100 SXM with NVLink, total output bytes and microseconds; two
numbers are two machines.
"""

from __future__ import annotations

import pytest

import simgather
from simgather.costs.link import LINKS, find_link, link_transfer_ns
from simgather.errors import InputError
from tests.strategies import one_per_bucket

KIB, MIB, GIB = 2**10, 2**20, 2**30
MEASURED_4_US = {
    1 * MIB: (27.9, 20.4),
    4 * MIB: (38.6, 44.6),
    16 * MIB: (67.3, 60.2),
    64 * MIB: (194.9, 181.2),
    128 * MIB: (349.9, 329.7),
    256 * MIB: (658.9,),
    512 * MIB: (1270.0,),
    1 * GIB: (2459.0,),
    4 * GIB: (9435.0,),
}
MEASURED_8_US = {128 * MIB: (382.2,), 1 * GIB: (2720.0,)}


@pytest.mark.parametrize(
    ("ranks", "size_bytes", "measured_us"),
    [
        (ranks, size_bytes, measured_us)
        for ranks, table in ((4, MEASURED_4_US), (8, MEASURED_8_US))
        for size_bytes, several in table.items()
        for measured_us in several
    ],
)
def test_model_is_near_the_measured_h100(ranks: int, size_bytes: int, measured_us: float) -> None:
    modelled_us = link_transfer_ns(size_bytes, ranks=ranks, link=LINKS["nvlink-h100"]) / 1000
    assert modelled_us == pytest.approx(measured_us, rel=0.11 if size_bytes >= 16 * MIB else 0.40)


@pytest.mark.parametrize("link", LINKS.values(), ids=lambda link: link.name)
def test_more_data_and_more_ranks_never_take_less_time(link: simgather.costs.link.Link) -> None:
    sizes = [0, 1, KIB, MIB, 16 * MIB, GIB]
    times = [[link_transfer_ns(size, ranks=ranks, link=link) for size in sizes] for ranks in (2, 4, 8)]
    assert all(row == sorted(row) for row in times)
    assert all(column == tuple(sorted(column)) for column in zip(*times, strict=True))


def test_large_transfers_reach_the_ring_bandwidth() -> None:
    size_bytes = 64 * GIB
    ns = link_transfer_ns(size_bytes, ranks=4, link=LINKS["nvlink-h100"])
    assert size_bytes * 3 / 4 / ns == pytest.approx(0.95 * 360, rel=0.001)


def test_unknown_link_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean nvlink-h100"):
        find_link("nvlink-h1000")


def test_scenario_with_a_link_is_timed_by_it_and_says_so() -> None:
    mapping = one_per_bucket(size=1_000_000, gpus=4)
    mapping["cluster"]["gather"] = {"link": "nvlink-h100"}
    report = simgather.simulate(simgather.load(mapping))
    bucket = report.workload.buckets[0]
    expected = link_transfer_ns(bucket.numel * 2, ranks=4, link=LINKS["nvlink-h100"])
    assert report.costs.gather_ns[0] == expected
    from simgather.report.plain import render

    assert "NCCL's ring model over nvlink-h100" in render(report)
