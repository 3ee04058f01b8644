"""What a faster or larger machine changes, and what it cannot."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simgather.report.report import Report
from tests.strategies import Mapping, per_rank_scenarios, run, scenarios

anything = st.one_of(scenarios(), per_rank_scenarios())


def all_times(report: Report) -> list[tuple[int | None, ...]]:
    """Every time of the Timeline, always in the same order for the same program."""
    timeline = report.timeline
    ranks = [column for rank in timeline.ranks for column in (rank.enqueued_ns, rank.started_ns, rank.ended_ns)]
    return [*ranks, timeline.transfer_start_ns, timeline.transfer_end_ns]


def assert_never_later(faster: Mapping, slower: Mapping) -> None:
    for early, late in zip(all_times(run(faster)), all_times(run(slower)), strict=True):
        for one, other in zip(early, late, strict=True):
            # After a hang, what happens never is later than what happens.
            assert other is None or (one is not None and one <= other)


def with_cluster(mapping: Mapping, **changes: Any) -> Mapping:
    return {**mapping, "cluster": {**mapping["cluster"], **changes}}


@given(anything, st.integers(1, 100))
def test_faster_collectives_make_no_event_later(mapping: Mapping, factor: int) -> None:
    faster = copy.deepcopy(mapping)
    for name in ("gather", "reduce_scatter"):
        cost = faster["cluster"].get(name, {})
        if "times" in cost:
            cost["times"] = [f"{nanoseconds(time) // factor} ns" for time in cost["times"]]
        elif cost:
            cost["bus_bandwidth"] = f"{factor * int(cost['bus_bandwidth'].split()[0])} MB/s"
    assert_never_later(faster, mapping)


@given(anything)
def test_a_host_that_takes_no_time_makes_no_event_later(mapping: Mapping) -> None:
    assert_never_later(with_cluster(mapping, host={}), mapping)


@given(anything)
def test_more_connections_make_no_event_later(mapping: Mapping) -> None:
    assert_never_later(with_cluster(mapping, connections=8), with_cluster(mapping, connections=1))


@given(anything)
def test_from_two_connections_on_their_number_does_not_matter(mapping: Mapping) -> None:
    assert all_times(run(with_cluster(mapping, connections=2))) == all_times(run(with_cluster(mapping, connections=32)))


@given(st.one_of(scenarios(skew=False), per_rank_scenarios(skew=False)))
def test_a_skew_of_one_is_no_skew(mapping: Mapping) -> None:
    skewed = with_cluster(mapping, compute_skew=[1] * mapping["cluster"]["gpus"])
    assert run(skewed).to_dict() == run(mapping).to_dict()


@given(scenarios(skew=False, gpus=st.integers(1, 5)))
def test_another_rank_changes_no_order_of_events(mapping: Mapping) -> None:
    larger = with_cluster(mapping, gpus=mapping["cluster"]["gpus"] + 1)
    one, other = run(mapping).to_dict(), run(larger).to_dict()
    assert one["events"] == other["events"]
    assert [gather["bucket"] for gather in one["gathers"]] == [gather["bucket"] for gather in other["gathers"]]


@given(scenarios(skew=False, gpus=st.integers(1, 5), fixed_times=True))
def test_another_rank_like_the_others_changes_no_time_where_collectives_keep_theirs(mapping: Mapping) -> None:
    larger = with_cluster(mapping, gpus=mapping["cluster"]["gpus"] + 1)
    one, other = run(mapping).timeline, run(larger).timeline
    if "times" in mapping["cluster"]["gather"] and "bus_bandwidth" not in mapping["cluster"].get("reduce_scatter", {}):
        assert other.ranks == (one.ranks[0],) * len(other.ranks)
        assert other.transfer_end_ns == one.transfer_end_ns


@given(
    st.one_of(
        scenarios(host=False, skew=False, fixed_times=True),
        per_rank_scenarios(host=False, skew=False, fixed_times=True),
    ),
    st.integers(2, 1000),
    st.booleans(),
)
def test_a_factor_on_all_durations_is_a_factor_on_all_times(mapping: Mapping, factor: int, skewed: bool) -> None:
    if skewed:
        gpus = mapping["cluster"]["gpus"]
        mapping = with_cluster(mapping, compute_skew=[1 + rank % 3 for rank in range(gpus)])
    expected = [[None if time is None else factor * time for time in column] for column in all_times(run(mapping))]
    assert [list(column) for column in all_times(run(scaled(mapping, factor)))] == expected


def nanoseconds(time: str) -> int:
    return int(time.removesuffix(" ns"))


def scaled(value: Any, factor: int) -> Any:
    """The scenario with every duration multiplied; they are all written as whole nanoseconds."""
    if isinstance(value, dict):
        return {key: scaled(part, factor) for key, part in value.items()}
    if isinstance(value, list):
        return [scaled(part, factor) for part in value]
    return f"{factor * nanoseconds(value)} ns" if isinstance(value, str) and value.endswith(" ns") else value
