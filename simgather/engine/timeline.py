"""The Timeline: when every operation of a Program was enqueued, started and ended, under one set of costs."""

from __future__ import annotations

from dataclasses import dataclass

from simgather.program.collectives import Matching
from simgather.program.operations import Program

Interval = tuple[int, int]
"""From start to end, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class RankTimeline:
    """Times in nanoseconds, indexed like the rank's operations; None for what never happened (after a hang).

    | operation | enqueued | started | ended |
    |---|---|---|---|
    | kernel, optimizer | host clock after the launch | kernel start | kernel end |
    | dispatch | host clock after the call | rank ready | collective end |
    | wait | host clock after the call | stream reached it | stream passed it |
    | host sync | host reached it | - | host passed it |
    | mark | host clock | - | - |
    """

    enqueued_ns: tuple[int | None, ...]
    started_ns: tuple[int | None, ...]
    ended_ns: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """All ranks' times, and per collective (by sequence) when its transfer started and ended on every rank at once."""

    program: Program
    matching: Matching
    ranks: tuple[RankTimeline, ...]
    transfer_start_ns: tuple[int | None, ...]
    transfer_end_ns: tuple[int | None, ...]

    def transfer(self, sequence: int) -> Interval | None:
        """When the collective moved data; None if it never did or never will have ended."""
        if sequence >= len(self.transfer_start_ns):
            return None
        start_ns, end_ns = self.transfer_start_ns[sequence], self.transfer_end_ns[sequence]
        return None if start_ns is None or end_ns is None else (start_ns, end_ns)
