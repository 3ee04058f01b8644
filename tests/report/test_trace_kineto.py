"""The trace of one rank: everything that readers of PyTorch profiler files rely on."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simgather.program.operations import Dispatch
from simgather.report.report import Report
from simgather.report.trace import kineto_trace
from simgather.report.trace.kineto import make_kineto_trace
from simgather.report.trace.writing import text_lines
from tests.report.trace_laws import REPORTS, Event, check_arrows, check_tracks, hanging, nanoseconds, skewed
from tests.strategies import Mapping, one_per_bucket, per_rank_scenarios, run, scenarios

# What Holistic Trace Analysis takes for communication, and for something else than computation.
COMMUNICATION = re.compile(r"^nccl.*Kernel")
NOT_COMPUTATION = re.compile(r"(^nccl.*Kernel)|(.*(Memcpy)|(Memset))|(.*Sync)|(^dma)")


@pytest.fixture(params=REPORTS, scope="module")
def report(request: pytest.FixtureRequest) -> Report:
    return REPORTS[request.param]()


def events_of(report: Report, rank: int, **options: Any) -> list[Event]:
    found: list[Event] = kineto_trace(report, rank, **options)["traceEvents"]
    return found


def kernels(events: list[Event]) -> list[Event]:
    return [event for event in events if event.get("cat") == "kernel"]


def collectives(events: list[Event]) -> list[Event]:
    return [event for event in kernels(events) if "Collective name" in event["args"]]


def end_ns(event: Event) -> int:
    return nanoseconds(event["ts"]) + nanoseconds(event["dur"])


def check_everything(report: Report, rank: int) -> None:
    events = events_of(report, rank)
    check_tracks(events)
    check_arrows(events)
    check_kernels(events)
    check_steps(report, rank, events)


def check_kernels(events: list[Event]) -> None:
    calls = {event["args"]["correlation"]: event for event in events if event["name"] == "cudaLaunchKernel"}
    found = kernels(events)
    assert len({event["args"]["correlation"] for event in found}) == len(found)
    for event in found:
        call = calls[event["args"]["correlation"]]
        assert end_ns(call) <= nanoseconds(event["ts"])
        assert event["tid"] == event["args"]["stream"] > 0
        assert event["pid"] == event["args"]["device"] != call["pid"]
        is_collective = "Collective name" in event["args"]
        assert bool(COMMUNICATION.match(event["name"])) == is_collective
        assert bool(NOT_COMPUTATION.match(event["name"])) == is_collective
    assert all(event["ph"] in "XMsf" for event in events)


def check_steps(report: Report, rank: int, events: list[Event]) -> None:
    steps = [event for event in events if event["name"].startswith("ProfilerStep#")]
    begun = [row.iteration for row in report.measures if row.rank == rank]
    assert [event["name"] for event in steps] == [f"ProfilerStep#{number}" for number in [*begun, len(begun)]]
    *inner, closing = steps
    for event in events:
        if event.get("cat") in ("cuda_runtime", "cpu_op"):
            assert any(step["ts"] <= event["ts"] and end_ns(event) <= end_ns(step) for step in inner)
            assert event["ts"] < closing["ts"]


@pytest.mark.parametrize("rank", [0, 1])
def test_every_rank_has_a_well_formed_trace(report: Report, rank: int) -> None:
    check_everything(report, rank)


@settings(max_examples=40)
@given(st.one_of(scenarios(), per_rank_scenarios()))
def test_any_scenario_gives_a_well_formed_trace(mapping: Mapping) -> None:
    report = run(mapping)
    for rank in range(report.workload.dp):
        check_everything(report, rank)


def test_collectives_are_transfers_and_say_how_long_the_rank_spun(report: Report) -> None:
    for rank in range(report.workload.dp):
        gathers = [one for one in collectives(events_of(report, rank)) if "AllGather" in one["name"]]
        rows = [row for row in report.measures if row.rank == rank]
        assert sum(nanoseconds(event["dur"]) for event in gathers) == sum(row.gather_ns for row in rows)
        assert sum(event["args"]["rendezvous_ns"] for event in gathers) == sum(row.rendezvous_ns for row in rows)


def test_spin_makes_a_collective_begin_when_its_rank_arrives() -> None:
    report = skewed()
    moved = collectives(events_of(report, 0))
    spun = collectives(events_of(report, 0, spin=True))
    assert [end_ns(event) for event in moved] == [end_ns(event) for event in spun]
    for one, other in zip(moved, spun, strict=True):
        longer = nanoseconds(other["dur"]) - nanoseconds(one["dur"])
        assert longer == other["args"]["rendezvous_ns"] == one["args"]["rendezvous_ns"]
    assert any(event["args"]["rendezvous_ns"] for event in moved)
    check_tracks(events_of(report, 0, spin=True))


def test_collectives_have_the_arguments_that_kineto_writes() -> None:
    report = skewed()
    gather = next(event for event in collectives(events_of(report, 2)) if "AllGather" in event["name"])
    numel = report.workload.buckets[0].numel
    assert gather["name"] == "ncclDevKernel_AllGather_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
    assert (
        gather["args"].items()
        >= {
            "Collective name": "_allgather_base",
            "In msg nelems": numel // 3,
            "Out msg nelems": numel,
            "Group size": 3,
            "dtype": "BFloat16",
            "Process Group Name": "0",
            "Process Group Ranks": "[0, 1, 2]",
            "Rank": 2,
        }.items()
    )
    scatter = next(event for event in collectives(events_of(report, 2)) if "ReduceScatter" in event["name"])
    assert scatter["name"].startswith("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(")
    assert scatter["args"]["In msg nelems"] == scatter["args"]["Out msg nelems"] * 3


@pytest.mark.parametrize(("dtype", "name"), [("fp32", "Float"), ("fp16", "Half"), ("fp8", "Float8_e4m3fn")])
def test_element_type_is_the_scenarios(dtype: str, name: str) -> None:
    mapping = one_per_bucket(modules=1)
    mapping["model"]["dtype"] = dtype
    assert {event["args"]["dtype"] for event in collectives(events_of(run(mapping), 0))} == {name}


def test_a_module_is_computation_whatever_its_name() -> None:
    mapping = one_per_bucket(modules=6)
    names = ["SyncBatchNorm", "Memcpy", "Memset", "ncclKernel", "dma", "a(b<c"]
    for module, name in zip(mapping["model"]["modules"], names, strict=True):
        module["name"] = name
    events = events_of(run(mapping), 0)
    check_kernels(events)
    assert len(kernels(events)) - len(collectives(events)) == 2 * (6 + 6 + 1)


def test_file_names_its_rank_before_any_event_in_a_way_readers_find(report: Report) -> None:
    for rank in range(report.workload.dp):
        text = "".join(text_lines(make_kineto_trace(report, rank)))
        found = re.search(r'"rank":\s+(\d+)', text)
        assert found is not None
        assert int(found[1]) == rank
        assert found.start() < text.index("traceEvents")


def test_many_ranks_are_listed_in_short() -> None:
    report = run(one_per_bucket(modules=1, gpus=64))
    ranks = collectives(events_of(report, 63))[0]["args"]["Process Group Ranks"]
    assert ranks.startswith("[0, 1, 2, ")
    assert ranks.endswith(", 62, 63]")
    assert ", ..., " in ranks


def test_what_a_hang_left_undone_has_a_call_but_no_kernel() -> None:
    report = hanging()
    for rank in (0, 1):
        events = events_of(report, rank)
        calls = Counter(event["name"] for event in events)
        assert calls["cudaLaunchKernel"] > len(kernels(events))
        dispatched = sum(isinstance(one, Dispatch) for one in report.timeline.program.ranks[rank].operations)
        assert len(collectives(events)) < dispatched
        (sync,) = [event for event in events if event["name"] == "cudaStreamSynchronize"]
        assert sync["args"]["finished"] == "false"
