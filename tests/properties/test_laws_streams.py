"""Streams, hosts and collectives keep the rules of the machine on every Timeline."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from simgather.program.operations import Dispatch, HostSync, Kernel, OptimizerKernel, Wait
from tests.strategies import Mapping, per_rank_scenarios, run, scenarios

anything = st.one_of(scenarios(), per_rank_scenarios())

Row = tuple[object, int, int | None, int | None]
"""An operation that was enqueued, with its three times."""


def rows_by_rank(mapping: Mapping) -> list[list[Row]]:
    timeline = run(mapping).timeline
    return [
        [
            (operation, enqueued, started, ended)
            for operation, enqueued, started, ended in zip(
                program.operations, times.enqueued_ns, times.started_ns, times.ended_ns, strict=True
            )
            if enqueued is not None
        ]
        for program, times in zip(timeline.program.ranks, timeline.ranks, strict=True)
    ]


@given(anything)
def test_items_of_one_stream_run_one_after_the_other_in_host_order(mapping: Mapping) -> None:
    for rows in rows_by_rank(mapping):
        for stream in ((Kernel, OptimizerKernel, Wait), (Dispatch,)):
            ran = [(started, ended) for item, _, started, ended in rows if isinstance(item, stream)]
            for (started, ended), (after, _) in pairwise(ran):
                assert after is None or (started is not None and ended is not None and started <= ended <= after)


@given(anything)
def test_nothing_starts_before_it_is_enqueued_and_hosts_enqueue_in_order(mapping: Mapping) -> None:
    for rows in rows_by_rank(mapping):
        enqueued = [row[1] for row in rows]
        assert enqueued == sorted(enqueued)
        assert all(started is None or started >= enqueued for _, enqueued, started, _ in rows)


@given(anything)
def test_no_kernel_starts_before_what_its_stream_waits_for_has_ended(mapping: Mapping) -> None:
    report = run(mapping)
    for program, times in zip(report.timeline.program.ranks, report.timeline.ranks, strict=True):
        waited: list[int] = []
        for index, operation in enumerate(program.operations):
            started = times.started_ns[index]
            if isinstance(operation, Wait):
                waited.append(operation.sequence)
            elif isinstance(operation, Kernel | OptimizerKernel) and started is not None:
                for sequence in waited:
                    transfer = report.timeline.transfer(sequence)
                    assert transfer is not None
                    assert transfer[1] <= started


@given(anything)
def test_a_rank_is_ready_for_a_collective_once_all_it_enqueued_on_compute_before_is_done(mapping: Mapping) -> None:
    for rows in rows_by_rank(mapping):
        done: int | None = 0
        for item, _, started, ended in rows:
            if isinstance(item, Kernel | OptimizerKernel | Wait):
                done = ended
            elif isinstance(item, Dispatch):
                assert started is None or (done is not None and started >= done)


@given(anything)
def test_collectives_run_one_after_the_other_and_start_when_the_last_rank_is_ready(mapping: Mapping) -> None:
    timeline = run(mapping).timeline
    ready: dict[int, list[int | None]] = {}
    for program, times in zip(timeline.program.ranks, timeline.ranks, strict=True):
        for item, started, ended in zip(program.operations, times.started_ns, times.ended_ns, strict=True):
            if isinstance(item, Dispatch):
                ready.setdefault(item.sequence, []).append(started)
                assert ended == (timeline.transfer(item.sequence) or (None, None))[1]
    starts, ends = timeline.transfer_start_ns, timeline.transfer_end_ns
    for item in timeline.matching.collectives:
        start = starts[item.sequence]
        arrivals = ready[item.sequence]
        # The rendezvous of every rank, start - arrival, is never negative, and of the last rank it is zero.
        assert start == (None if None in arrivals else max(one for one in arrivals if one is not None))
    for end, start in zip(ends, starts[1:], strict=False):
        assert start is None or (end is not None and end <= start)


@given(scenarios())
def test_the_host_syncs_with_all_compute_once_per_iteration(mapping: Mapping) -> None:
    for rows in rows_by_rank(mapping):
        done = 0
        for item, enqueued, _, ended in rows:
            if isinstance(item, Kernel | OptimizerKernel | Wait):
                done = ended or 0
            elif isinstance(item, HostSync):
                assert ended == max(enqueued, done)
        syncs = [item.iteration for item, *_ in rows if isinstance(item, HostSync)]
        assert syncs == list(range(len(syncs)))


@given(st.one_of(scenarios(connections=st.just(1)), per_rank_scenarios(connections=st.just(1))))
def test_on_one_connection_an_item_starts_only_after_the_item_before_it_on_any_stream(mapping: Mapping) -> None:
    for rows in rows_by_rank(mapping):
        begun: list[int | None] = []
        for item, _, started, ended in rows:
            if isinstance(item, Kernel | OptimizerKernel | Dispatch):
                begun.append(started)
            elif isinstance(item, Wait):
                # A wait starts when its event has happened, and it takes no time.
                begun.append(ended)
        happened = [one for one in begun if one is not None]
        assert happened == sorted(happened)
        assert begun[: len(happened)] == happened


@given(scenarios())
def test_host_calls_take_what_they_cost_and_marks_nothing(mapping: Mapping) -> None:
    host = run(mapping).scenario.cluster.host
    cost = {Kernel: host.launch_ns, OptimizerKernel: host.launch_ns, Dispatch: host.collective_ns, Wait: host.wait_ns}
    for rows in rows_by_rank(mapping):
        clock = 0
        for item, enqueued, _, ended in rows:
            clock += cost.get(type(item), 0)
            assert enqueued == clock
            if isinstance(item, HostSync):
                clock = ended or clock
