"""The engine agrees to the nanosecond with a second one that shares no code with it."""

from __future__ import annotations

from hypothesis import given

from tests.properties.reference import evaluate
from tests.strategies import Mapping, per_rank_scenarios, run, scenarios


def assert_same_times(mapping: Mapping) -> None:
    report = run(mapping)
    expected = evaluate(report)
    assert list(report.timeline.transfer_start_ns) == expected.starts
    assert list(report.timeline.transfer_end_ns) == expected.ends
    for found, times in zip(report.timeline.ranks, expected.ranks, strict=True):
        assert list(found.enqueued_ns) == times.enqueued_ns
        assert list(found.started_ns) == times.started_ns
        assert list(found.ended_ns) == times.ended_ns


@given(scenarios())
def test_every_time_is_the_maximum_of_what_comes_before_plus_a_cost(mapping: Mapping) -> None:
    assert_same_times(mapping)


@given(per_rank_scenarios())
def test_engines_agree_where_ranks_differ_and_where_they_hang(mapping: Mapping) -> None:
    assert_same_times(mapping)
