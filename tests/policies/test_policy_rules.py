"""Each policy's rule, hook by hook: which buckets it dispatches and waits for."""

from __future__ import annotations

import pytest

from simgather.policies import POLICIES, FrameworkError, Policy, make_policy
from simgather.scenario.schema import POLICY_NAMES
from tests.policies.fake_host import Event, Loop


def dispatch(*buckets: int) -> list[Event]:
    return [("dispatch", bucket) for bucket in buckets]


def wait(bucket: int) -> list[Event]:
    return [("wait", bucket)]


WARNING: list[Event] = [("warning", "The next bucket")]


def loop(name: str, *, steps: int = 1, depth: int | None = None, buckets: int = 3) -> Loop:
    """A loop that has made so many optimizer steps, with no hooks before."""
    made = Loop(make_policy(name, depth), buckets)
    for _ in range(steps):
        made.step()
    return made


# megatron-core-0.8


def test_0_8_dispatches_bucket_0_at_the_start_once_an_optimizer_step_was_made() -> None:
    job = loop("megatron-core-0.8", steps=0)
    assert job.start() == []
    job.step()
    assert job.start() == dispatch(0)


def test_0_8_waits_where_there_is_a_handle_and_dispatches_the_next() -> None:
    job = loop("megatron-core-0.8")
    job.start()
    assert job.hook(0) == wait(0) + dispatch(1)
    assert job.hook(1) == wait(1) + dispatch(2)
    assert job.hook(2) == wait(2)


def test_0_8_does_nothing_at_all_without_a_handle() -> None:
    job = loop("megatron-core-0.8")
    job.start()
    assert job.hook(2) == []
    assert job.hook(1) == []
    job.hook(0)
    assert job.hook(0) == []


def test_0_8_drops_the_handles_that_are_left_at_the_optimizer_step() -> None:
    job = loop("megatron-core-0.8")
    job.start()
    job.hook(0)
    job.step()
    assert job.hook(1) == []
    assert job.start() == dispatch(0)


def test_0_8_moves_the_chain_on_within_one_hook_of_a_module_in_several_buckets() -> None:
    job = loop("megatron-core-0.8")
    job.start()
    assert job.hook(0, 1) == wait(0) + dispatch(1) + wait(1) + dispatch(2)


# megatron-core-0.10


def test_0_10_dispatches_nothing_at_the_start_and_gathers_on_demand() -> None:
    job = loop("megatron-core-0.10")
    assert job.start() == []
    assert job.hook(0) == dispatch(0) + wait(0) + dispatch(1)
    assert job.hook(1) == wait(1) + dispatch(2)
    assert job.hook(2) == wait(2)
    # Dispatched, and nothing left to wait for: as in a second microbatch.
    assert job.hook(0) == []


def test_0_10_dispatches_the_next_bucket_even_if_it_was_before_and_dies_of_the_handle_in_the_next_iteration() -> None:
    job = loop("megatron-core-0.10")
    assert job.hook(1) == dispatch(1) + wait(1) + dispatch(2)
    assert job.hook(0) == dispatch(0) + wait(0) + dispatch(1)
    job.step()
    with pytest.raises(FrameworkError) as caught:
        job.hook(1)
    assert (caught.value.type_name, caught.value.text) == ("AssertionError", "")


def test_0_10_dies_at_once_if_the_chain_meets_a_bucket_that_has_a_handle() -> None:
    job = loop("megatron-core-0.10")
    job.hook(1)  # Bucket 2 has a handle.
    job.hook(0)  # So has bucket 1, for the second time.
    with pytest.raises(FrameworkError):
        job.hook(1)


# megatron-core-0.11 and 0.16


@pytest.mark.parametrize("name", ["megatron-core-0.11", "megatron-core-0.16"])
def test_0_11_warns_instead_of_dispatching_the_next_bucket_twice(name: str) -> None:
    job = loop(name)
    assert job.start() == []
    assert job.hook(2) == dispatch(2) + wait(2)
    assert job.hook(0) == dispatch(0) + wait(0) + dispatch(1)
    assert job.hook(1) == wait(1) + WARNING
    job.step()
    assert job.hook(2) == dispatch(2) + wait(2)


@pytest.mark.parametrize("name", ["megatron-core-0.11", "megatron-core-0.16"])
def test_0_11_dies_of_a_bucket_that_the_chain_dispatched_and_nobody_used(name: str) -> None:
    job = loop(name)
    job.hook(0)
    job.step()
    with pytest.raises(FrameworkError):
        job.hook(0)


def test_only_0_10_runs_its_hooks_before_the_first_optimizer_step() -> None:
    assert [name for name, policy in POLICIES.items() if policy.hooks_in_first_iteration] == ["megatron-core-0.10"]


# all-upfront, synchronous, prefetch


def test_all_upfront_dispatches_everything_in_gather_order_and_modules_wait_once() -> None:
    job = loop("all-upfront")
    assert job.start() == dispatch(0, 1, 2)
    assert job.hook(2, 0) == wait(2) + wait(0)
    assert job.hook(2) == []
    job.step()
    assert job.hook(1) == []
    assert job.start() == dispatch(0, 1, 2)


def test_synchronous_waits_for_everything_before_the_first_module() -> None:
    job = loop("synchronous")
    assert job.start() == dispatch(0) + wait(0) + dispatch(1) + wait(1) + dispatch(2) + wait(2)
    assert job.hook(0, 1, 2) == []


@pytest.mark.parametrize(("depth", "ahead"), [(0, []), (1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (100, [1, 2, 3])])
def test_prefetch_looks_as_many_buckets_ahead_as_it_is_deep(depth: int, ahead: list[int]) -> None:
    job = loop("prefetch", depth=depth, buckets=4)
    assert job.start() == []
    assert job.hook(0) == dispatch(0) + wait(0) + dispatch(*ahead)


def test_prefetch_passes_over_what_is_dispatched_without_a_warning() -> None:
    job = loop("prefetch", depth=2, buckets=4)
    assert job.hook(2) == dispatch(2) + wait(2) + dispatch(3)
    assert job.hook(0) == dispatch(0) + wait(0) + dispatch(1)
    assert job.hook(1) == wait(1)
    assert job.hook(3) == wait(3)


def test_prefetch_looks_one_bucket_ahead_by_default() -> None:
    assert loop("prefetch").hook(0) == dispatch(0) + wait(0) + dispatch(1)


def test_prefetch_gathers_again_in_the_next_iteration_what_was_left_over_in_the_last() -> None:
    job = loop("prefetch")
    job.hook(0)
    job.step()
    assert job.hook(1) == dispatch(1) + wait(1) + dispatch(2)


def test_in_registration_order_depth_one_is_the_chain_of_release_0_11() -> None:
    chain, prefetch = loop("megatron-core-0.11", buckets=5), loop("prefetch", depth=1, buckets=5)
    for _ in range(2):
        assert [chain.hook(k) for k in range(5)] == [prefetch.hook(k) for k in range(5)]
        chain.step()
        prefetch.step()


# All of them


@pytest.mark.parametrize("name", POLICIES)
def test_a_module_without_buckets_and_a_job_without_buckets_are_nothing_to_do(name: str) -> None:
    job = loop(name, buckets=0)
    assert job.start() == []
    assert job.hook() == []
    assert job.step() == []


@pytest.mark.parametrize("name", POLICIES)
def test_two_policies_of_one_kind_do_not_disturb_each_other(name: str) -> None:
    one, other = loop(name), loop(name)
    alone = [other.start(), other.hook(0), other.hook(1)]
    both = loop(name)
    one.start()
    started = both.start()
    one.hook(0)
    assert [started, both.hook(0), both.hook(1)] == alone


def test_every_policy_of_the_scenario_file_exists_under_its_own_name() -> None:
    assert set(POLICY_NAMES) == set(POLICIES)
    assert all(make_policy(name).name == name for name in POLICIES)


def test_a_policy_without_hooks_of_its_own_does_nothing() -> None:
    job = Loop(Policy())
    assert [job.start(), job.hook(0), job.step()] == [[], [], []]
