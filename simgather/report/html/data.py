"""The timeline as the page's script reads it: the operations of every program once, the times of alike ranks once.

Per operation a letter, a number and a few references; the script knows how to draw them, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simgather.program.operations import Dispatch, HostSync, Kernel, Mark, Operation, OptimizerKernel, RankProgram, Wait
from simgather.report.html.columns import pack
from simgather.report.html.extent import Extent
from simgather.report.html.handles import HANDLES, handles
from simgather.report.html.numbering import Numbers
from simgather.report.html.places import Places
from simgather.report.plot.names import bucket_modules, shorter_forms
from simgather.report.plot.style import BUCKET_COLOURS, MARKS, ink_on
from simgather.report.report import Report
from simgather.verdict.exposure import exposures
from simgather.verdict.reads import Read

KERNELS = {"forward": "f", "functional": "u", "backward": "b", "backward_functional": "v"}
RECOMPUTED = "r"
MARK_LETTERS = {"iteration": "i", "microbatch": "m", "warning": "!", "exception": "e"}
DISPATCHES = {"all-gather": "g", "reduce-scatter": "s"}
WAITS = {"all-gather": "w", "reduce-scatter": "x"}
FINDING_MARKS = {
    "framework-error": "error",
    "collective-mismatch": "hang",
    "collective-swap": "swap",
    "version-mismatch": "version-mismatch",
    "optimizer-race": "optimizer-race",
}
"""Findings that are marked at their place; those about reads are marked by what the read saw."""

ORDERS = ("initial", "ordered", "unordered", "undispatched")
NOT_RUN = "-"


def timeline_data(
    report: Report, extent: Extent, places: Places, of_findings: Sequence[dict[int, int]]
) -> dict[str, Any]:
    """Everything that the script draws, looks up or says; `of_findings` as `places` gives them."""
    return _Packer(report, extent, places).pack(of_findings)


class _Packer:
    """Packs one report; operations are counted from the first that is in the page."""

    def __init__(self, report: Report, extent: Extent, lookup: Places) -> None:
        self.report = report
        self.lookup = lookup
        self.extent = extent
        self.bands = extent.bands
        self.uses: Numbers[tuple[str, ...]] = Numbers()
        self.texts: Numbers[str] = Numbers()
        self.seen: Numbers[tuple[Any, ...]] = Numbers()
        self.info: Numbers[tuple[tuple[int, int], ...]] = Numbers()
        self.states = list(HANDLES)

    def pack(self, of_findings: Sequence[dict[int, int]]) -> dict[str, Any]:
        report = self.report
        programs: Numbers[int] = Numbers()
        times: Numbers[int] = Numbers()
        by_program: dict[int, int] = {}
        by_times: dict[int, int] = {}
        bands = []
        for number, band in enumerate(self.bands):
            program = programs[id(report.timeline.program.ranks[band.rank])]
            by_program.setdefault(program, number)
            by_times.setdefault(times[band.times], number)
            bands.append({"rank": band.rank, "alike": band.alike, "program": program, "times": times[band.times]})
        packed_programs = [self._program(number) for number in by_program.values()]
        return {
            "bands": bands,
            "programs": packed_programs,
            "times": [self._times(number) for number in by_times.values()],
            "transfers": self._transfers(),
            "uses": list(self.uses),
            "texts": list(self.texts),
            "info": list(self.info),
            "seen": list(self.seen),
            "marks": list(self._marks(of_findings)),
            "buckets": [
                [bucket_modules(report.workload, bucket.index), bucket.numel * report.workload.element_bytes]
                for bucket in report.workload.buckets
            ],
            "host": [report.costs.launch_ns, report.costs.dispatch_ns, report.costs.wait_ns],
            "focus": self._focus(),
            "words": {
                "orders": ORDERS,
                "handles": [HANDLES[state] for state in self.states],
                "marks": {kind: [mark.letter, mark.shape, mark.meaning] for kind, mark in MARKS.items()},
                "colours": [[colour, ink_on(colour)] for colour in BUCKET_COLOURS],
            },
        }

    def _operations(self, number: int) -> tuple[RankProgram, range]:
        program = self.report.timeline.program.ranks[self.bands[number].rank]
        return program, range(*self.extent.slices[number].indices(len(program.operations)))

    def _program(self, number: int) -> dict[str, Any]:
        program, indices = self._operations(number)
        rank = self.bands[number].rank
        reads: dict[int, list[Read]] = {}
        for read in self.report.reads:
            index = self.lookup.of_read(read, rank)
            if index is not None:
                reads.setdefault(index, []).append(read)
        handle_of = dict(
            zip(
                (index for index, item in enumerate(program.operations) if isinstance(item, Kernel)),
                handles(program, self.report.workload),
                strict=True,
            )
        )
        operations = [program.operations[index] for index in indices]
        return {
            "kinds": "".join(_letter(operation) for operation in operations),
            "args": pack(self._argument(operation) for operation in operations),
            "sequences": pack(item.sequence for item in operations if isinstance(item, Dispatch | Wait)),
            "info": pack(self._info(reads.get(index, []), handle_of[index]) for index in indices if index in handle_of),
        }

    def _argument(self, operation: Operation) -> int | None:
        if isinstance(operation, Kernel):
            return self.uses[operation.use.name, *shorter_forms(operation.use.name)]
        if isinstance(operation, Dispatch | Wait):
            return operation.bucket
        if not isinstance(operation, Mark):
            return None
        return operation.argument if isinstance(operation.argument, int) else self.texts[str(operation.argument)]

    def _info(self, reads: Sequence[Read], states: Sequence[str]) -> int:
        """The number of what the kernel reads: what each read saw, on every band, and its handle."""
        named = [self.states.index(state) for state in states]  # type: ignore[arg-type]
        return self.info[tuple((self._seen(read), handle) for read, handle in zip(reads, named, strict=False))]

    def _seen(self, read: Read) -> int:
        ranks = [band.rank for band in self.bands]
        return self.seen[
            read.bucket,
            ORDERS.index(read.order),
            read.elements,
            "".join((read.state[rank] or NOT_RUN)[0] for rank in ranks),
            tuple(read.fresh_elements[rank] for rank in ranks),
            tuple(read.age[rank] for rank in ranks),
            "".join(_mark(read, rank) for rank in ranks),
        ]

    def _times(self, number: int) -> dict[str, Any]:
        program, indices = self._operations(number)
        rank = self.bands[number].rank
        times = self.report.timeline.ranks[rank]
        enqueued = [times.enqueued_ns[index] for index in indices]
        started = [times.started_ns[index] for index in indices]
        ended = [times.ended_ns[index] for index in indices]
        nccl = [isinstance(program.operations[index], Dispatch) for index in indices]
        return {
            "enqueued": pack(enqueued),
            "started": pack(start for start, is_nccl in zip(started, nccl, strict=True) if not is_nccl),
            "ready": pack(start for start, is_nccl in zip(started, nccl, strict=True) if is_nccl),
            "ended": pack(end for end, is_nccl in zip(ended, nccl, strict=True) if not is_nccl),
            "lost": list(self._lost(program, indices, rank)),
        }

    def _lost(self, program: RankProgram, indices: range, rank: int) -> Iterator[tuple[int, int, int, int | None]]:
        """Per forward kernel that lost time: operation, host-bound and exposed nanoseconds, bucket waited for."""
        started = self.report.timeline.ranks[rank].started_ns
        lost = {(one.iteration, one.use, one.start_ns): one for one in exposures(self.report.timeline, rank)}
        for index in indices:
            operation = program.operations[index]
            if isinstance(operation, Kernel) and operation.in_forward_pass:
                one = lost.get((operation.iteration, operation.use.name, started[index] or 0))
                if one is not None:
                    yield index - indices.start, one.host_bound_ns, one.exposed_ns, one.bucket

    def _transfers(self) -> dict[str, Any]:
        timeline = self.report.timeline
        last = -1
        for number in range(len(self.bands)):
            program, indices = self._operations(number)
            taken = (program.operations[index] for index in reversed(indices))
            last = max(last, next((item.sequence for item in taken if isinstance(item, Dispatch)), -1))
        count = last + 1
        return {
            "started": pack(timeline.transfer_start_ns[:count]),
            "ended": pack(timeline.transfer_end_ns[:count]),
        }

    def _marks(self, of_findings: Sequence[dict[int, int]]) -> Iterator[tuple[int, int, str]]:
        """Band, operation and kind of every mark that is not a read's own."""
        for finding, place in zip(self.report.findings, of_findings, strict=True):
            kind = FINDING_MARKS.get(finding.kind)
            if kind is not None:
                yield from ((*at, kind) for at in self.extent.places(place))

    def _focus(self) -> int:
        """The iteration to show first: the first with a finding, else the first that gathers."""
        found = [one.iteration for one in self.report.findings]
        first = min(found, default=1)
        return min(max(first, self.extent.first), self.extent.last)


def _letter(operation: Operation) -> str:
    if isinstance(operation, Kernel):
        return RECOMPUTED if operation.recomputed else KERNELS[operation.phase]
    if isinstance(operation, Dispatch | Wait):
        return (DISPATCHES if isinstance(operation, Dispatch) else WAITS)[operation.collective]
    if isinstance(operation, OptimizerKernel):
        return "o"
    return "y" if isinstance(operation, HostSync) else MARK_LETTERS[operation.event]


def _mark(read: Read, rank: int) -> str:
    """``s``, ``t`` or ``u`` for a read that is stale, torn or only by luck fresh."""
    state = read.state[rank]
    if state is None:
        return NOT_RUN
    if state != "fresh":
        return state[0]
    return "u" if read.order in ("unordered", "undispatched") else NOT_RUN
