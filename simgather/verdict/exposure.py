"""Where forward time is lost: per forward kernel, how long it was exposed or host-bound, and to which bucket."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simgather.engine.timeline import Timeline
from simgather.program.operations import Kernel, Mark, OptimizerKernel, Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """One forward kernel on one rank that did not start as soon as its compute stream was free.

    The compute stream idles ``[idle_ns, start_ns)``: first `host_bound_ns` until the kernel was enqueued, then
    `exposed_ns` until it could start. `bucket` is the one whose all-gather ended last among those waited for since the
    kernel before; None if it waited for none (the shared queue held it back).
    """

    iteration: int
    rank: int
    use: str
    idle_ns: int
    start_ns: int
    exposed_ns: int
    host_bound_ns: int
    bucket: int | None


def exposures(timeline: Timeline, rank: int) -> Iterator[Exposure]:
    """Every forward kernel of the rank that was exposed or host-bound, in order."""
    times = timeline.ranks[rank]
    free_ns = 0
    waited: list[tuple[int, int]] = []
    for index, operation in enumerate(timeline.program.ranks[rank].operations):
        enqueued_ns, start_ns, end_ns = times.enqueued_ns[index], times.started_ns[index], times.ended_ns[index]
        if enqueued_ns is None:
            return
        if isinstance(operation, Mark) and operation.event == "iteration":
            free_ns = max(free_ns, enqueued_ns)
        if start_ns is None or end_ns is None:
            continue
        if isinstance(operation, Wait) and operation.collective == "all-gather":
            waited.append((end_ns, operation.bucket))
        elif isinstance(operation, Kernel | OptimizerKernel):
            exposed_ns, host_bound_ns = start_ns - max(enqueued_ns, free_ns), max(0, enqueued_ns - free_ns)
            if isinstance(operation, Kernel) and operation.in_forward_pass and (exposed_ns or host_bound_ns):
                yield Exposure(
                    iteration=operation.iteration,
                    rank=rank,
                    use=operation.use.name,
                    idle_ns=free_ns,
                    start_ns=start_ns,
                    exposed_ns=exposed_ns,
                    host_bound_ns=host_bound_ns,
                    bucket=max(waited)[1] if waited and exposed_ns else None,
                )
            waited.clear()
            free_ns = end_ns
