"""Holistic Trace Analysis loads our traces, and measures the overlap that we do.

Its overlap is that of all NCCL kernels of a rank over the whole trace. Ours, `overlap_efficiency`, is that of the
all-gathers of one iteration. So the traces are compared as they are where nothing but all-gathers communicates, summed
over the iterations; and for any scenario, iteration by iteration, with the other NCCL kernels left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import simgather
from simgather.report.report import Report
from simgather.report.trace import write_traces
from tests.report.trace_laws import skewed
from tests.scenario_files import FILES, FOLDER

pytest.importorskip("hta", reason="Holistic Trace Analysis is not installed: pip install -e '.[hta]'")

POINTS = 0.01
NCCL_STREAM = 20


def without_gradient_sync(name: str, *overrides: str) -> Report:
    return simgather.simulate(simgather.load(FOLDER / name, ["training.gradient_sync=false", *overrides]))


GATHERS_ONLY: dict[str, Callable[[], Report]] = {
    "a-c-b": lambda: without_gradient_sync("a-c-b.yaml"),
    "a-c-b-fixed": lambda: without_gradient_sync("a-c-b-fixed.yaml"),
    "a-c-b, a slow rank": lambda: without_gradient_sync("a-c-b.yaml", "cluster.compute_skew=[1, 1, 1.37, 1]"),
    "issue-950": lambda: without_gradient_sync("issue-950.yaml"),
    "every rank another overlap": lambda: skewed(gradient_sync=False),
}
WITH_REDUCE_SCATTERS: dict[str, Callable[[], Report]] = {
    **{file.stem: lambda file=file: simgather.simulate(simgather.load(file)) for file in FILES},
    "every rank another overlap": skewed,
}


@pytest.fixture(autouse=True)
def _keep_nanoseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTA_DISABLE_NS_ROUNDING", "1")


def load(report: Report, folder: Path) -> Any:
    from hta.trace_analysis import TraceAnalysis

    write_traces(report, folder / "traces")
    return TraceAnalysis(trace_dir=str(folder / "traces" / "kineto"))


def overlap(analysis: Any) -> dict[int, float]:
    """Percent by rank."""
    table = analysis.get_comm_comp_overlap(visualize=False)
    return dict(zip(table["rank"], table["comp_comm_overlap_pctg"], strict=True))


@pytest.mark.parametrize("name", GATHERS_ONLY)
def test_overlap_of_the_whole_trace_is_ours_summed_over_iterations(name: str, tmp_path: Path) -> None:
    report = GATHERS_ONLY[name]()
    theirs = overlap(load(report, tmp_path))
    assert sorted(theirs) == list(range(report.workload.dp))
    for rank, percent in theirs.items():
        rows = [row for row in report.measures if row.rank == rank]
        ours = 100 * sum(row.overlapped_ns for row in rows) / sum(row.gather_ns for row in rows)
        assert percent == pytest.approx(ours, abs=POINTS)


@pytest.mark.parametrize("name", WITH_REDUCE_SCATTERS)
def test_overlap_of_an_iterations_all_gathers_is_overlap_efficiency(name: str, tmp_path: Path) -> None:
    report = WITH_REDUCE_SCATTERS[name]()
    analysis = load(report, tmp_path)
    whole = dict(analysis.t.traces)
    for iteration in range(1, report.workload.training.iterations):
        analysis.t.traces = {rank: only_gathers(analysis, trace, iteration) for rank, trace in whole.items()}
        theirs = overlap(analysis)
        for row in report.measures:
            if row.iteration == iteration:
                assert row.overlap_efficiency is not None
                assert theirs[row.rank] == pytest.approx(100 * row.overlap_efficiency, abs=POINTS)


def only_gathers(analysis: Any, trace: Any, iteration: int) -> Any:
    """A rank's trace with the all-gathers of one iteration for all its communication."""
    names = trace["name"].map(dict(enumerate(analysis.t.symbol_table.get_sym_table())))
    gathers = names.str.contains("AllGather") & (trace["iteration"] == iteration)
    return trace[(trace["stream"] != NCCL_STREAM) | gathers]


def test_no_iteration_is_lost_and_every_kernel_has_its_launch(tmp_path: Path) -> None:
    report = skewed()
    analysis = load(report, tmp_path)
    kernels = sum(len(operations(report, rank)) for rank in range(report.workload.dp))
    assert analysis.t.get_iterations() == [0, 1, 2]
    assert sum((trace["stream"] > 0).sum() for trace in analysis.t.traces.values()) == kernels
    launched = analysis.get_cuda_kernel_launch_stats(ranks=[0, 1, 2], visualize=False)
    assert sum(len(table) for table in launched.values()) == kernels


def operations(report: Report, rank: int) -> list[Any]:
    """What the rank put on its streams to run."""
    names = ("Kernel", "OptimizerKernel", "Dispatch")
    return [one for one in report.timeline.program.ranks[rank].operations if type(one).__name__ in names]


def test_compute_time_is_the_time_of_all_kernels(tmp_path: Path) -> None:
    report = skewed()
    table = load(report, tmp_path).get_temporal_breakdown(visualize=False)
    for rank, compute_us in zip(table["rank"], table["compute_time(us)"], strict=True):
        assert compute_us == pytest.approx(sum(kernel_ns(report, rank)) / 1000, abs=0.01)


def kernel_ns(report: Report, rank: int) -> Iterator[int]:
    times = report.timeline.ranks[rank]
    program = report.timeline.program.ranks[rank]
    for operation, start_ns, end_ns in zip(program.operations, times.started_ns, times.ended_ns, strict=True):
        if type(operation).__name__ in ("Kernel", "OptimizerKernel"):
            assert start_ns is not None
            assert end_ns is not None
            yield end_ns - start_ns


def test_files_pass_the_format_check(tmp_path: Path) -> None:
    from hta.utils.validate_trace import validate_trace_format

    for path in write_traces(skewed(), tmp_path / "traces")[1:]:
        assert validate_trace_format(str(path), "complete") == (True, {})
