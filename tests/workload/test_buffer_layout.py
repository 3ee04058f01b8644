"""The rules of the gather buffer, one by one; sizes in elements."""

from __future__ import annotations

from math import lcm
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgather.workload.layout import default_bucket_size, lay_out, lay_out_groups
from simgather.workload.model import Module, Parameter
from tests.workload.layouts import laid_out, module, places, ranges


def test_parameters_lie_in_reverse_registration_order_and_the_first_registered_is_gathered_first() -> None:
    buckets = laid_out(module("A", 100, 100), module("B", 100), bucket_size=None)
    assert places(buckets) == [[(1, "p0", 0, 100), (0, "p1", 128, 228), (0, "p0", 256, 356)]]

    buckets = laid_out(module("A", 100, 100), module("B", 100))
    assert [bucket.index for bucket in buckets] == [0, 1, 2]
    assert places(buckets) == [[(0, "p0", 256, 356)], [(0, "p1", 128, 228)], [(1, "p0", 0, 100)]]


@pytest.mark.parametrize(("size", "start"), [(1, 64), (63, 64), (64, 64), (65, 128), (128, 128)])
def test_a_parameter_starts_at_a_multiple_of_64(size: int, start: int) -> None:
    (bucket,) = laid_out(module("A", 10), module("B", size), bucket_size=None)
    assert bucket.parameters[1].start == start


@pytest.mark.parametrize(
    ("bucket_size", "buckets"),
    [
        # B ends at 100, then A at 128 + 100: the gap up to 128 counts.
        (100, 2),
        (101, 1),
        (228, 1),
        (229, 1),
        (None, 1),
    ],
)
def test_a_bucket_is_closed_when_it_has_reached_its_size(bucket_size: int | None, buckets: int) -> None:
    assert len(laid_out(module("A", 100), module("B", 100), bucket_size=bucket_size)) == buckets


def test_alignment_gaps_count_towards_the_bucket_size() -> None:
    # C ends at 1 and B at 65: more than the size of 60, though only two elements are filled.
    buckets = laid_out(module("A", 1), module("B", 1), module("C", 1), bucket_size=60)
    assert [[place[0] for place in bucket] for bucket in places(buckets)] == [[0], [2, 1]]


@pytest.mark.parametrize(
    ("dp", "alignment"), [(1, 128), (2, 128), (3, 384), (4, 128), (5, 640), (6, 384), (128, 128), (256, 256)]
)
def test_a_bucket_ends_at_a_multiple_of_128_and_of_the_ranks(dp: int, alignment: int) -> None:
    buckets = laid_out(module("A", 1), module("B", alignment), module("C", alignment + 1), dp=dp)
    assert [bucket.numel for bucket in buckets] == [alignment, alignment, 2 * alignment]


@pytest.mark.parametrize(("dp", "alignment"), [(1, 65536), (3, 3 * 65536), (8, 65536)])
def test_padding_for_high_bandwidth_ends_buckets_at_multiples_of_65536(dp: int, alignment: int) -> None:
    buckets = laid_out(module("A", 1), module("B", alignment + 1), dp=dp, pad_for_high_nccl_busbw=True)
    assert [bucket.numel for bucket in buckets] == [alignment, 2 * alignment]


def test_numel_unpadded_leaves_out_the_padding_at_the_end_only() -> None:
    (bucket,) = laid_out(module("A", 10), module("B", 10), bucket_size=None)
    assert bucket.numel_unpadded == 64 + 10
    assert bucket.numel == 128


def test_without_the_distributed_optimizer_nothing_is_padded() -> None:
    buckets = laid_out(module("A", 10), module("B", 7), dp=4, distributed_optimizer=False)
    assert ranges(buckets) == [(7, 17), (0, 7)]


def test_frozen_parameters_are_in_no_bucket() -> None:
    buckets = laid_out(module("A", 10), module("B", 10, frozen=True), module("C", 10))
    assert [[place[0] for place in bucket] for bucket in places(buckets)] == [[0], [2]]


def test_a_model_without_parameters_has_no_buckets() -> None:
    assert laid_out() == laid_out(module("A"), module("B", 5, frozen=True)) == ()


def test_a_shard_is_one_part_in_dp_of_the_bucket_padding_included() -> None:
    first, second = laid_out(module("A", 1), module("B", 200), dp=4)
    assert [second.shard(rank, 4) for rank in range(4)] == [(0, 64), (64, 128), (128, 192), (192, 256)]
    assert [first.shard(rank, 4) for rank in range(4)] == [(256, 288), (288, 320), (320, 352), (352, 384)]


@pytest.mark.parametrize(("dp", "size"), [(1, 40_000_000), (40, 40_000_000), (41, 41_000_000), (1024, 1_024_000_000)])
def test_default_bucket_size_grows_with_the_ranks_beyond_forty(dp: int, size: int) -> None:
    assert default_bucket_size(dp) == size


def test_a_shape_counts_its_elements() -> None:
    (bucket,) = laid_out(
        Module(name="A", parameters=(Parameter(name="w", shape=(3, 5, 7)),), forward_ns=0, backward_ns=0)
    )
    assert bucket.numel_unpadded == 105


def test_groups_are_gathered_as_they_are_listed_and_filled_from_their_last_parameter() -> None:
    a, b, c = (Parameter(name=name, shape=(100,)) for name in "abc")
    buckets = lay_out_groups([[(1, b)], [(0, a), (2, c)]], dp=2)

    assert places(buckets) == [[(1, "b", 256, 356)], [(2, "c", 0, 100), (0, "a", 128, 228)]]
    assert [bucket.index for bucket in buckets] == [0, 1]


def test_groups_may_be_padded_for_high_bandwidth() -> None:
    (bucket,) = lay_out_groups([[(0, Parameter(name="a", shape=(1,)))]], dp=2, pad_for_high_nccl_busbw=True)
    assert bucket.numel == 65536


@st.composite
def models(draw: st.DrawFn) -> dict[str, Any]:
    sizes = draw(st.lists(st.lists(st.integers(1, 700), max_size=3), min_size=1, max_size=6))
    return {
        "modules": [module(f"m{index}", *own) for index, own in enumerate(sizes)],
        "dp": draw(st.integers(1, 9)),
        "bucket_size": draw(st.one_of(st.none(), st.integers(1, 1500))),
    }


@given(models())
def test_buckets_tile_the_buffer_and_hold_every_parameter_whole_and_once(model: dict[str, Any]) -> None:
    buckets = lay_out(**model)
    dp = model["dp"]

    borders = [bucket.end for bucket in reversed(buckets)]
    assert [bucket.start for bucket in reversed(buckets)] == [0, *borders][: len(buckets)]
    placed = [one for bucket in reversed(buckets) for one in bucket.parameters]
    registered = [(number, one.name, one.numel) for number, owner in enumerate(model["modules"])
                  for one in owner.parameters]  # fmt: skip
    assert [(one.module, one.name, one.end - one.start) for one in reversed(placed)] == registered
    for bucket in buckets:
        assert bucket.numel % lcm(dp, 128) == 0
        assert bucket.numel_unpadded == bucket.parameters[-1].end - bucket.start
        assert bucket.start == bucket.parameters[0].start
        assert all(one.start % 64 == 0 and one.end <= bucket.end for one in bucket.parameters)
        assert bucket.shard(dp - 1, dp)[1] == bucket.end
    if model["bucket_size"] is not None:
        # All but the one that is gathered first have reached the size, and would not have without their last parameter.
        for bucket in buckets:
            reached = [one.end - bucket.start >= model["bucket_size"] for one in bucket.parameters]
            assert not any(reached[:-1])
            assert reached[-1] or bucket.index == 0
