"""What one rank's kernels read and saw, by kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simgather.program.operations import Kernel
from simgather.report.report import Report
from simgather.verdict.reads import SEVERITY, Read

STATES = ("fresh", "torn", "stale")
"""Best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one kernel saw: the worst state of its reads (empty if it reads no bucket), and all of it as plain data."""

    state: str
    args: dict[str, Any]


class RankReads:
    """Finds the reads of a kernel on one rank.

    A kernel is known by its names and its start: two of the same names that start at once see the same.
    """

    def __init__(self, report: Report, rank: int) -> None:
        self.rank = rank
        self.buckets_of = report.workload.reads
        self.reads: dict[tuple[object, ...], Read] = {}
        for read in report.reads:
            start_ns = read.start_ns[rank]
            if start_ns is not None:
                names = (read.iteration, read.microbatch, read.phase, read.recomputed, read.use)
                self.reads[(*names, read.bucket, start_ns)] = read

    def of(self, kernel: Kernel, start_ns: int) -> Seen:
        """What a kernel that starts at `start_ns` saw on this rank."""
        names = (kernel.iteration, kernel.microbatch, kernel.phase, kernel.recomputed, kernel.use.name)
        reads = [self.reads[(*names, place.bucket, start_ns)] for place in self.buckets_of[kernel.use.module]]
        if not reads:
            return Seen(state="", args={"buckets": []})
        states = [read.state[self.rank] or STATES[0] for read in reads]
        state = max(states, key=STATES.index)
        args: dict[str, Any] = {
            "buckets": [read.bucket for read in reads],
            "order": max((read.order for read in reads), key=SEVERITY.index),
            "state": state,
            "fresh_share": sum(self._fresh(read) for read in reads) / sum(read.elements for read in reads),
            "age": max(read.age[self.rank] or 0 for read in reads),
        }
        if len(reads) > 1:
            args["by_bucket"] = {
                str(read.bucket): {
                    "order": read.order,
                    "state": seen,
                    "fresh_share": self._fresh(read) / read.elements,
                    "age": read.age[self.rank] or 0,
                }
                for read, seen in zip(reads, states, strict=True)
            }
        return Seen(state=state, args=args)

    def _fresh(self, read: Read) -> int:
        return read.fresh_elements[self.rank] or 0
