"""The report as plain data, schema ``simgather.report/1``. All times are integer nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from simgather.program.operations import Dispatch, Kernel, Mark, OptimizerKernel, Wait
from simgather.verdict.measures import Measures
from simgather.verdict.reads import Read

if TYPE_CHECKING:
    from simgather.report.report import Report

SCHEMA = "simgather.report/1"


def report_to_dict(report: Report) -> dict[str, Any]:
    """Every field of the report; lists of times, states, ages and fresh elements are indexed by rank."""
    failure = report.failure
    return {
        "schema": SCHEMA,
        "scenario": {
            "name": report.scenario.name,
            "policy": report.scenario.policy.name,
            "gpus": report.workload.dp,
            "iterations": report.workload.training.iterations,
        },
        "buckets": list(_buckets(report)),
        "gathers": list(_gathers(report)),
        "events": list(_events(report)),
        "reads": [_read(read) for read in report.reads],
        "stale_reads": [_read(read) for read in report.stale_reads],
        "findings": [{**asdict(finding), "ranks": list(finding.ranks)} for finding in report.findings],
        "warnings": [{"iteration": iteration, "text": text} for iteration, text in report.warnings],
        "error": failure
        and {
            "iteration": failure.iteration,
            "phase": failure.phase,
            "type": failure.type_name,
            "text": failure.text,
        },
        "iterations": [_measures(row) for row in report.measures],
        "notes": list(report.notes),
        "remarks": [asdict(remark) for remark in report.remarks],
        "summary": _summary(report),
    }


def _buckets(report: Report) -> Iterator[dict[str, Any]]:
    modules = report.workload.modules
    for bucket in report.workload.buckets:
        yield {
            "index": bucket.index,
            "start": bucket.start,
            "end": bucket.end,
            "bytes": bucket.numel * report.workload.element_bytes,
            "params": [
                {"name": f"{modules[placed.module].name}.{placed.name}", "start": placed.start, "end": placed.end}
                for placed in bucket.parameters
            ],
        }


def _gathers(report: Report) -> Iterator[dict[str, Any]]:
    timeline = report.timeline
    waited = {
        operation.sequence
        for operation in timeline.program.ranks[0].operations
        if isinstance(operation, Wait) and operation.collective == "all-gather"
    }
    dispatches: list[dict[int, tuple[int | None, int | None]]] = []
    for program, times in zip(timeline.program.ranks, timeline.ranks, strict=True):
        dispatches.append(
            {
                operation.sequence: (times.enqueued_ns[index], times.started_ns[index])
                for index, operation in enumerate(program.operations)
                if isinstance(operation, Dispatch)
            }
        )
    for collective in timeline.matching.collectives:
        if collective.kind == "all-gather":
            yield {
                "iteration": collective.iteration,
                "bucket": collective.bucket,
                "start_ns": timeline.transfer_start_ns[collective.sequence],
                "end_ns": timeline.transfer_end_ns[collective.sequence],
                "waited": collective.sequence in waited,
                "dispatch_ns": [rank[collective.sequence][0] for rank in dispatches],
                "ready_ns": [rank[collective.sequence][1] for rank in dispatches],
            }


def _events(report: Report) -> Iterator[list[Any]]:
    """The host program of rank 0 as [iteration, event, argument]; reduce-scatters are left out."""
    for operation in report.timeline.program.ranks[0].operations:
        if isinstance(operation, Kernel):
            yield [operation.iteration, operation.phase, operation.use.module_name]
        elif isinstance(operation, OptimizerKernel):
            yield [operation.iteration, "optimizer", None]
        elif isinstance(operation, Dispatch | Wait):
            if operation.collective == "all-gather":
                event = "dispatch" if isinstance(operation, Dispatch) else "wait"
                yield [operation.iteration, event, operation.bucket]
        elif isinstance(operation, Mark) and operation.event != "iteration":
            argument = None if operation.event == "warning" else operation.argument
            yield [operation.iteration, operation.event, argument]


def _read(read: Read) -> dict[str, Any]:
    return {
        "iteration": read.iteration,
        "microbatch": read.microbatch,
        "module": read.module,
        "use": read.use,
        "bucket": read.bucket,
        "phase": read.phase,
        "recomputed": read.recomputed,
        "order": read.order,
        "elements": read.elements,
        "state": list(read.state),
        "fresh_elements": list(read.fresh_elements),
        "age": list(read.age),
        "start_ns": list(read.start_ns),
    }


def _measures(row: Measures) -> dict[str, Any]:
    return {
        **asdict(row),
        "overlap_efficiency": row.overlap_efficiency,
        "schedule_efficiency": row.schedule_efficiency,
    }


def _summary(report: Report) -> dict[str, Any]:
    steady = report.steady
    return {
        "verdict": report.verdict,
        "stale_reads": len(report.stale_reads),
        "undispatched_reads": sum(read.order == "undispatched" for read in report.stale_reads),
        "unordered_reads": sum(read.order == "unordered" for read in report.stale_reads),
        "modules_with_stale_reads": list(dict.fromkeys(read.module for read in report.stale_reads)),
        "findings": len(report.findings),
        "warnings": len(report.warnings),
        "error": report.failure is not None,
        "steady_iteration": steady and _measures(steady),
    }
