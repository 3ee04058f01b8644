"""A rank's operations with all their times, as far as its host came: what both trace formats walk over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simgather.program.operations import HostSync, Kernel, Mark, Operation, OptimizerKernel, Wait
from simgather.report.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operation that the host came to, in nanoseconds.

    The host works on it from `host_start_ns` to `host_end_ns`, which is None while it hangs in it. `enqueued_ns`,
    `started_ns` and `ended_ns` are those of the timeline; the last two are None where nothing started or ended.
    """

    operation: Operation
    host_start_ns: int
    host_end_ns: int | None
    enqueued_ns: int
    started_ns: int | None
    ended_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """An iteration or microbatch on the host thread: it covers the steps ``[first, stop)``.

    `end_ns` is None if the host hangs in it.
    """

    first: int
    stop: int
    start_ns: int
    end_ns: int | None


def host_steps(report: Report, rank: int) -> tuple[Step, ...]:
    """The rank's operations in host order, up to where its host ended or hangs."""
    costs_ns = report.costs.host_ns()
    times = report.timeline.ranks[rank]
    steps = []
    for operation, enqueued_ns, started_ns, ended_ns in zip(
        report.timeline.program.ranks[rank].operations,
        times.enqueued_ns,
        times.started_ns,
        times.ended_ns,
        strict=True,
    ):
        if enqueued_ns is None:
            break
        steps.append(
            Step(
                operation=operation,
                host_start_ns=enqueued_ns - costs_ns[type(operation)],
                host_end_ns=ended_ns if isinstance(operation, HostSync) else enqueued_ns,
                enqueued_ns=enqueued_ns,
                started_ns=started_ns,
                ended_ns=ended_ns,
            )
        )
    return tuple(steps)


def iterations(steps: Sequence[Step]) -> Iterator[Span]:
    """From each iteration's mark to the next one's, or to the end of the host's work."""
    firsts = [index for index, step in enumerate(steps) if is_mark(step.operation, "iteration")]
    for first, stop in zip(firsts, [*firsts[1:], len(steps)], strict=True):
        end_ns = steps[stop].enqueued_ns if stop < len(steps) else steps[-1].host_end_ns
        yield Span(first=first, stop=stop, start_ns=steps[first].enqueued_ns, end_ns=end_ns)


def microbatches(steps: Sequence[Step]) -> Iterator[Span]:
    """From each microbatch's mark to the next border: a mark, the first wait for a reduce-scatter, the optimizer."""
    first: int | None = None
    for index, step in enumerate(steps):
        if first is not None and _ends_microbatch(step.operation):
            yield _microbatch(steps, first, index)
            first = None
        if is_mark(step.operation, "microbatch"):
            first = index
    if first is not None:
        yield _microbatch(steps, first, len(steps))


def is_mark(operation: Operation, event: str) -> bool:
    """Whether it is a mark of that kind."""
    return isinstance(operation, Mark) and operation.event == event


def launches(operation: Operation) -> bool:
    """Whether it launches a kernel on the compute stream."""
    return isinstance(operation, Kernel | OptimizerKernel)


def kernel_name(operation: Operation) -> str:
    """What a kernel is called in the traces."""
    if not isinstance(operation, Kernel):
        return "optimizer"
    if operation.recomputed:
        return f"recompute {operation.use.name}"
    return f"{'backward' if operation.phase.startswith('backward') else 'forward'} {operation.use.name}"


def _ends_microbatch(operation: Operation) -> bool:
    return (
        is_mark(operation, "microbatch")
        or is_mark(operation, "iteration")
        or isinstance(operation, OptimizerKernel)
        or (isinstance(operation, Wait) and operation.collective == "reduce-scatter")
    )


def _microbatch(steps: Sequence[Step], first: int, stop: int) -> Span:
    return Span(first=first, stop=stop, start_ns=steps[first].enqueued_ns, end_ns=steps[stop - 1].host_end_ns)
