"""How much of a large timeline the page holds: which ranks and which iterations. What is left out is said there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from simgather.program.operations import Operation, RankProgram
from simgather.report.plot.selection import alike, representatives
from simgather.report.report import Report

MOST_BANDS = 16
MOST_ROWS = 60_000
"""Operations times ranks with times of their own: some 20 bytes each in the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BandOf:
    """One rank to draw, and the undrawn ranks that do the same at the same times. `times` numbers what is alike."""

    rank: int
    alike: tuple[int, ...]
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The ranks drawn and, for each, which of its program's operations: those of the iterations `first` to `last`."""

    bands: tuple[BandOf, ...]
    slices: tuple[slice, ...]
    first: int
    last: int
    left_out: tuple[str, ...]

    def place(self, operations: Mapping[int, int]) -> tuple[int, int] | None:
        """The first band that shows one of the operations, given by rank, and the operation's number in the page."""
        return next(iter(self.places(operations)), None)

    def places(self, operations: Mapping[int, int]) -> Iterator[tuple[int, int]]:
        """Every band that shows one of the operations, given by rank, and the operation's number in the page."""
        for number, (band, part) in enumerate(zip(self.bands, self.slices, strict=True)):
            index = next((operations[rank] for rank in (band.rank, *band.alike) if rank in operations), None)
            if index is not None and part.start <= index < part.stop:
                yield number, index - part.start


def choose_extent(report: Report, most_rows: int = MOST_ROWS) -> Extent:
    """All that fits into `most_rows`, around the first iteration with a finding."""
    bands = _bands(report)
    count = 1 + max((operation.iteration for operation in _operations(report)), default=0)
    focus = min((one.iteration for one in report.findings if one.iteration < count), default=0)
    while len(bands) > 1 and _rows(report, bands)[focus] > most_rows:
        bands = bands[:-1]
    rows = _rows(report, bands)
    first = last = focus
    held = rows[focus]
    for extend_to in (*range(focus - 1, focus - 2, -1), *range(focus + 1, count), *range(focus - 2, -1, -1)):
        if extend_to < 0 or extend_to not in (first - 1, last + 1) or held + rows[extend_to] > most_rows:
            continue
        held += rows[extend_to]
        first, last = min(first, extend_to), max(last, extend_to)
    return Extent(
        bands=tuple(bands),
        slices=tuple(_slice(report.timeline.program.ranks[band.rank], first, last, most_rows) for band in bands),
        first=first,
        last=last,
        left_out=tuple(_left_out(report, bands, (first, last), count, rows[focus] > most_rows)),
    )


def _bands(report: Report) -> list[BandOf]:
    times = {rank: number for number, ranks in enumerate(alike(report)) for rank in ranks}
    if report.workload.dp <= MOST_BANDS:
        return [BandOf(rank=rank, alike=(), times=times[rank]) for rank in range(report.workload.dp)]
    shown = representatives(report, MOST_BANDS)
    return [BandOf(rank=rank, alike=others, times=times[rank]) for rank, others in shown]


def _slice(program: RankProgram, first: int, last: int, most: int) -> slice:
    iterations = [operation.iteration for operation in program.operations]
    start, stop = bisect_left(iterations, first), bisect_right(iterations, last)
    return slice(start, min(stop, start + most))


def _operations(report: Report) -> Iterator[Operation]:
    for program in {id(one): one for one in report.timeline.program.ranks}.values():
        yield from program.operations


def _rows(report: Report, bands: list[BandOf]) -> Counter[int]:
    """Operations per iteration, of ranks with the same times once."""
    rows: Counter[int] = Counter()
    for rank in {band.times: band.rank for band in bands}.values():
        rows.update(operation.iteration for operation in report.timeline.program.ranks[rank].operations)
    return rows


def _left_out(report: Report, bands: list[BandOf], iterations: tuple[int, int], count: int, cut: bool) -> Iterator[str]:
    shown = sum(1 + len(band.alike) for band in bands)
    if shown < report.workload.dp:
        yield f"{len(bands)} of {report.workload.dp} ranks are drawn: {', '.join(str(band.rank) for band in bands)}."
    first, last = iterations
    if last - first + 1 < count:
        which = f"Iteration {first} of {count} is" if first == last else f"Iterations {first}-{last} of {count} are"
        yield f"{which} drawn, to keep this file small; --json has all."
    if cut:
        yield "The iteration is cut off where the file would have become too large."
