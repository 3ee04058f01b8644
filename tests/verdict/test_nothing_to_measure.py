"""Measures are None, never 0/0, where there is nothing to measure."""

from __future__ import annotations

from simgather.report.report import Report
from simgather.verdict.measures import Measures
from tests.strategies import one_per_bucket, run


def rows(report: Report, iteration: int) -> list[Measures]:
    return [row for row in report.measures if row.iteration == iteration]


def test_iteration_0_gathers_nothing_so_nothing_is_overlapped() -> None:
    for row in rows(run(one_per_bucket("ABC")), 0):
        assert (row.gather_ns, row.overlapped_ns, row.overlap_efficiency) == (0, 0, None)
        assert row.lower_bound_ns == row.forward_ns == 15_000_000
        assert row.schedule_efficiency == 1


def test_gathers_in_iteration_0_are_measured_but_not_needed() -> None:
    for row in rows(run(one_per_bucket("ABC", training={"hooks_in_first_iteration": True})), 0):
        assert row.gather_ns == 12_000_000
        assert row.overlap_efficiency == 8 / 12
        assert row.lower_bound_ns == 15_000_000
        assert row.forward_ns == 19_000_000


def test_a_forward_pass_that_dies_on_the_way_has_no_time() -> None:
    report = run(one_per_bucket("ACB", policy="megatron-core-0.10"))
    for row in rows(report, 1):
        assert (row.forward_ns, row.compute_ns, row.exposed_ns, row.host_bound_ns) == (None, None, None, None)
        assert (row.lower_bound_ns, row.schedule_efficiency) == (None, None)
    steady = report.to_dict()["summary"]["steady_iteration"]
    assert steady["iteration"] == 0


def test_a_forward_pass_that_is_whole_when_backward_dies_has_its_time() -> None:
    report = run(one_per_bucket("AC", iterations=1))
    assert report.failure is not None
    assert [row.forward_ns for row in rows(report, 0)] == [10_000_000] * 2


def test_a_job_that_never_gets_through_a_forward_pass_has_no_steady_iteration() -> None:
    mapping = one_per_bucket(
        {"per_rank": {1: ["B", "A"]}}, modules=2, policy="prefetch", training={"hooks_in_first_iteration": True}
    )
    mapping["model"]["modules"][1]["params"]["weight"] = 2000
    report = run(mapping)

    assert report.verdict == "hang"
    assert report.steady is None
    assert report.to_dict()["summary"]["steady_iteration"] is None


def test_gathers_and_modules_that_take_no_time_have_no_efficiency() -> None:
    for row in rows(run(one_per_bucket("ABC", policy="synchronous", gather="0 ns", forward="0 ns")), 1):
        assert (row.gather_ns, row.overlap_efficiency) == (0, None)
        assert (row.forward_ns, row.schedule_efficiency) == (0, None)


def test_a_single_rank_needs_no_all_gather_to_be_as_fast_as_possible() -> None:
    (row,) = rows(run(one_per_bucket("ABC", gpus=1, policy="synchronous")), 1)
    assert row.lower_bound_ns == row.compute_ns == 15_000_000


def test_a_model_without_trainable_parameters_has_no_buckets_and_computes() -> None:
    mapping = one_per_bucket("ABC", gather=["4 ms"])
    mapping["cluster"]["gather"] = {"latency": "1 us", "bus_bandwidth": "1 GB/s"}
    for module in mapping["model"]["modules"]:
        module["frozen"] = True
    report = run(mapping)

    assert report.workload.buckets == ()
    assert (report.reads, report.findings) == ((), ())
    assert {row.forward_ns for row in report.measures} == {15_000_000}
