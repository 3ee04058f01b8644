"""The measures add up, and no schedule beats the bound."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from simgather.program.operations import Dispatch, Kernel, Mark, OptimizerKernel
from simgather.report.report import Report
from simgather.verdict.measures import Measures
from tests.strategies import Mapping, per_rank_scenarios, run, scenarios

anything = st.one_of(scenarios(), per_rank_scenarios())
one_microbatch = st.fixed_dictionaries({}, optional={"optimizer": st.just("50 ns"), "gradient_sync": st.booleans()})
forward_only = st.fixed_dictionaries({"backward": st.just(False), "microbatches": st.integers(1, 3)})


@given(anything)
def test_no_schedule_without_stale_reads_beats_the_lower_bound(mapping: Mapping) -> None:
    report = run(mapping)
    stale = {read.iteration for read in report.stale_reads}
    for row in report.measures:
        if row.iteration not in stale and row.forward_ns is not None:
            assert row.lower_bound_ns is not None
            assert row.compute_ns is not None
            assert row.forward_ns >= row.lower_bound_ns >= row.compute_ns
            assert row.schedule_efficiency is None or 0 <= row.schedule_efficiency <= 1


@given(st.one_of(scenarios(trainings=one_microbatch), scenarios(trainings=forward_only)))
def test_forward_is_compute_plus_exposed_plus_host_bound(mapping: Mapping) -> None:
    for row in run(mapping).measures:
        if row.forward_ns is not None:
            assert row.forward_ns == (row.compute_ns or 0) + (row.exposed_ns or 0) + (row.host_bound_ns or 0)


@given(anything)
def test_with_backward_kernels_in_the_window_forward_is_the_same_sum_plus_their_part(mapping: Mapping) -> None:
    report = run(mapping)
    for row in report.measures:
        if row.forward_ns is not None:
            kernels = list(window(report, row))
            assert row.forward_ns == sum(ended - free for _, free, _, _, ended in kernels)
            forward = [item[1:] for item in kernels if item[0].in_forward_pass]
            assert row.compute_ns == sum(ended - started for _, _, started, ended in forward)
            assert row.exposed_ns == sum(started - max(enqueued, free) for free, enqueued, started, _ in forward)
            assert row.host_bound_ns == sum(max(0, enqueued - free) for free, enqueued, _, _ in forward)


def window(report: Report, row: Measures) -> Iterator[tuple[Kernel, int, int, int, int]]:
    """Kernels up to the last forward one: when the stream was free, then enqueue, start and end."""
    times = report.timeline.ranks[row.rank]
    operations = report.timeline.program.ranks[row.rank].operations
    first = operations.index(Mark(row.iteration, "iteration", row.iteration))
    before = [times.ended_ns[index] or 0 for index in range(first)
              if isinstance(operations[index], Kernel | OptimizerKernel)]  # fmt: skip
    free = max([times.enqueued_ns[first] or 0, *before])
    passes = [index for index, item in enumerate(operations)
              if isinstance(item, Kernel) and item.in_forward_pass and item.iteration == row.iteration]  # fmt: skip
    for index in range(first, passes[-1] + 1):
        item = operations[index]
        if isinstance(item, Kernel):
            enqueued, started, ended = times.enqueued_ns[index], times.started_ns[index], times.ended_ns[index]
            assert enqueued is not None
            assert started is not None
            assert ended is not None
            yield item, free, enqueued, started, ended
            free = ended


@given(anything)
def test_overlapped_time_is_what_both_streams_share_nanosecond_by_nanosecond(mapping: Mapping) -> None:
    report = run(mapping)
    for row in report.measures:
        program, times = report.timeline.program.ranks[row.rank], report.timeline.ranks[row.rank]
        kernels = [
            (start, end)
            for item, start, end in zip(program.operations, times.started_ns, times.ended_ns, strict=True)
            if isinstance(item, Kernel | OptimizerKernel) and start is not None and end is not None
        ]
        own = [
            item.sequence
            for item in program.operations
            if isinstance(item, Dispatch) and item.collective == "all-gather" and item.iteration == row.iteration
        ]
        transfers = [transfer for sequence in own if (transfer := report.timeline.transfer(sequence)) is not None]
        shared = sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in transfers for start, end in kernels)
        assert row.gather_ns == sum(end - start for start, end in transfers)
        assert row.overlapped_ns == shared <= row.gather_ns
        assert row.rendezvous_ns >= 0
        assert (row.overlap_efficiency is None) == (row.gather_ns == 0)


@given(scenarios(policies=st.just("synchronous")))
def test_synchronous_overlaps_nothing(mapping: Mapping) -> None:
    for row in run(mapping).measures:
        assert row.overlapped_ns == 0
        assert row.overlap_efficiency in (0.0, None)


@given(scenarios(skew=False))
def test_without_skew_no_rank_spins(mapping: Mapping) -> None:
    assert {row.rendezvous_ns for row in run(mapping).measures} == {0}


@given(anything)
def test_before_the_first_optimizer_step_the_bound_is_the_compute_alone(mapping: Mapping) -> None:
    if mapping["training"].get("microbatches", 1) == 1:
        for row in run(mapping).measures:
            assert row.iteration > 0 or row.lower_bound_ns == row.compute_ns
