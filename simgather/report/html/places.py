"""Where in the timeline a finding is: which operation of which rank."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from simgather.program.operations import Dispatch, Kernel, Mark, OptimizerKernel, RankProgram
from simgather.report.html.extent import Extent
from simgather.report.html.markup import Markup, element
from simgather.report.report import Report
from simgather.verdict.findings import Finding
from simgather.verdict.reads import Read


@dataclass(frozen=True, slots=True)
class Jump:
    """A place in the page's timeline: a band and one of its operations."""

    band: int
    operation: int

    def button(self, label: str | None, text: str, class_: str = "jump") -> Markup:
        """A button that goes there; `label` is for those who hear the page, if the text does not say enough."""
        return element(
            "button",
            text,
            type="button",
            class_=class_,
            aria_label=label,
            data_band=self.band,
            data_operation=self.operation,
        )


READ_ORDERS = {"undispatched-read": "undispatched", "unordered-read": "unordered"}


class _Index:
    """Where in one program the optimizers, the dispatches and the exception are."""

    def __init__(self, program: RankProgram) -> None:
        self.optimizers: dict[int, int] = {}
        self.dispatches: dict[int, int] = {}
        self.exception: int | None = None
        self.last = len(program.operations) - 1
        for index, operation in enumerate(program.operations):
            if isinstance(operation, OptimizerKernel):
                self.optimizers[operation.iteration] = index
            elif isinstance(operation, Dispatch):
                self.dispatches[operation.sequence] = index
            elif isinstance(operation, Mark) and operation.event == "exception":
                self.exception = index

    def dispatch(self, sequence: int) -> int:
        """The dispatch of the collective; of a rank that has none left, the last that its host does."""
        return self.dispatches.get(sequence, self.last)


class Places:
    """Looks findings and reads up; operations are counted per rank from the start of its program."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.kernels: dict[int, dict[tuple[object, ...], int]] = {}
        self.indices = {
            id(program): _Index(program)
            for program in {id(program): program for program in report.timeline.program.ranks}.values()
        }
        self.reads = _reads_of(report)
        self.gathers: dict[tuple[int, int], list[int]] = defaultdict(list)
        for collective in report.timeline.matching.collectives:
            if collective.kind == "all-gather":
                self.gathers[collective.iteration, collective.bucket].append(collective.sequence)
        self.swaps = deque(one.sequence for one in report.timeline.matching.collectives if one.swapped)
        self.again: dict[tuple[int, int], int] = defaultdict(int)

    def of_findings(self, ranks: Iterable[int]) -> list[dict[int, int]]:
        """Per finding of the report, the operation on each of the `ranks` that it is about or happens on."""
        shown = list(ranks)
        return [self._of(finding, shown) for finding in self.report.findings]

    def of_read(self, read: Read, rank: int) -> int | None:
        """The kernel that reads; None if the rank never came to it."""
        if rank not in self.kernels:
            started = self.report.timeline.ranks[rank].started_ns
            self.kernels[rank] = {
                _kernel_key(operation, started[index]): index
                for index, operation in enumerate(self.report.timeline.program.ranks[rank].operations)
                if isinstance(operation, Kernel)
            }
        if read.start_ns[rank] is None:
            return None
        key = (read.iteration, read.microbatch, read.phase, read.use, read.recomputed, read.start_ns[rank])
        return self.kernels[rank].get(key)

    def jump_to_read(self, read: Read, extent: Extent) -> Jump | None:
        """Where the page shows the read, on the first rank on which it is not fresh."""
        ranks = sorted(range(len(read.state)), key=lambda rank: read.state[rank] in ("fresh", None))
        for rank in ranks:
            index = self.of_read(read, rank)
            place = None if index is None else extent.place({rank: index})
            if place is not None:
                return Jump(*place)
        return None

    def _of(self, finding: Finding, ranks: list[int]) -> dict[int, int]:
        about = [rank for rank in ranks if not finding.ranks or rank in finding.ranks]
        if finding.kind in ("collective-mismatch", "collective-swap"):
            about = ranks  # the finding names two of them, but all take part
        if finding.kind in READ_ORDERS or finding.kind in ("version-mismatch", "never-gathered"):
            read = self._read(finding)
            found = {} if read is None else {rank: self.of_read(read, rank) for rank in about or ranks}
        elif finding.kind == "framework-error":
            found = {rank: self._index(rank).exception for rank in about}
        elif finding.kind == "optimizer-race":
            found = {rank: self._index(rank).optimizers.get(finding.iteration) for rank in about}
        else:
            sequence = self._sequence(finding)
            found = {} if sequence is None else {rank: self._index(rank).dispatch(sequence) for rank in about}
        return {rank: index for rank, index in found.items() if index is not None}

    def _index(self, rank: int) -> _Index:
        return self.indices[id(self.report.timeline.program.ranks[rank])]

    def _read(self, finding: Finding) -> Read | None:
        module = None if finding.kind == "never-gathered" else finding.module
        queue = self.reads.get((finding.kind, finding.iteration, module, finding.bucket))
        if not queue:
            return None
        return queue.popleft() if len(queue) > 1 else queue[0]

    def _sequence(self, finding: Finding) -> int | None:
        mismatch = self.report.timeline.matching.mismatch
        if finding.kind == "collective-mismatch":
            return None if mismatch is None else mismatch.sequence
        if finding.kind == "collective-swap":
            return self.swaps.popleft() if self.swaps else None
        place = (finding.iteration, -1 if finding.bucket is None else finding.bucket)
        self.again[place] += 1
        sequences = self.gathers[place]
        return sequences[self.again[place]] if self.again[place] < len(sequences) else None


def _kernel_key(kernel: Kernel, start_ns: int | None) -> tuple[object, ...]:
    return (kernel.iteration, kernel.microbatch, kernel.phase, kernel.use.name, kernel.recomputed, start_ns)


def _reads_of(report: Report) -> dict[tuple[object, ...], deque[Read]]:
    """The reads that findings are about, in the findings' own order."""
    found: dict[tuple[object, ...], deque[Read]] = defaultdict(deque)
    forward: dict[tuple[object, ...], Read] = {}
    for read in report.reads:
        for kind, order in READ_ORDERS.items():
            if read.order == order:
                found[kind, read.iteration, read.module, read.bucket].append(read)
        if read.order == "undispatched":
            found["never-gathered", read.iteration, None, read.bucket].append(read)
        key = (read.iteration, read.microbatch, read.use, read.bucket)
        if read.phase in ("forward", "functional") and not read.recomputed:
            forward[key] = read
        elif read.phase.startswith("backward") and key in forward and forward[key].age != read.age:
            found["version-mismatch", read.iteration, read.module, read.bucket].append(read)
    return found
