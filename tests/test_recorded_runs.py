"""The simulator says what the real Megatron-core did, run by run. Provenance: tests/data/README.md."""

from __future__ import annotations

from typing import Any

import pytest

import simgather
from tests.recorded import POLICIES, rows, scenario_of

PHASES = {"fwd": "forward", "bwd": "backward", "functional": "functional", "bwd_functional": "backward_functional"}
CASES = [pytest.param(row, id=f"{row['policy']}/{row['id']}") for policy in POLICIES for row in rows(policy)]


@pytest.mark.parametrize("row", CASES)
def test_run_is_reproduced(row: dict[str, Any]) -> None:
    report = simgather.simulate(simgather.load(scenario_of(row))).to_dict()

    assert [
        [int(param["name"].split(".")[0]) for param in reversed(bucket["params"])] for bucket in report["buckets"]
    ] == row["buckets"]
    assert [[bucket["start"], bucket["end"]] for bucket in report["buckets"]] == row["bucket_ranges"]
    assert [[iteration, event, number(argument)] for iteration, event, argument in report["events"]] == row["trace"]
    assert report["error"] == row["exception"]
    assert len(report["warnings"]) == sum(event == "warning" for _, event, _ in row["trace"])
    assert_same_reads(report["reads"], [read for read in row["not_ordered_reads"] if not is_ordered_by_fifo(read, row)])


def is_ordered_by_fifo(read: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether a later all-gather than that of the read's bucket was waited for before the read.

    The recording applies this rule (the NCCL stream is first in, first out) to forward reads, but files backward reads
    behind an all-gather that was not itself waited for as unordered. Happens-before knows no such exception.
    """
    if read["phase"] not in ("bwd", "bwd_functional"):
        return False
    event = "backward" if read["phase"] == "bwd" else "backward_functional"
    events = [(name, argument) for iteration, name, argument in row["trace"] if iteration == read["iteration"]]
    end = [*events, ("microbatch", read["microbatch"] + 1)].index(("microbatch", read["microbatch"] + 1))
    before = events[: end - 1 - events[:end][::-1].index((event, read["module"]))]
    gathers = [bucket for name, bucket in before if name == "dispatch"]
    waited = [bucket for name, bucket in before if name == "wait"]
    return read["bucket"] in gathers and any(
        bucket in waited for bucket in gathers[gathers.index(read["bucket"]) + 1 :]
    )


def number(argument: Any) -> Any:
    """Module names are the recorded ids."""
    return int(argument) if isinstance(argument, str) and argument.isdigit() else argument


def assert_same_reads(reads: list[dict[str, Any]], recorded: list[dict[str, Any]]) -> None:
    """After iteration 0, exactly the recorded reads are not ordered, in the recorded order and with the same data."""
    found = [read for read in reads if read["order"] in ("unordered", "undispatched")]
    expected = [read for read in recorded if read["iteration"] > 0]
    assert [key(read) for read in found] == [
        (
            read["iteration"],
            read["microbatch"],
            str(read["module"]),
            read["bucket"],
            PHASES[read["phase"]],
            read["order"],
        )
        for read in expected
    ]
    for read, other in zip(found, expected, strict=True):
        if read["order"] == "undispatched":
            assert read["fresh_elements"] == other["own_elements"]
            assert read["age"] == other["age"]
            shares = [fresh / read["elements"] for fresh in read["fresh_elements"]]
            assert shares == pytest.approx(other["fresh_fraction"], abs=1e-6)
        else:
            assert all(
                read["fresh_elements"][rank] in (own, read["elements"])
                for rank, own in enumerate(other["own_elements"])
            )
    assert all(read["order"] == "initial" for read in reads if read["iteration"] == 0)
    for read in reads:
        if read["order"] == "ordered":
            assert set(read["state"]) == {"fresh"}


def key(read: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(read[name] for name in ("iteration", "microbatch", "module", "bucket", "phase", "order"))
