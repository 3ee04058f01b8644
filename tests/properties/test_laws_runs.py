"""Whatever is asked: an answer, the same one every time, as JSON, and not dependent on names."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import Mapping, per_rank_scenarios, run, scenarios

anything = st.one_of(scenarios(), per_rank_scenarios())


def as_json(mapping: Mapping) -> str:
    return json.dumps(run(mapping).to_dict(), allow_nan=False)


@given(anything)
def test_any_valid_scenario_gets_a_verdict_and_reaches_its_end_or_says_why_not(mapping: Mapping) -> None:
    report = run(mapping)

    hangs = report.timeline.matching.mismatch is not None
    ended = {None not in rank.enqueued_ns for rank in report.timeline.ranks}
    assert hangs == (report.verdict == "hang") or report.verdict == "error"
    assert hangs or ended == {True}
    optimizers = [row for row in report.measures if row.rank == 0]
    assert hangs or report.failure or len(optimizers) == mapping["iterations"]


@given(anything)
def test_a_second_run_gives_the_same_json_to_the_bit(mapping: Mapping) -> None:
    assert as_json(mapping) == as_json(mapping)


@given(anything)
def test_renaming_modules_changes_nothing_but_names(mapping: Mapping) -> None:
    text = json.dumps(mapping["model"]), json.dumps(mapping.get("forward")), json.dumps(mapping["buckets"])
    model, forward, buckets = (json.loads(renamed(part)) for part in text)
    other = {**mapping, "model": model, "buckets": buckets}
    if forward is not None:
        other["forward"] = by_rank_number(forward)

    assert as_json(other) == renamed(as_json(mapping))


def renamed(text: str) -> str:
    """Modules are called m-0, m-1, ...: other names, in another alphabetical order."""
    for index in range(6):
        text = text.replace(f"m-{index}", f"x{9 - index}")
    return text


def by_rank_number(forward: Any) -> Any:
    """JSON has made text of the ranks."""
    if isinstance(forward, dict):
        return {"per_rank": {int(rank): orders for rank, orders in forward["per_rank"].items()}}
    return forward
