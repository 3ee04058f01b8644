"""Sentences above a timeline that say what the marks mean here, each with a line down to its mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simgather.report.plot.names import short_name
from simgather.report.plot.scene import Band, read_mark
from simgather.report.plot.selection import Window
from simgather.report.plot.style import MARK_ORDER
from simgather.report.report import Report
from simgather.verdict.reads import Read

MOST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Callout:
    """One sentence about what happens at `at_ns`."""

    at_ns: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Callouts:
    """The sentences to write, in order of time, and how many more there would be."""

    shown: tuple[Callout, ...]
    left_out: int


def make_callouts(report: Report, band: Band, window: Window) -> Callouts:
    """What went wrong on the rank in the window: the worst first into the choice, one for reads that look alike."""
    found = [*_stops(report, band), *_swaps(band), *_reads(report, band.rank, window)]
    found.sort(key=lambda one: (MARK_ORDER[one.kind], one.at_ns))
    chosen = sorted(found[:MOST], key=lambda one: one.at_ns)
    return Callouts(shown=tuple(chosen), left_out=len(found) - len(chosen))


def _stops(report: Report, band: Band) -> Iterator[Callout]:
    failure = report.timeline.program.ranks[band.rank].failure
    if band.stop_ns is not None and failure is not None:
        text = " ".join(failure.text.split())
        yield Callout(at_ns=band.stop_ns, kind="error", text=f"{failure.type_name} in {failure.phase}: {text}")
    mismatch = report.timeline.matching.mismatch
    hung = next((transfer for transfer in band.transfers if transfer.mark == "hang"), None)
    if mismatch is not None and hung is not None:
        parties = "; ".join(
            f"rank {party.rank} is in {party.dispatch.collective} of bucket {party.dispatch.bucket}"
            if party.dispatch
            else f"rank {party.rank} has nothing left to issue"
            for party in mismatch.parties
        )
        yield Callout(at_ns=hung.ready_ns, kind="hang", text=f"{parties}: they never meet, the job hangs")


def _swaps(band: Band) -> Iterator[Callout]:
    swaps = [transfer for transfer in band.transfers if transfer.mark == "swap"]
    if swaps:
        yield Callout(
            at_ns=swaps[0].start_ns,
            kind="swap",
            text=f"rank {band.rank} issues bucket {swaps[0].bucket}, another rank another bucket of the same size: "
            "the data lands in the wrong bucket",
        )


def _reads(report: Report, rank: int, window: Window) -> Iterator[Callout]:
    seen = set()
    mismatches = {
        (finding.iteration, finding.module, finding.bucket)
        for finding in report.findings
        if finding.kind == "version-mismatch" and rank in finding.ranks
    }
    for read in report.reads:
        at_ns = read.start_ns[rank]
        if not window.first <= read.iteration <= window.last or at_ns is None:
            continue
        kind = read_mark(read, rank)
        backward = read.phase.startswith("backward")
        place = (read.use, read.bucket, backward, kind)
        if kind is not None and place not in seen:
            seen.add(place)
            yield Callout(at_ns=at_ns, kind=kind, text=_read_text(read, rank))
        elif backward and (read.iteration, read.module, read.bucket) in mismatches and place not in seen:
            seen.add(place)
            text = f"{short_name(read.use)}: backward uses other weights of bucket {read.bucket} than its forward did"
            yield Callout(at_ns=at_ns, kind="version-mismatch", text=text)


def _read_text(read: Read, rank: int) -> str:
    who = short_name(read.use) + (" (backward)" if read.phase.startswith("backward") else "")
    state, fresh, age = read.state[rank], read.fresh_elements[rank] or 0, read.age[rank] or 0
    old = f"{100 - 100 * fresh / read.elements:.0f} % of them {age} step{'s'[: age > 1]} old"
    if read.order == "undispatched":
        text = f"{who} reads bucket {read.bucket} before its all-gather is dispatched"
        return text if state == "fresh" else f"{text}: STALE weights, {old}"
    if state == "torn":
        return f"{who} reads bucket {read.bucket} while its all-gather moves the data: TORN weights"
    if state == "stale":
        text = "does not wait for its all-gather" if read.order == "unordered" else "gets old data all the same"
        return f"{who} reads bucket {read.bucket} and {text}: STALE weights, {old}"
    return f"{who} reads bucket {read.bucket} and does not wait for its all-gather: fresh only by luck of timing"


def rows_for(places: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """A row for each text, given where it begins and ends, so that no two of a row come closer than `gap`."""
    ends: list[float] = []
    rows = []
    for left, right in places:
        row = next((number for number, end in enumerate(ends) if end + gap <= left), len(ends))
        if row == len(ends):
            ends.append(right)
        else:
            ends[row] = right
        rows.append(row)
    return rows
