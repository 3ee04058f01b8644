"""Which pass a rank is in when: the line above a timeline's bands."""

from __future__ import annotations

from collections.abc import Iterator

from simgather.program.operations import Kernel, Operation, OptimizerKernel
from simgather.report.plot.selection import Window
from simgather.report.report import Report


def phases(report: Report, rank: int, window: Window) -> Iterator[tuple[int, int, str]]:
    """Spans of the rank's passes in the window: start, end and what they are."""
    operations = report.timeline.program.ranks[rank].operations
    times = report.timeline.ranks[rank]
    span: tuple[int, int, str] | None = None
    for index, operation in enumerate(operations):
        if not window.first <= operation.iteration <= window.last:
            continue
        start_ns, end_ns = times.started_ns[index], times.ended_ns[index]
        what = _phase(operation)
        if what is None or start_ns is None or end_ns is None:
            continue
        if span is not None and span[2] == what:
            span = (span[0], end_ns, what)
        else:
            if span is not None:
                yield span
            begin = window.start_ns if span is None else span[1]
            span = (begin, end_ns, what)
    if span is not None:
        yield span


def _phase(operation: Operation) -> str | None:
    if isinstance(operation, Kernel):
        return "forward" if operation.in_forward_pass else "backward"
    return "optimizer" if isinstance(operation, OptimizerKernel) else None
