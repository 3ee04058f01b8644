"""When a finding is drawn on each rank."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from simgather.program.operations import Dispatch, OptimizerKernel
from simgather.report.report import Report
from simgather.report.trace.steps import Step, is_mark
from simgather.verdict.findings import Finding
from simgather.verdict.reads import Read

_Key = tuple[object, ...]
_Times = Sequence[int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A finding on one rank, at a time in nanoseconds."""

    finding: Finding
    at_ns: int


def place_findings(report: Report, steps: Sequence[Sequence[Step]]) -> list[list[Placed]]:
    """Every finding on every rank that it affects, indexed by rank; `steps` is indexed by rank too.

    A read's finding stands at the start of the read, a collective's at the start of its transfer (one that never takes
    place: when the rank is ready for it), an exception's where it is raised. A finding that names no rank stands on
    all; one whose place a rank never reached, at the end of that rank's host.
    """
    sites = _Sites(report, steps)
    placed: list[list[Placed]] = [[] for _ in steps]
    for finding in report.findings:
        times = sites.find(finding)
        for rank in finding.ranks or range(len(steps)):
            at_ns = times[rank]
            placed[rank].append(Placed(finding=finding, at_ns=sites.stops[rank] if at_ns is None else at_ns))
    return placed


class _Sites:
    """Looks up places. Findings of one kind that agree in all names are matched in order."""

    def __init__(self, report: Report, steps: Sequence[Sequence[Step]]) -> None:
        self.report = report
        self.steps = steps
        self.nowhere: _Times = [None] * len(steps)
        self.stops = [rank[-1].host_end_ns or rank[-1].enqueued_ns if rank else 0 for rank in steps]
        self.reads: dict[_Key, deque[Read]] = defaultdict(deque)
        self.transfers: dict[_Key, deque[int | None]] = defaultdict(deque)
        self._collect_reads()
        self._collect_transfers()
        self.optimizers: list[dict[int, int | None]] = [
            {step.operation.iteration: step.started_ns for step in rank if isinstance(step.operation, OptimizerKernel)}
            for rank in steps
        ]

    def find(self, finding: Finding) -> _Times:
        """The time on each rank."""
        kind = finding.kind
        if kind in ("undispatched-read", "unordered-read", "version-mismatch"):
            return self._read(kind, finding.iteration, finding.module, finding.bucket)
        if kind == "never-gathered":
            return self._read(kind, finding.iteration, None, finding.bucket)
        if kind == "optimizer-race":
            return [starts.get(finding.iteration) for starts in self.optimizers]
        if kind in ("collective-swap", "duplicate-gather"):
            starts = self.transfers[kind, finding.iteration, finding.bucket]
            return [starts.popleft() if starts else None] * len(self.steps)
        if kind == "collective-mismatch":
            return self._never_met()
        return self.nowhere

    def _read(self, *key: object) -> _Times:
        reads = self.reads[key]
        return reads.popleft().start_ns if reads else self.nowhere

    def _collect_reads(self) -> None:
        forward: dict[_Key, Read] = {}
        for read in self.report.reads:
            place = (read.iteration, read.module, read.bucket)
            if read.order in ("undispatched", "unordered"):
                self.reads[f"{read.order}-read", *place].append(read)
            if read.order == "undispatched":
                self.reads["never-gathered", read.iteration, None, read.bucket].append(read)
            same = (read.iteration, read.microbatch, read.use, read.bucket)
            if read.phase in ("forward", "functional"):
                if not read.recomputed:
                    forward[same] = read
            elif same in forward and _differ(forward[same], read):
                self.reads["version-mismatch", *place].append(read)

    def _collect_transfers(self) -> None:
        gathered = set()
        for collective in self.report.timeline.matching.collectives:
            transfer = self.report.timeline.transfer(collective.sequence)
            start_ns = transfer and transfer[0]
            place = (collective.iteration, collective.bucket)
            if collective.swapped:
                self.transfers["collective-swap", *place].append(start_ns)
            if collective.kind == "all-gather" and place in gathered:
                self.transfers["duplicate-gather", *place].append(start_ns)
            elif collective.kind == "all-gather":
                gathered.add(place)

    def _never_met(self) -> _Times:
        """When each rank was ready for the collective that never takes place."""
        mismatch = self.report.timeline.matching.mismatch
        sequence = mismatch.sequence if mismatch else -1
        return [
            next(
                (
                    step.started_ns
                    for step in rank
                    if isinstance(step.operation, Dispatch) and step.operation.sequence == sequence
                ),
                None,
            )
            for rank in self.steps
        ]


def _differ(one: Read, other: Read) -> bool:
    """Whether two reads saw different versions on some rank that came to both."""
    ages = zip(one.age, other.age, strict=True)
    return any(first is not None and second is not None and first != second for first, second in ages)


def stopped_by_exception(steps: Sequence[Step]) -> bool:
    """Whether the framework's exception ended this rank's host thread."""
    return bool(steps) and is_mark(steps[-1].operation, "exception")
