"""One trace of all ranks for Perfetto and chrome://tracing: a process per rank, a thread per host and stream.

Threads have numbers of their own over the whole file, none of them that of a process: viewers take a thread with the
number of its process for the main thread and move it to the top.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from simgather.program.operations import Dispatch, HostSync, Kernel, Mark, OptimizerKernel, Wait
from simgather.report.report import Report
from simgather.report.trace.arrows import number_arrows
from simgather.report.trace.events import (
    Event,
    Trace,
    Track,
    arriving_ns,
    arrow,
    instant,
    interval,
    leaving_ns,
    metadata,
)
from simgather.report.trace.findings import Placed, place_findings, stopped_by_exception
from simgather.report.trace.reads import RankReads
from simgather.report.trace.steps import Span, Step, host_steps, is_mark, iterations, kernel_name, microbatches
from simgather.verdict.measures import Measures

Lane = Literal["host", "compute", "nccl", "findings"]

LANES: dict[Lane, str] = {
    "host": "host",
    "compute": "compute stream",
    "nccl": "NCCL stream",
    "findings": "findings and warnings",
}
"""The threads of a rank, from top to bottom; the last one only where there is something to say."""

COLOURS = {"stale": "terrible", "torn": "bad", "wait": "grey", "rendezvous": "grey"}
"""Names that chrome://tracing reserves; everything else it colours by name, as Perfetto does with all."""

MOST_CALLS = 20
"""Calls that take no time are drawn as one; so many of them it names."""

DISPATCHED = "dispatch to collective"
WAITED = "collective to waiting kernel"


def chrome_trace(report: Report) -> dict[str, Any]:
    """The trace as one value, ready for JSON."""
    return make_chrome_trace(report).to_dict()


def make_chrome_trace(report: Report) -> Trace:
    """The trace, its events made rank by rank as they are read."""
    return Trace(
        header={
            "displayTimeUnit": "ms",
            "otherData": {
                "generator": "simgather",
                "scenario": report.scenario.name,
                "policy": report.scenario.policy.name,
                "verdict": report.verdict,
            },
        },
        events=_events(report),
    )


def _events(report: Report) -> Iterator[Event]:
    steps = [host_steps(report, rank) for rank in range(report.workload.dp)]
    placed = place_findings(report, steps)
    measures: dict[int, dict[int, Measures]] = defaultdict(dict)
    for row in report.measures:
        measures[row.rank][row.iteration] = row
    next_arrow = 1
    for rank in range(report.workload.dp):
        one = _Rank(report, rank, steps[rank], measures[rank], next_arrow)
        yield from one.events(placed[rank])
        next_arrow += one.arrows.count


class _Rank:
    """One rank's events. An arrow's start is written before its end, slices before what they contain."""

    def __init__(
        self, report: Report, rank: int, steps: Sequence[Step], measures: Mapping[int, Measures], next_arrow: int
    ) -> None:
        self.report = report
        self.rank = rank
        self.steps = steps
        self.measures = measures
        self.tracks = {
            lane: Track(rank, report.workload.dp + len(LANES) * rank + place) for place, lane in enumerate(LANES)
        }
        self.reads = RankReads(report, rank)
        self.arrows = number_arrows(steps, next_arrow)

    def events(self, placed: Sequence[Placed]) -> Iterator[Event]:
        """Everything of this rank; the NCCL stream comes before the compute stream, as its arrows start there."""
        warned = [step for step in self.steps if is_mark(step.operation, "warning")]
        yield from self._names(has_findings=bool(placed or warned))
        yield from self._host()
        yield from self._nccl()
        yield from self._compute()
        yield from self._warnings(warned)
        yield from self._findings(placed)

    def _names(self, *, has_findings: bool) -> Iterator[Event]:
        process = Track(self.rank, self.tracks["host"].tid)
        yield metadata(process, "process_name", "name", f"rank {self.rank}")
        yield metadata(process, "process_sort_index", "sort_index", self.rank)
        for place, (lane, name) in enumerate(LANES.items()):
            if lane == "findings" and not has_findings:
                continue
            yield metadata(self.tracks[lane], "thread_name", "name", name)
            yield metadata(self.tracks[lane], "thread_sort_index", "sort_index", place)

    # The host thread: iterations, in them microbatches, in them calls.

    def _host(self) -> Iterator[Event]:
        by_first = {span.first: self._iteration(span) for span in iterations(self.steps)}
        by_first |= {span.first: self._microbatch(span) for span in microbatches(self.steps)}
        at_once: list[Step] = []
        for index, step in enumerate(self.steps):
            operation = step.operation
            takes_time = step.host_end_ns != step.host_start_ns
            if at_once and (takes_time or step.host_start_ns > at_once[0].host_start_ns):
                yield from self._calls(at_once)
                at_once = []
            if index in by_first:
                yield by_first[index]
            elif isinstance(operation, Mark):
                continue
            elif takes_time:
                yield from self._calls([step])
            else:
                at_once.append(step)
        yield from self._calls(at_once)

    def _calls(self, steps: Sequence[Step]) -> Iterator[Event]:
        """One call, or all that take no time at one moment: viewers would pile up slices of no length."""
        if not steps:
            return
        first, track = steps[0], self.tracks["host"]
        name, args = self._call(first)
        if len(steps) > 1:
            args = {"iteration": args["iteration"], "calls": [self._call(step)[0] for step in steps[:MOST_CALLS]]}
            name = f"{len(steps)} calls at once"
        yield interval(track, name, "host", (first.host_start_ns, first.host_end_ns), args)
        for step in steps:
            operation = step.operation
            if isinstance(operation, Dispatch) and operation.sequence in self.arrows.into_collective:
                identity = self.arrows.into_collective[operation.sequence]
                at_ns = leaving_ns(step.host_start_ns, step.enqueued_ns)
                yield arrow(track, DISPATCHED, identity, at_ns, is_end=False)

    def _iteration(self, span: Span) -> Event:
        iteration = self.steps[span.first].operation.iteration
        args: dict[str, Any] = {"iteration": iteration}
        row = self.measures.get(iteration)
        if row is not None:
            measured = {name: getattr(row, name) for name in row.__slots__ if name.endswith("_ns")}
            measured |= {
                "overlap_efficiency": row.overlap_efficiency,
                "schedule_efficiency": row.schedule_efficiency,
            }
            args |= {name: value for name, value in measured.items() if value is not None}
        name = f"iteration {iteration}"
        if span.end_ns is None:
            name += " (hangs)"
        elif span.stop == len(self.steps) and stopped_by_exception(self.steps):
            name += " (stopped by an exception)"
        return interval(self.tracks["host"], name, "iteration", (span.start_ns, span.end_ns), args)

    def _microbatch(self, span: Span) -> Event:
        mark = self.steps[span.first].operation
        number = mark.argument if isinstance(mark, Mark) else None
        args = {"iteration": mark.iteration, "microbatch": number}
        name = f"microbatch {number}"
        return interval(self.tracks["host"], name, "microbatch", (span.start_ns, span.end_ns), args)

    def _call(self, step: Step) -> tuple[str, dict[str, Any]]:
        operation = step.operation
        args: dict[str, Any] = {"iteration": operation.iteration}
        if isinstance(operation, HostSync):
            hangs = step.host_end_ns is None
            return "host sync" + (" (hangs)" if hangs else ""), args | ({"unfinished": True} if hangs else {})
        if isinstance(operation, Dispatch | Wait):
            verb = "dispatch" if isinstance(operation, Dispatch) else "wait for"
            name = f"{verb} {operation.collective} {operation.bucket}"
            args |= {"bucket": operation.bucket, "sequence": operation.sequence}
        else:
            name = f"launch {kernel_name(operation)}"
        if step.ended_ns is None:
            args["unfinished"] = True
            name += " (never runs)" if step.started_ns is None else " (never ends)"
        return name, args

    # The streams.

    def _nccl(self) -> Iterator[Event]:
        track = self.tracks["nccl"]
        for step in self.steps:
            operation = step.operation
            if not isinstance(operation, Dispatch) or step.started_ns is None:
                continue
            transfer = self.report.timeline.transfer(operation.sequence)
            name = f"{operation.collective} {operation.bucket}"
            args = self._collective_args(operation, step)
            ready_ns = step.started_ns
            identity = self.arrows.into_collective[operation.sequence]
            if transfer is None:
                args["unfinished"] = True
                yield interval(track, f"{name} (never meets)", "collective", (ready_ns, None), args)
                yield arrow(track, DISPATCHED, identity, arriving_ns(ready_ns, None), is_end=True)
                continue
            if ready_ns < transfer[0]:
                spin = interval(track, "rendezvous", "rendezvous", (ready_ns, transfer[0]), args)
                yield {**spin, "cname": COLOURS["rendezvous"]}
                yield arrow(track, DISPATCHED, identity, arriving_ns(ready_ns, transfer[0]), is_end=True)
                yield interval(track, name, "collective", transfer, args)
            else:
                yield interval(track, name, "collective", transfer, args)
                yield arrow(track, DISPATCHED, identity, arriving_ns(*transfer), is_end=True)
            for identity in self.arrows.out_of_collective.get(operation.sequence, ()):
                yield arrow(track, WAITED, identity, leaving_ns(*transfer), is_end=False)

    def _collective_args(self, operation: Dispatch, step: Step) -> dict[str, Any]:
        workload = self.report.workload
        bucket = workload.buckets[operation.bucket]
        args: dict[str, Any] = {
            "iteration": operation.iteration,
            "bucket": operation.bucket,
            "bytes": bucket.numel * workload.element_bytes,
            "sequence": operation.sequence,
            "enqueued_ns": step.enqueued_ns,
        }
        collectives = self.report.timeline.matching.collectives
        if operation.sequence < len(collectives) and collectives[operation.sequence].swapped:
            args["buckets_by_rank"] = list(collectives[operation.sequence].buckets)
        return args

    def _compute(self) -> Iterator[Event]:
        track = self.tracks["compute"]
        for index, step in enumerate(self.steps):
            operation = step.operation
            start_ns, end_ns = step.started_ns, step.ended_ns
            if start_ns is None:
                continue
            if isinstance(operation, Wait) and (end_ns is None or end_ns > start_ns):
                name = f"wait for {operation.collective} {operation.bucket}"
                args = {"bucket": operation.bucket, "sequence": operation.sequence, "enqueued_ns": step.enqueued_ns}
                if end_ns is None:
                    name, args = f"{name} (never ends)", {**args, "unfinished": True}
                yield {**interval(track, name, "wait", (start_ns, end_ns), args), "cname": COLOURS["wait"]}
            elif isinstance(operation, OptimizerKernel):
                args = {"iteration": operation.iteration, "enqueued_ns": step.enqueued_ns}
                yield interval(track, "optimizer", "optimizer", (start_ns, end_ns), args)
            elif isinstance(operation, Kernel):
                yield self._kernel(operation, step, start_ns)
            for identity in self.arrows.into_kernel.get(index, ()):
                yield arrow(track, WAITED, identity, arriving_ns(start_ns, end_ns), is_end=True)

    def _kernel(self, kernel: Kernel, step: Step, start_ns: int) -> Event:
        seen = self.reads.of(kernel, start_ns)
        name = kernel_name(kernel) + (f" ({seen.state})" if seen.state in COLOURS else "")
        args = {
            "module": kernel.use.module_name,
            "phase": kernel.phase,
            "iteration": kernel.iteration,
            "microbatch": kernel.microbatch,
            **({"recomputed": True} if kernel.recomputed else {}),
            **seen.args,
            "enqueued_ns": step.enqueued_ns,
        }
        event = interval(self.tracks["compute"], name, "kernel", (start_ns, step.ended_ns), args)
        return {**event, "cname": COLOURS[seen.state]} if seen.state in COLOURS else event

    def _warnings(self, steps: Sequence[Step]) -> Iterator[Event]:
        for step in steps:
            mark = step.operation
            text = mark.argument if isinstance(mark, Mark) else None
            args = {"iteration": mark.iteration, "message": text}
            yield instant(self.tracks["findings"], "framework warning", "warning", step.enqueued_ns, args, scope="t")

    def _findings(self, placed: Sequence[Placed]) -> Iterator[Event]:
        for one in placed:
            finding = one.finding
            args = {
                "iteration": finding.iteration,
                "module": finding.module,
                "bucket": finding.bucket,
                "message": finding.message,
            }
            known = {name: value for name, value in args.items() if value is not None}
            scope = "p" if finding.kind in ("framework-error", "collective-mismatch") else "t"
            yield instant(self.tracks["findings"], finding.kind, "finding", one.at_ns, known, scope=scope)
