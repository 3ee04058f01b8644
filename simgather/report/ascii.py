"""A small timeline in characters, for a login node: one iteration's forward pass, a column per slice of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_letters, digits

from simgather.engine.timeline import Interval
from simgather.program.operations import Dispatch, Kernel
from simgather.report.plot.selection import Selection, choose_iterations, choose_ranks, window
from simgather.report.report import Report
from simgather.report.wording import ranges
from simgather.units import format_time
from simgather.verdict.exposure import exposures

WIDTH = 80
LABEL = 16
SYMBOLS = digits + ascii_letters
MANY, NO_BUCKET, IDLE, EXPOSED, HOST_BOUND, RENDEZVOUS, SCATTER = "*", "=", " ", ".", "~", "+", "r"
UNDISPATCHED, UNORDERED = "!", "?"

LEGEND = (
    "# compute: the bucket that a kernel reads (= none); . exposed, ~ host-bound",
    "# nccl: the bucket that is gathered; + rendezvous, r reduce-scatter",
    "# reads: ! undispatched, certainly stale; ? unordered, a race",
)


@dataclass(frozen=True, slots=True)
class _Axis:
    start_ns: int
    end_ns: int

    def line(self, marks: Iterable[tuple[Interval, str]]) -> str:
        """Marks drawn in order over blank time; a mark fills every column that it touches by half or holds alone."""
        columns = WIDTH - LABEL
        cells = [IDLE] * columns
        per_column = max(1, self.end_ns - self.start_ns) / columns
        for (start_ns, end_ns), symbol in marks:
            first = round((start_ns - self.start_ns) / per_column)
            last = max(first + 1, round((end_ns - self.start_ns) / per_column))
            for column in range(max(0, first), min(columns, last)):
                cells[column] = symbol
        return "".join(cells).rstrip()


def ascii_timeline(report: Report, selection: Selection) -> str:
    """The forward pass of the chosen iteration (default: that of the worst finding), ranks that are alike once."""
    iteration = choose_iterations([report], selection)[0]
    axis = _forward_axis(report, iteration)
    length = format_time(axis.end_ns - axis.start_ns)
    lines = [f"# forward pass of iteration {iteration}, {length} from left to right", *LEGEND]
    for rank, others in choose_ranks(report, selection, most=1):
        alike = f", {ranges(others, 'rank')} alike" if others else ""
        lines += [f"# rank {rank}{alike}", *_lanes(report, iteration, rank, axis)]
    return "\n".join(lines) + "\n"


def _forward_axis(report: Report, iteration: int) -> _Axis:
    chosen = window(report, iteration, iteration)
    ends = [
        end_ns
        for program, times in zip(report.timeline.program.ranks, report.timeline.ranks, strict=True)
        for operation, end_ns in zip(program.operations, times.ended_ns, strict=True)
        if isinstance(operation, Kernel)
        and operation.in_forward_pass
        and operation.iteration == iteration
        and end_ns is not None
    ]
    return _Axis(chosen.start_ns, max(ends, default=chosen.end_ns))


def _lanes(report: Report, iteration: int, rank: int, axis: _Axis) -> Sequence[str]:
    compute: list[tuple[Interval, str]] = []
    nccl: list[tuple[Interval, str]] = []
    wrong: list[tuple[Interval, str]] = []
    for one in exposures(report.timeline, rank):
        if one.iteration == iteration:
            enqueued_ns = one.start_ns - one.exposed_ns
            compute.append(((enqueued_ns - one.host_bound_ns, enqueued_ns), HOST_BOUND if one.host_bound_ns else IDLE))
            compute.append(((enqueued_ns, one.start_ns), EXPOSED if one.exposed_ns else IDLE))
    orders = {(read.start_ns[rank], read.use): read.order for read in report.stale_reads}
    times = report.timeline.ranks[rank]
    for operation, start_ns, end_ns in zip(
        report.timeline.program.ranks[rank].operations, times.started_ns, times.ended_ns, strict=True
    ):
        if start_ns is None or end_ns is None or start_ns >= axis.end_ns:
            continue
        if isinstance(operation, Kernel) and end_ns > axis.start_ns:
            reads = report.workload.reads[operation.use.module]
            compute.append(((start_ns, end_ns), _symbol(reads[0].bucket) if reads else NO_BUCKET))
            order = orders.get((start_ns, operation.use.name))
            if order is not None:
                wrong.append(((start_ns, end_ns), UNDISPATCHED if order == "undispatched" else UNORDERED))
        elif isinstance(operation, Dispatch) and end_ns > axis.start_ns:
            transfer = report.timeline.transfer(operation.sequence)
            if transfer is not None:
                if transfer[0] > start_ns:
                    nccl.append(((start_ns, transfer[0]), RENDEZVOUS))
                nccl.append((transfer, SCATTER if operation.collective != "all-gather" else _symbol(operation.bucket)))
    lanes = {"compute": compute, "nccl": nccl, "reads": wrong}
    return [f"{f'rank {rank} {name}':<{LABEL}}{axis.line(marks)}".rstrip() for name, marks in lanes.items()]


def _symbol(bucket: int) -> str:
    return SYMBOLS[bucket] if bucket < len(SYMBOLS) else MANY
