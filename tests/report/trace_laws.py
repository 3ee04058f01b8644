"""What holds for every trace in the trace event format, and reports to try it on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from math import inf
from typing import Any

import simgather
from simgather.report.report import Report
from tests.scenario_files import FILES
from tests.strategies import one_per_bucket, run

Event = dict[str, Any]
Slice = tuple[float, float, Event]


def nanoseconds(microseconds: float) -> int:
    """The time as the simulation had it; fails if the trace lost part of it."""
    ns = round(microseconds * 1000)
    assert ns / 1000 == microseconds
    return ns


def slices(events: Iterable[Event]) -> dict[tuple[int, int], list[Slice]]:
    """Start, end and event of every slice by track, in file order; one that did not finish ends at infinity."""
    by_track: dict[tuple[int, int], list[Slice]] = defaultdict(list)
    for event in events:
        if event["ph"] in "XB":
            start = nanoseconds(event["ts"])
            end = inf if event["ph"] == "B" else start + nanoseconds(event["dur"])
            assert end >= start
            by_track[event["pid"], event["tid"]].append((start, end, event))
    return by_track


def check_tracks(events: Iterable[Event]) -> None:
    """On each track slices stand in order of time, and of two one contains the other or ends before it."""
    for track in slices(events).values():
        open_ends: list[float] = []
        latest = -inf
        for start, end, event in track:
            assert start >= latest, event
            latest = start
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], event
            open_ends.append(end)


def check_arrows(events: list[Event]) -> dict[int, tuple[Event, Event]]:
    """Every arrow has two ends, both in a slice, the first earlier in time and in the file; both slices by arrow."""
    starts: dict[tuple[str, int], Event] = {}
    bound: dict[int, tuple[Event, Event]] = {}
    innermost: dict[tuple[int, int], Event] = {}
    for event in events:
        track = (event["pid"], event["tid"])
        if event["ph"] in "XB":
            innermost[track] = event
        elif event["ph"] in "sf":
            container = innermost[track]
            length = container.get("dur", inf)
            assert container["ts"] <= event["ts"] <= container["ts"] + length
            if 0.002 <= length < inf:
                assert container["ts"] < event["ts"] < container["ts"] + length
            key = (event["cat"], event["id"])
            if event["ph"] == "s":
                assert key not in starts
                starts[key] = {**event, "slice": container}
            else:
                assert event["bp"] == "e"
                assert starts[key]["ts"] <= event["ts"]
                bound[event["id"]] = (starts.pop(key)["slice"], container)
    assert not starts
    return bound


def hanging() -> Report:
    """Two ranks that issue buckets of different sizes at the same place."""
    mapping = one_per_bucket({"per_rank": {1: ["B", "A"]}}, policy={"name": "prefetch", "depth": 0}, modules=2)
    mapping["model"]["modules"][0]["params"]["weight"] = 5000
    return run(mapping)


def swapping() -> Report:
    """Two ranks that issue different buckets of equal size at the same place."""
    return run(one_per_bucket({"per_rank": {1: ["B", "A"]}}, policy={"name": "prefetch", "depth": 0}, modules=2))


def failing() -> Report:
    """Megatron-core 0.10 asserts in the forward pass of iteration 1."""
    return run(one_per_bucket(["A", "C", "B"], policy="megatron-core-0.10"))


def skewed(**training: Any) -> Report:
    """Ranks of different speed: the fast ones spin at collectives, and each hides a share of its own."""
    return run(
        one_per_bucket(
            ["A", "C", "B"],
            policy="all-upfront",
            gpus=3,
            iterations=3,
            gather=["4 ms", "3 ms", "7 ms"],
            compute_skew=[1, 1.5, 1.1],
            host={"launch": "5 us", "wait": "2 us", "collective": "30 us"},
            training=training,
        )
    )


REPORTS: dict[str, Callable[[], Report]] = {
    **{file.stem: lambda file=file: simgather.simulate(simgather.load(file)) for file in FILES},
    "hanging": hanging,
    "swapping": swapping,
    "failing": failing,
    "skewed": skewed,
}
"""Reports that cover every verdict, made when asked for."""
