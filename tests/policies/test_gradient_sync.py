"""When a bucket's reduce-scatter is dispatched, and which gradients make a release of Megatron-core assert."""

from __future__ import annotations

from typing import Any

import pytest

from simgather.policies.gradients import CountedSync, GradientSync, GradientSyncError, LearnedSync, WholeBucketSync
from simgather.program.operations import Dispatch, Kernel
from tests.strategies import Mapping, one_per_bucket, run

NOT_ISSUED = r"Communication call has not been issued for this bucket \(1/2 params have grad available\)"


def iteration(sync: GradientSync, *parameters: int) -> list[bool]:
    """Gradients of bucket 0 in this order; the last answer is that of the end of backward."""
    sync.start_of_iteration()
    ready = [sync.ready(0, parameter, len(parameters) - 1 - place) for place, parameter in enumerate(parameters)]
    return [*ready, sync.finish(0)]


@pytest.mark.parametrize("sync_type", [WholeBucketSync, CountedSync])
def test_a_bucket_goes_with_its_last_gradient_in_every_iteration(sync_type: type[GradientSync]) -> None:
    sync = sync_type([2])
    for _ in range(3):
        assert iteration(sync, 1, 0) == [False, True, False]


def test_the_plain_rule_counts_uses_not_parameters() -> None:
    sync = WholeBucketSync([2])
    assert iteration(sync, 1, 1, 1) == [False, False, True, False]
    assert iteration(sync) == [True]


def test_up_to_0_11_a_second_gradient_of_a_parameter_asserts() -> None:
    sync = CountedSync([2])
    sync.start_of_iteration()
    sync.ready(0, 1, 2)
    with pytest.raises(GradientSyncError, match="Cannot set grad twice"):
        sync.ready(0, 1, 1)


def test_up_to_0_11_a_missing_gradient_asserts_at_the_end_of_backward() -> None:
    with pytest.raises(GradientSyncError, match=NOT_ISSUED):
        iteration(CountedSync([2]), 1)


def test_0_16_learns_its_counts_in_the_first_batch_and_goes_at_the_end_until_then() -> None:
    sync = LearnedSync([2])
    assert iteration(sync, 1, 0, 1) == [False, False, False, True]
    assert iteration(sync, 1, 0, 1) == [False, False, True, False]
    # The order does not matter, only how often.
    assert iteration(sync, 1, 1, 0) == [False, False, True, False]


def test_0_16_asserts_in_the_second_iteration_if_the_first_left_out_a_parameter() -> None:
    sync = LearnedSync([2])
    iteration(sync, 1)
    with pytest.raises(GradientSyncError) as caught:
        sync.start_of_iteration()
    assert caught.value.text == ""


def test_0_16_asserts_if_a_later_iteration_leaves_out_a_parameter() -> None:
    sync = LearnedSync([2])
    iteration(sync, 1, 0)
    with pytest.raises(GradientSyncError, match=NOT_ISSUED):
        iteration(sync, 1)


def reduce_scatters(mapping: Mapping) -> list[tuple[int | str, str | None]]:
    """Rank 0's backward kernels and reduce-scatters of iteration 0, in host order."""
    operations = run(mapping).timeline.program.ranks[0].operations
    return [
        (item.bucket, None) if isinstance(item, Dispatch) else (item.use.name, item.phase)
        for item in operations
        if item.iteration == 0
        and (
            (isinstance(item, Dispatch) and item.collective == "reduce-scatter")
            or (isinstance(item, Kernel) and not item.in_forward_pass)
        )
    ]


def test_a_bucket_goes_right_after_the_backward_of_the_last_of_its_modules() -> None:
    assert reduce_scatters(one_per_bucket("ACB")) == [
        ("B", "backward"), (1, None), ("C", "backward"), (2, None), ("A", "backward"), (0, None),
    ]  # fmt: skip


def test_a_bucket_of_several_modules_waits_for_all_of_them() -> None:
    mapping = one_per_bucket("ABC", gather=["4 ms"] * 2)
    mapping["buckets"] = {"groups": [["A", "C"], ["B"]]}
    assert reduce_scatters(mapping) == [
        ("C", "backward"), ("B", "backward"), (1, None), ("A", "backward"), (0, None),
    ]  # fmt: skip


def test_a_weight_used_twice_goes_after_the_backward_of_its_first_use() -> None:
    order: list[Any] = ["A", "B", {"functional": "A"}]
    assert reduce_scatters(one_per_bucket(order, modules=2)) == [
        ("A", "backward_functional"), ("B", "backward"), (1, None), ("A", "backward"), (0, None),
    ]  # fmt: skip


def test_only_the_last_microbatch_reduces_gradients() -> None:
    mapping = one_per_bucket("AB", modules=2, training={"microbatches": 2})
    assert reduce_scatters(mapping) == [
        ("B", "backward"), ("A", "backward"), ("B", "backward"), (1, None), ("A", "backward"), (0, None),
    ]  # fmt: skip


@pytest.mark.parametrize("training", [{"gradient_sync": False}, {"backward": False}])
def test_what_training_leaves_out_is_left_out(training: Mapping) -> None:
    found = reduce_scatters(one_per_bucket("AB", modules=2, training=training))
    assert found == ([] if "backward" in training else [("B", "backward"), ("A", "backward")])


def test_a_bucket_that_no_backward_touches_goes_at_the_end_where_nothing_asserts() -> None:
    assert reduce_scatters(one_per_bucket("A", modules=2, policy="prefetch")) == [
        ("A", "backward"), (0, None), (1, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "error"),
    [("megatron-core-0.11", "Cannot set grad twice"), ("megatron-core-0.16", None), ("prefetch", None)],
)
def test_a_module_used_twice_under_recompute_announces_itself_twice(policy: str, error: str | None) -> None:
    mapping = one_per_bucket("ABA", modules=2, policy=policy, training={"recompute": "full"})
    found = run(mapping).to_dict()["error"]
    assert (found and found["text"]) == error
