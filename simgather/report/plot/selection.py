"""Which iterations and ranks a picture shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from simgather.errors import InputError
from simgather.program.operations import Mark
from simgather.report.report import Report

MOST_BANDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the user asks to see; None leaves the choice to the picture. `iterations` is first and last, both shown."""

    iterations: tuple[int, int] | None = None
    ranks: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The iterations `first` to `last` and when they happen, in nanoseconds of the simulation.

    `starts_ns` has the earliest start of each iteration over all ranks. `cut_short`: the job stops in the last one.
    """

    first: int
    last: int
    starts_ns: tuple[int, ...]
    start_ns: int
    end_ns: int
    cut_short: bool


def begun(report: Report) -> int:
    """How many iterations some rank began."""
    return max((row.iteration for row in report.measures), default=-1) + 1


def choose_iterations(reports: Sequence[Report], selection: Selection) -> tuple[int, int]:
    """First and last iteration to show: what was asked for, else that of the worst finding, else 1, else the last.

    Raises:
        InputError: the first report has no such iterations.

    """
    if selection.iterations is None:
        worst = next((report.findings[0].iteration for report in reports if report.findings), 1)
        one = max(0, min(worst, begun(reports[0]) - 1))
        return one, one
    return checked_iterations(reports[0], selection.iterations) or (0, 0)


def checked_iterations(report: Report, asked: tuple[int, int] | None) -> tuple[int, int] | None:
    """The iterations that were asked for, if any were and the report has them.

    Raises:
        InputError: it does not.

    """
    if asked is None:
        return None
    first, last = asked
    have = begun(report)
    if not 0 <= first <= last:
        raise InputError(f"iterations {first}:{last}: the first comes before the last, and 0 is the first of all")
    if last >= have:
        total = report.workload.training.iterations
        text = f"iterations {first}:{last}: there are iterations 0 to {have - 1}"
        raise InputError(text + (f" of {total}, for the job stops there" if have < total else ""))
    return asked


def checked_ranks(report: Report, asked: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The ranks that were asked for, each once, if any were and the report has them.

    Raises:
        InputError: it does not.

    """
    if asked is None:
        return None
    count = report.workload.dp
    for rank in asked:
        if not 0 <= rank < count:
            raise InputError(f"rank {rank}: there are ranks 0 to {count - 1}")
    return tuple(dict.fromkeys(asked))


def window(report: Report, first: int, last: int) -> Window:
    """When those iterations happen; those that the report never came to are left out."""
    starts: dict[int, int] = {}
    end_ns = 0
    for program, times in zip(report.timeline.program.ranks, report.timeline.ranks, strict=True):
        for operation, enqueued_ns, started_ns, ended_ns in zip(
            program.operations, times.enqueued_ns, times.started_ns, times.ended_ns, strict=True
        ):
            if operation.iteration > last:
                break
            if enqueued_ns is None or operation.iteration < first:
                continue
            if type(operation) is Mark and operation.event == "iteration":
                starts[operation.iteration] = min(enqueued_ns, starts.get(operation.iteration, enqueued_ns))
            end_ns = max(end_ns, enqueued_ns, started_ns or 0, ended_ns or 0)
    shown = sorted(starts) or [first]
    start_ns = starts.get(shown[0], 0)
    stops = shown[-1] == begun(report) - 1
    cut_short = stops and (report.failure is not None or report.timeline.matching.mismatch is not None)
    return Window(
        first=shown[0],
        last=shown[-1],
        starts_ns=tuple(starts.get(iteration, 0) for iteration in shown),
        start_ns=start_ns,
        end_ns=max(end_ns, start_ns),
        cut_short=cut_short,
    )


def alike(report: Report) -> list[tuple[int, ...]]:
    """Ranks grouped by what a timeline shows of them: same program, same times."""
    groups: dict[object, list[int]] = defaultdict(list)
    for rank, (program, times) in enumerate(zip(report.timeline.program.ranks, report.timeline.ranks, strict=True)):
        groups[id(program), times].append(rank)
    return [tuple(ranks) for ranks in groups.values()]


def choose_ranks(report: Report, selection: Selection, most: int = MOST_BANDS) -> list[tuple[int, tuple[int, ...]]]:
    """Ranks to draw, each with the undrawn ranks that look like it.

    All of them if there are at most `most`, else `representatives`.

    Raises:
        InputError: there is no such rank.

    """
    ranks = checked_ranks(report, selection.ranks)
    if ranks is None and report.workload.dp <= most:
        ranks = tuple(range(report.workload.dp))
    if ranks:
        return [(rank, ()) for rank in ranks]
    return representatives(report, most)


def representatives(report: Report, most: int = MOST_BANDS) -> list[tuple[int, tuple[int, ...]]]:
    """One rank of each kind, with the others of its kind; of more kinds those of the findings and the slowest rank."""
    groups = alike(report)
    if len(groups) > most:
        slowest = report.steady.rank if report.steady else 0
        involved = {rank for finding in report.findings[:1] for rank in finding.ranks} | {slowest}
        first = [group for group in groups if involved.intersection(group)][:most]
        first += [group for group in groups if group not in first][: most - len(first)]
        groups = sorted(first)
    return [(group[0], group[1:]) for group in groups]
