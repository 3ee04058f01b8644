"""The trace of all ranks: well-formed for its viewers, and saying nothing but what the report says."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simgather.program.operations import Dispatch, Kernel, OptimizerKernel, Wait
from simgather.report.report import Report
from simgather.report.trace import chrome_trace
from tests.report.trace_laws import (
    REPORTS,
    Event,
    check_arrows,
    check_tracks,
    failing,
    hanging,
    nanoseconds,
    skewed,
    slices,
    swapping,
)
from tests.strategies import Mapping, one_per_bucket, per_rank_scenarios, run, scenarios

LANES = ["host", "compute stream", "NCCL stream", "findings and warnings"]


@pytest.fixture(params=REPORTS, scope="module")
def report(request: pytest.FixtureRequest) -> Report:
    return REPORTS[request.param]()


@pytest.fixture(scope="module")
def events(report: Report) -> list[Event]:
    return events_of(report)


def events_of(report: Report) -> list[Event]:
    found: list[Event] = chrome_trace(report)["traceEvents"]
    return found


def lanes(events: list[Event]) -> dict[tuple[int, int], tuple[int, str]]:
    """Rank and lane by track."""
    return {
        (event["pid"], event["tid"]): (event["pid"], event["args"]["name"])
        for event in events
        if event["name"] == "thread_name"
    }


def intervals(events: list[Event], lane: str, *categories: str) -> list[Counter[tuple[float, float]]]:
    """Start and end of a lane's slices of some categories, by rank."""
    tracks = lanes(events)
    found: dict[int, Counter[tuple[float, float]]] = {rank: Counter() for rank, _ in tracks.values()}
    for track, track_slices in slices(events).items():
        rank, name = tracks[track]
        if name == lane:
            found[rank].update((start, end) for start, end, event in track_slices if event["cat"] in categories)
    return [found[rank] for rank in sorted(found)]


def operations(report: Report, rank: int, kind: Any) -> list[tuple[Any, int | None, int | None]]:
    times = report.timeline.ranks[rank]
    rows = zip(report.timeline.program.ranks[rank].operations, times.started_ns, times.ended_ns, strict=True)
    return [row for row in rows if isinstance(row[0], kind)]


def check_everything(report: Report) -> None:
    events = events_of(report)
    check_tracks(events)
    check_arrows(events)
    check_times(report, events)


def check_times(report: Report, events: list[Event]) -> None:
    kernels = intervals(events, "compute stream", "kernel", "optimizer")
    transfers = intervals(events, "NCCL stream", "collective")
    for rank in range(report.workload.dp):
        ran = operations(report, rank, Kernel | OptimizerKernel)
        assert kernels[rank] == Counter((start, end) for _, start, end in ran if start is not None)
        finished = [report.timeline.transfer(one.sequence) for one, _, _ in operations(report, rank, Dispatch)]
        assert {one for one in transfers[rank] if one[1] != float("inf")} == {one for one in finished if one}


def test_slices_of_a_track_nest_or_are_disjoint(events: list[Event]) -> None:
    check_tracks(events)


def test_every_arrow_has_two_ends_inside_slices(events: list[Event]) -> None:
    check_arrows(events)


def test_times_are_those_of_the_timeline(report: Report, events: list[Event]) -> None:
    check_times(report, events)


def test_trace_survives_json_and_is_the_same_on_every_run(report: Report) -> None:
    trace = chrome_trace(report)
    assert json.loads(json.dumps(trace, allow_nan=False)) == trace
    assert json.dumps(chrome_trace(report)) == json.dumps(trace)


@settings(max_examples=40)
@given(st.one_of(scenarios(), per_rank_scenarios()))
def test_any_scenario_gives_a_well_formed_trace(mapping: Mapping) -> None:
    check_everything(run(mapping))


def test_each_rank_is_a_process_with_host_compute_and_nccl_in_that_order(report: Report, events: list[Event]) -> None:
    values = {
        (event["name"], event["pid"], event["tid"]): next(iter(event["args"].values()))
        for event in events
        if event["ph"] == "M"
    }
    names = {pid: value for (what, pid, _), value in values.items() if what == "process_name"}
    assert names == {rank: f"rank {rank}" for rank in range(report.workload.dp)}
    for rank in names:
        tids = [tid for what, pid, tid in values if what == "thread_name" and pid == rank]
        told = any(event["ph"] == "i" and event["pid"] == rank for event in events)
        assert [values["thread_name", rank, tid] for tid in tids] == LANES[: 4 if told else 3]
        assert [values["thread_sort_index", rank, tid] for tid in tids] == [0, 1, 2, 3][: len(tids)]
    every_tid = [tid for what, _, tid in values if what == "thread_name"]
    assert len(set(every_tid)) == len(every_tid)
    assert not set(every_tid) & set(names)


def test_every_finding_is_an_instant_on_every_rank_it_names(report: Report, events: list[Event]) -> None:
    instants = Counter((event["name"], event["pid"]) for event in events if event.get("cat") == "finding")
    everyone = range(report.workload.dp)
    expected = Counter((finding.kind, rank) for finding in report.findings for rank in finding.ranks or everyone)
    assert instants == expected


def test_warnings_of_the_framework_are_instants(report: Report, events: list[Event]) -> None:
    texts = [event["args"]["message"] for event in events if event.get("cat") == "warning" and event["pid"] == 0]
    assert texts == [text for _, text in report.warnings]


def test_instants_of_stale_reads_stand_at_the_start_of_the_read() -> None:
    report = REPORTS["a-c-b"]()
    at = {
        (event["pid"], nanoseconds(event["ts"]))
        for event in events_of(report)
        if event["name"] in ("undispatched-read", "unordered-read")
    }
    bad = [read for read in report.reads if read.order in ("undispatched", "unordered")]
    assert at == {(rank, start_ns) for read in bad for rank, start_ns in enumerate(read.start_ns)}


def test_kernels_tell_what_they_saw() -> None:
    (stale,) = [
        event
        for event in events_of(REPORTS["a-c-b"]())
        if event["name"] == "forward C (stale)" and event["pid"] == 1 and event["args"]["iteration"] == 2
    ]
    assert stale["cname"] == "terrible"
    assert {key: value for key, value in stale["args"].items() if key != "enqueued_ns"} == {
        "module": "C",
        "phase": "forward",
        "iteration": 2,
        "microbatch": 0,
        "buckets": [2],
        "order": "undispatched",
        "state": "stale",
        "fresh_share": pytest.approx(0.25, abs=1e-6),
        "age": 1,
    }


def test_arrows_lead_from_dispatch_to_collective_and_on_to_the_kernel_that_waited() -> None:
    arrows = check_arrows(events_of(REPORTS["a-c-b-fixed"]()))
    names = Counter((one["name"], other["name"]) for one, other in arrows.values() if one["pid"] == 0)
    for bucket, module in enumerate("ABC"):
        gather = f"all-gather {bucket}"
        assert names[f"dispatch {gather}", gather] == 2
        assert names[gather, f"forward {module}"] == 2
        assert names[f"reduce-scatter {bucket}", "optimizer"] == 3


def test_calls_that_take_no_time_are_one_slice() -> None:
    (first, *_) = [
        event for event in events_of(run(one_per_bucket(policy="all-upfront"))) if event.get("cat") == "host"
    ]
    assert (first["name"], first["ts"], first["dur"]) == ("13 calls at once", 0.0, 0.0)
    assert first["args"]["calls"][:4] == [
        "launch forward A",
        "launch forward B",
        "launch forward C",
        "launch backward C",
    ]


def test_rendezvous_stands_before_the_transfer_of_ranks_that_come_early() -> None:
    report = skewed()
    spins = intervals(events_of(report), "NCCL stream", "rendezvous")
    for rank, by_rank in enumerate(spins):
        collectives = operations(report, rank, Dispatch)
        starts = [report.timeline.transfer_start_ns[one.sequence] for one, _, _ in collectives]
        waits = zip(collectives, starts, strict=True)
        assert by_rank == Counter((ready, start) for (_, ready, _), start in waits if ready != start)
    assert spins[0]
    arrows = check_arrows(events_of(report))
    assert any(other["name"] == "rendezvous" for _, other in arrows.values())


def test_waits_that_take_time_are_slices_on_the_compute_stream() -> None:
    report = skewed()
    waits = intervals(events_of(report), "compute stream", "wait")
    for rank, by_rank in enumerate(waits):
        expected = Counter((start, end) for _, start, end in operations(report, rank, Wait) if start != end)
        assert by_rank == expected
        assert expected


def test_iterations_carry_their_measures() -> None:
    report = skewed()
    iterations = [event for event in events_of(report) if event.get("cat") == "iteration"]
    assert len(iterations) == 9
    for event in iterations:
        (row,) = [
            one for one in report.measures if (one.rank, one.iteration) == (event["pid"], event["args"]["iteration"])
        ]
        assert event["args"]["forward_ns"] == row.forward_ns
        assert event["args"].get("overlap_efficiency") == row.overlap_efficiency


def test_hang_leaves_slices_that_never_finish() -> None:
    report = hanging()
    assert report.verdict == "hang"
    events = events_of(report)
    unfinished = {(event["pid"], event["name"]) for event in events if event["ph"] == "B"}
    for rank in (0, 1):
        assert (rank, "iteration 0 (hangs)") in unfinished
        assert (rank, "host sync (hangs)") in unfinished
        assert any(name.endswith("(never meets)") for where, name in unfinished if where == rank)
        assert any(name.startswith("wait for") for where, name in unfinished if where == rank)
    assert not any(event["ph"] == "E" for event in events)
    calls = [name for event in events for name in event.get("args", {}).get("calls", [event["name"]])]
    assert "dispatch reduce-scatter 0 (never runs)" in calls
    for event in events:
        if event["name"] == "collective-mismatch":
            assert event["s"] == "p"
            assert nanoseconds(event["ts"]) == max(
                start for one, start, _ in operations(report, event["pid"], Dispatch) if start is not None
            )


def test_exception_ends_the_trace_where_it_is_raised() -> None:
    report = failing()
    assert report.verdict == "error"
    events = events_of(report)
    (cut,) = [
        event for event in events if event["name"] == "iteration 1 (stopped by an exception)" if event["pid"] == 0
    ]
    (error,) = [event for event in events if event["name"] == "framework-error" and event["pid"] == 0]
    assert nanoseconds(error["ts"]) == nanoseconds(cut["ts"]) + nanoseconds(cut["dur"])
    assert "AssertionError" in error["args"]["message"]
    assert not any(event["ph"] == "B" for event in events)


def test_swapped_collectives_name_every_ranks_bucket() -> None:
    events = events_of(swapping())
    gathers = [event for event in events if event["name"].startswith("all-gather")]
    assert {tuple(event["args"]["buckets_by_rank"]) for event in gathers} == {(0, 1), (1, 0)}
    assert {event["name"] for event in gathers if event["pid"] == 1} == {"all-gather 0", "all-gather 1"}


def test_no_module_name_breaks_the_trace() -> None:
    mapping = one_per_bucket(modules=2)
    mapping["model"]["modules"][0]["name"] = 'a "quoted" ünïcode\\name'
    assert 'forward a "quoted" ünïcode\\name' in {event["name"] for event in events_of(run(mapping))}
