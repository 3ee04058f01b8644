"""Kernel times from operations and bytes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgather.costs.roofline import GPUS, Gpu, duration_ns, find_gpu
from simgather.errors import InputError
from simgather.workload.model import Work

SLOW = Gpu("slow", 1000 * 10**9, 10 * 10**9, Fraction(1, 2))
AMOUNTS = st.integers(0, 10**24)


def test_the_longer_of_arithmetic_and_traffic_counts() -> None:
    assert duration_ns(Work(flops=5000, bytes=50), SLOW) == 10
    assert duration_ns(Work(flops=5000, bytes=500), SLOW) == 50


def test_no_work_takes_no_time() -> None:
    assert duration_ns(Work(), SLOW) == 0


def test_a_duration_is_rounded_once_and_halves_to_even() -> None:
    assert [duration_ns(Work(flops=flops), SLOW) for flops in (249, 250, 251, 750)] == [0, 0, 1, 2]


def test_large_numbers_stay_exact() -> None:
    assert duration_ns(Work(flops=500 * 10**30 + 500), SLOW) == 10**30 + 1


@given(AMOUNTS, AMOUNTS, st.sampled_from([*GPUS.values()]))
def test_more_work_never_takes_less_time(flops: int, more: int, gpu: Gpu) -> None:
    assert duration_ns(Work(flops=flops), gpu) <= duration_ns(Work(flops=flops + more), gpu)
    assert duration_ns(Work(bytes=flops), gpu) <= duration_ns(Work(flops=more, bytes=flops), gpu)


@pytest.mark.parametrize(
    ("name", "milliseconds"),
    [("a100-sxm-80", 4.70), ("h100-sxm", 1.59), ("h200-sxm", 1.59), ("b200", 0.70), ("mi300x", 1.21)],
)
def test_a_large_matrix_multiplication_on_known_gpus(name: str, milliseconds: float) -> None:
    """2 x 2048 x 8192 x 32768 operations at the achieved fraction of the data sheet's rate."""
    work = Work(flops=2 * 2048 * 8192 * 32768)
    assert duration_ns(work, find_gpu(name)) / 1e6 == pytest.approx(milliseconds, rel=0.005)


@pytest.mark.parametrize("name", GPUS)
def test_gpus_are_found_in_any_case(name: str) -> None:
    assert find_gpu(name.upper()) is GPUS[name]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("h100", "did you mean h100-sxm?"), ("h100-smx", "h100-sxm"), ("a100", "a100-sxm-80"), ("4090", "rtx-4090")],
)
def test_an_unknown_gpu_names_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint.replace("?", r"\?")):
        find_gpu(name)


@pytest.mark.parametrize("name", ["", "abacus", "x" * 10_000])
def test_a_gpu_like_no_other_lists_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match="known are a100-sxm-80, h100-sxm") as caught:
        find_gpu(name)
    assert len(str(caught.value)) < 200
