"""From a report to the band of one rank: looked up, cut to the window, and merged where too narrow to be seen apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from simgather.engine.timeline import RankTimeline
from simgather.program.operations import (
    Dispatch,
    HostSync,
    Kernel,
    Operation,
    OptimizerKernel,
    Wait,
)
from simgather.report.plot.merging import merged
from simgather.report.plot.scene import Arrow, Band, Block, HostStep, Idle, Transfer
from simgather.report.plot.selection import Window
from simgather.report.plot.style import MARK_ORDER
from simgather.report.report import Report
from simgather.verdict.exposure import exposures
from simgather.verdict.reads import Read

ReadKey = tuple[object, ...]


def marks_by_kernel(report: Report, rank: int) -> dict[ReadKey, list[str]]:
    """What is wrong with the reads of a kernel on the rank, by what `_kernel_key` says of the kernel."""
    marks: dict[ReadKey, list[str]] = defaultdict(list)
    mismatched = {
        (finding.iteration, finding.module, finding.bucket)
        for finding in report.findings
        if finding.kind == "version-mismatch" and rank in finding.ranks
    }
    for read in report.reads:
        key = (read.iteration, read.microbatch, read.phase, read.use, read.recomputed, read.start_ns[rank])
        kind = read_mark(read, rank)
        if kind is not None:
            marks[key].append(kind)
        if read.phase.startswith("backward") and (read.iteration, read.module, read.bucket) in mismatched:
            marks[key].append("version-mismatch")
    return marks


def read_mark(read: Read, rank: int) -> str | None:
    """The mark of the read on the rank; None if it is as it should be, or never took place."""
    state = read.state[rank]
    if state is None:
        return None
    if state != "fresh":
        return state
    return "unordered" if read.order in ("unordered", "undispatched") else None


def make_band(report: Report, rank: int, alike: tuple[int, ...], window: Window, finest_ns: int) -> Band:
    """What the rank does in the window; things narrower than `finest_ns` are merged with their neighbours."""
    return _Builder(report, rank, window).build(alike, finest_ns)


class _Builder:
    """One pass over the rank's operations."""

    def __init__(self, report: Report, rank: int, window: Window) -> None:
        self.report = report
        self.rank = rank
        self.window = window
        self.times: RankTimeline = report.timeline.ranks[rank]
        self.marks = marks_by_kernel(report, rank)
        self.races = {
            finding.iteration
            for finding in report.findings
            if finding.kind == "optimizer-race" and rank in finding.ranks
        }
        self.costs = report.costs.host_ns()
        self.blocks: list[Block] = []
        self.transfers: list[Transfer] = []
        self.idle: list[Idle] = []
        self.arrows: list[Arrow] = []
        self.host: list[HostStep] = []
        self.stop_ns: int | None = None
        self.waited: list[tuple[int, Wait]] = []

    def build(self, alike: tuple[int, ...], finest_ns: int) -> Band:
        for index, operation in enumerate(self.report.timeline.program.ranks[self.rank].operations):
            if operation.iteration > self.window.last:
                break
            enqueued_ns = self.times.enqueued_ns[index]
            if enqueued_ns is None:
                break
            if operation.iteration >= self.window.first:
                self._host_step(operation, enqueued_ns, self.times.ended_ns[index])
                self._compute(operation, self.times.started_ns[index], self.times.ended_ns[index], enqueued_ns)
            if isinstance(operation, Dispatch):
                self._transfer(operation, self.times.started_ns[index])
        self.idle += self._idle()
        return Band(
            rank=self.rank,
            alike=alike,
            blocks=tuple(merged(self.blocks, finest_ns)),
            transfers=tuple(self.transfers),
            idle=tuple(one for one in self.idle if one.end_ns > one.start_ns),
            arrows=tuple(self.arrows),
            host=tuple(self.host),
            stop_ns=self.stop_ns,
        )

    def _host_step(self, operation: Operation, enqueued_ns: int, ended_ns: int | None) -> None:
        start_ns = enqueued_ns - self.costs[type(operation)]
        if isinstance(operation, HostSync):
            end_ns = self.window.end_ns if ended_ns is None else ended_ns
            self.host.append(HostStep(start_ns=enqueued_ns, end_ns=end_ns, kind="sync"))
        elif isinstance(operation, Dispatch):
            bucket = operation.bucket if operation.collective == "all-gather" else None
            self.host.append(HostStep(start_ns=start_ns, end_ns=enqueued_ns, kind="dispatch", bucket=bucket))
        elif isinstance(operation, Wait):
            self.host.append(HostStep(start_ns=start_ns, end_ns=enqueued_ns, kind="wait"))
        elif isinstance(operation, Kernel | OptimizerKernel):
            self.host.append(HostStep(start_ns=start_ns, end_ns=enqueued_ns, kind="launch"))
        elif operation.event == "exception":
            self.stop_ns = enqueued_ns

    def _compute(self, operation: Operation, start_ns: int | None, end_ns: int | None, enqueued_ns: int) -> None:
        if isinstance(operation, Wait):
            if start_ns is not None and end_ns is None:
                free_ns = max(start_ns, self.blocks[-1].end_ns if self.blocks else 0)
                self.idle.append(Idle(start_ns=free_ns, end_ns=self.window.end_ns, kind="exposed", endless=True))
            elif end_ns is not None:
                self.waited.append((end_ns, operation))
            return
        if not isinstance(operation, Kernel | OptimizerKernel) or start_ns is None or end_ns is None:
            return
        free_ns = max(enqueued_ns, self.blocks[-1].end_ns if self.blocks else 0)
        self._arrows(start_ns, free_ns)
        if isinstance(operation, Kernel):
            self.blocks.append(self._block(operation, start_ns, end_ns))
        else:
            race = ("optimizer-race",) if operation.iteration in self.races else ()
            self.blocks.append(
                Block(start_ns=start_ns, end_ns=end_ns, kind="optimizer", buckets=(), name="optimizer", marks=race)
            )

    def _arrows(self, start_ns: int, free_ns: int) -> None:
        """One arrow for the all-gathers waited for since the kernel before, one for the reduce-scatters: the last."""
        for kind in ("all-gather", "reduce-scatter"):
            ends = [
                (transfer[1], wait)
                for _, wait in self.waited
                if wait.collective == kind and (transfer := self.report.timeline.transfer(wait.sequence))
            ]
            if ends:
                end_ns, wait = max(ends, key=lambda end: end[0])
                binding = end_ns == start_ns and end_ns > free_ns
                self.arrows.append(
                    Arrow(from_ns=end_ns, to_ns=start_ns, kind=wait.collective, bucket=wait.bucket, binding=binding)
                )
        self.waited.clear()

    def _block(self, kernel: Kernel, start_ns: int, end_ns: int) -> Block:
        key = (kernel.iteration, kernel.microbatch, kernel.phase, kernel.use.name, kernel.recomputed, start_ns)
        return Block(
            start_ns=start_ns,
            end_ns=end_ns,
            kind="backward" if kernel.phase.startswith("backward") else "forward",
            buckets=tuple(read.bucket for read in self.report.workload.reads[kernel.use.module]),
            name=kernel.use.name,
            marks=tuple(sorted(set(self.marks.get(key, ())), key=lambda kind: MARK_ORDER[kind])),
        )

    def _transfer(self, dispatch: Dispatch, ready_ns: int | None) -> None:
        if ready_ns is None or ready_ns > self.window.end_ns:
            return
        timeline = self.report.timeline
        transfer = timeline.transfer(dispatch.sequence)
        mismatch = timeline.matching.mismatch
        mark = None
        if transfer is None:
            start_ns, end_ns = self.window.end_ns, None
            mark = "hang" if mismatch is not None and dispatch.sequence == mismatch.sequence else None
        else:
            start_ns, end_ns = transfer
            if end_ns <= self.window.start_ns and dispatch.iteration < self.window.first:
                return
            if timeline.matching.collectives[dispatch.sequence].swapped:
                mark = "swap"
        self.transfers.append(
            Transfer(
                ready_ns=max(ready_ns, self.window.start_ns),
                start_ns=max(start_ns, self.window.start_ns),
                end_ns=end_ns,
                kind=dispatch.collective,
                bucket=dispatch.bucket,
                mark=mark,
            )
        )

    def _idle(self) -> Iterator[Idle]:
        for one in exposures(self.report.timeline, self.rank):
            if self.window.first <= one.iteration <= self.window.last:
                launched_ns = one.idle_ns + one.host_bound_ns
                yield Idle(start_ns=one.idle_ns, end_ns=launched_ns, kind="host-bound")
                yield Idle(start_ns=one.start_ns - one.exposed_ns, end_ns=one.start_ns, kind="exposed")
