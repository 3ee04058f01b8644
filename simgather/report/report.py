"""The Report: everything a simulation found out, as data. Text, JSON and pictures are exporters of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from simgather.costs.costs import Costs
from simgather.engine.timeline import Timeline
from simgather.lint.remark import Remark
from simgather.program.operations import FrameworkFailure
from simgather.report.json import report_to_dict
from simgather.verdict.findings import Finding
from simgather.verdict.measures import Measures
from simgather.verdict.reads import Read
from simgather.workload.workload import Workload

if TYPE_CHECKING:
    from simgather.scenario.schema import Scenario

Verdict = Literal["safe", "race", "stale", "corrupt", "hang", "error"]

VERDICTS: dict[Verdict, str] = {
    "safe": "every read is ordered behind an all-gather of its iteration",
    "race": "reads that nothing orders behind their all-gather",
    "stale": "weights are read before their bucket's all-gather has delivered this step's values",
    "corrupt": "ranks mix the data of different buckets of equal size",
    "hang": "ranks wait for collectives that never meet",
    "error": "the training framework itself stops with an exception",
}
"""All verdicts, best first, with what each means."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One simulated scenario.

    `notes` say what was assumed; `warnings` are the framework's own: (iteration, text); `remarks` are what is known of
    such jobs, whatever the verdict.
    """

    scenario: Scenario
    workload: Workload
    costs: Costs
    timeline: Timeline
    reads: tuple[Read, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[tuple[int, str], ...]
    failure: FrameworkFailure | None
    measures: tuple[Measures, ...]
    notes: tuple[str, ...]
    remarks: tuple[Remark, ...]

    @cached_property
    def stale_reads(self) -> tuple[Read, ...]:
        """Reads that are not fresh on every rank, or not ordered."""
        return tuple(read for read in self.reads if read.is_stale)

    @cached_property
    def verdict(self) -> Verdict:
        """The worst that was found; wasted gathers alone are no fault."""
        kinds = {finding.kind for finding in self.findings}
        if "framework-error" in kinds:
            return "error"
        if "collective-mismatch" in kinds:
            return "hang"
        if "collective-swap" in kinds:
            return "corrupt"
        if any(read.order == "undispatched" for read in self.stale_reads):
            return "stale"
        if self.stale_reads or kinds & {"optimizer-race", "version-mismatch"}:
            return "race"
        return "safe"

    def slowest(self, iteration: int) -> Measures | None:
        """The measures of the rank with the longest forward pass in `iteration` (the lowest rank on a tie)."""
        rows = [row for row in self.measures if row.iteration == iteration]
        complete = [row for row in rows if row.forward_ns is not None]
        return max(complete or rows, key=lambda row: (row.forward_ns or 0, -row.rank), default=None)

    @cached_property
    def steady(self) -> Measures | None:
        """The slowest rank's measures in the last iteration with a whole forward pass: what a long run looks like."""
        complete = [row.iteration for row in self.measures if row.forward_ns is not None]
        return self.slowest(max(complete)) if complete else None

    def to_dict(self) -> dict[str, Any]:
        """The whole report as plain data (JSON), schema `simgather.report/1`."""
        return report_to_dict(self)
