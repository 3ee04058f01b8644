"""What each release of Megatron-core does to any permutation of modules, one module per bucket."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simgather.report.report import Report
from tests.strategies import LETTERS, Mapping, permutation_scenarios, run

hooks_or_not = st.fixed_dictionaries({}, optional={"hooks_in_first_iteration": st.booleans()})
any_training = st.fixed_dictionaries(
    {},
    optional={
        "hooks_in_first_iteration": st.booleans(),
        "microbatches": st.integers(1, 3),
        "recompute": st.sampled_from(["none", "full"]),
        "backward": st.booleans(),
    },
)


def bucket_order(mapping: Mapping) -> list[int]:
    """The execution order as bucket indices."""
    return [LETTERS.index(name) for name in mapping["forward"]]


def chained(order: list[int]) -> int:
    """The longest prefix 0, 1, ..., m-1 of bucket indices that appears in increasing order."""
    m = 1
    while m < len(order) and order.index(m - 1) < order.index(m):
        m += 1
    return m


def gathers(report: Report, iteration: int) -> list[int]:
    return [item.bucket for item in report.timeline.matching.collectives
            if item.kind == "all-gather" and item.iteration == iteration]  # fmt: skip


@given(permutation_scenarios(policies=st.just("megatron-core-0.8")))
def test_release_0_8_gathers_until_the_order_first_goes_back(mapping: Mapping) -> None:
    order = bucket_order(mapping)
    report = run(mapping)

    assert report.failure is None
    assert gathers(report, 0) == []
    for iteration in range(1, mapping["iterations"]):
        assert gathers(report, iteration) == list(range(min(chained(order) + 1, len(order))))


@given(permutation_scenarios(policies=st.just("megatron-core-0.8")))
def test_release_0_8_orders_no_read_from_there_on(mapping: Mapping) -> None:
    order = bucket_order(mapping)
    m = chained(order)
    report = run(mapping)

    for read in report.reads:
        if read.iteration == 0:
            assert read.order == "initial"
        elif read.bucket < m:
            assert read.order == "ordered"
        elif read.phase == "forward" or read.bucket > m:
            assert read.order == "undispatched"
        else:
            # Dispatched after the forward read; nothing waits for it before the backward one.
            assert read.order == "unordered"


@given(permutation_scenarios(policies=st.just("megatron-core-0.8")))
def test_release_0_8_ages_what_it_never_gathers_by_one_every_iteration(mapping: Mapping) -> None:
    m = chained(bucket_order(mapping))
    report = run(mapping)

    for read in (read for read in report.reads if read.order == "undispatched"):
        bucket = report.workload.buckets[read.bucket]
        (placed,) = bucket.parameters
        for rank in range(report.workload.dp):
            shard = bucket.shard(rank, report.workload.dp)
            own = max(0, min(placed.end, shard[1]) - max(placed.start, shard[0]))
            lag = 1 if read.bucket == m else read.iteration
            assert read.age[rank] == (0 if own == read.elements else lag)
            assert read.fresh_elements[rank] == own
    never = {(finding.iteration, finding.bucket) for finding in report.findings if finding.kind == "never-gathered"}
    buckets, iterations = range(m + 1, len(report.workload.buckets)), range(1, mapping["iterations"])
    assert never == {(iteration, bucket) for iteration in iterations for bucket in buckets}


@given(permutation_scenarios(policies=st.just("megatron-core-0.10"), identity=False))
def test_release_0_10_dies_in_iteration_1_of_every_order_but_the_registered_one(mapping: Mapping) -> None:
    report = run(mapping).to_dict()

    assert report["error"] == {"iteration": 1, "phase": "forward", "type": "AssertionError", "text": ""}
    assert report["summary"]["verdict"] == "error"


@given(permutation_scenarios(policies=st.just("megatron-core-0.10"), identity=False))
def test_release_0_10_gathers_twice_each_bucket_that_runs_before_the_one_in_front_of_it(mapping: Mapping) -> None:
    order = bucket_order(mapping)
    report = run(mapping)

    twice = {bucket for bucket in range(1, len(order)) if order.index(bucket) < order.index(bucket - 1)}
    assert sorted(gathers(report, 0)) == sorted([*range(len(order)), *twice])
    duplicates = [finding for finding in report.findings if finding.kind == "duplicate-gather"]
    assert {finding.bucket for finding in duplicates if finding.iteration == 0} == twice


@given(
    permutation_scenarios(
        policies=st.sampled_from(["megatron-core-0.11", "megatron-core-0.16"]), trainings=any_training
    )
)
def test_releases_from_0_11_on_are_never_stale_and_never_die_of_a_permutation(mapping: Mapping) -> None:
    report = run(mapping)

    assert report.failure is None
    assert report.verdict == "safe"
    assert report.findings == ()
    for iteration in range(1, mapping["iterations"]):
        assert sorted(gathers(report, iteration)) == list(range(len(report.workload.buckets)))


@given(permutation_scenarios(policies=st.just("megatron-core-0.11"), trainings=hooks_or_not))
def test_release_0_11_warns_once_for_each_bucket_that_runs_before_the_one_in_front_of_it(mapping: Mapping) -> None:
    order = bucket_order(mapping)
    report = run(mapping)

    backward_steps = sum(order.index(bucket) < order.index(bucket - 1) for bucket in range(1, len(order)))
    first = 0 if mapping["training"].get("hooks_in_first_iteration") else 1
    warned = [iteration for iteration, _ in report.warnings]
    assert warned == [one for one in range(first, mapping["iterations"]) for _ in range(backward_steps)]
