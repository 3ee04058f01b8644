"""Sentences above a timeline that say what the marks mean here, each with a line down to its mark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from simgather.report.plot.builder import read_mark
from simgather.report.plot.names import percent, short_name
from simgather.report.plot.scene import Band
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
    found = [replace(one, at_ns=_middle(band, one.at_ns)) for one in found]
    found.sort(key=lambda one: (MARK_ORDER[one.kind], one.at_ns))
    chosen = sorted(found[:MOST], key=lambda one: one.at_ns)
    return Callouts(shown=tuple(chosen), left_out=len(found) - len(chosen))


def _middle(band: Band, at_ns: int) -> int:
    """The middle of the marked block that begins or runs at the moment: where its mark is."""
    block = next((block for block in band.blocks if block.marks and block.start_ns <= at_ns < block.end_ns), None)
    return at_ns if block is None else (block.start_ns + block.end_ns) // 2


def _stops(report: Report, band: Band) -> Iterator[Callout]:
    failure = report.timeline.program.ranks[band.rank].failure
    if band.stop_ns is not None and failure is not None:
        text = " ".join(failure.text.split()) or "the job dies here"
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
    """A sentence for every two reads; more reads of one kind share a sentence."""
    ungathered = {(one.iteration, one.bucket) for one in report.findings if one.kind == "never-gathered"}
    mismatches = {
        (finding.iteration, finding.module, finding.bucket)
        for finding in report.findings
        if finding.kind == "version-mismatch" and rank in finding.ranks
    }
    groups: dict[tuple[str, bool, str], dict[tuple[str, int], Read]] = defaultdict(dict)
    for read in report.reads:
        if not window.first <= read.iteration <= window.last or read.start_ns[rank] is None:
            continue
        backward = read.phase.startswith("backward")
        kind = read_mark(read, rank)
        if kind is not None:
            never = kind == "stale" and (read.iteration, read.bucket) in ungathered
            how: str = "never" if never else read.order
            groups[kind, backward, how].setdefault((read.use, read.bucket), read)
        elif backward and (read.iteration, read.module, read.bucket) in mismatches:
            groups["version-mismatch", True, ""].setdefault((read.use, read.bucket), read)
    for (kind, _, how), reads in groups.items():
        few = len(reads) <= 2
        for alike in [[read] for read in reads.values()] if few else [list(reads.values())]:
            yield Callout(at_ns=alike[0].start_ns[rank] or 0, kind=kind, text=_text(kind, how, alike, rank))


def _text(kind: str, how: str, reads: Sequence[Read], rank: int) -> str:
    read, many = reads[0], len(reads) > 1
    names = list(dict.fromkeys(short_name(one.use) for one in reads))
    who = f"{len(reads)} reads by {', '.join(names[:3])}{', …' if len(names) > 3 else ''}" if many else names[0]
    if read.phase.startswith("backward"):
        who += " in backward"
    if kind == "version-mismatch":
        what = "other weights" if many else f"other weights of bucket {read.bucket}"
        return f"{who}: {what} than in the forward pass, so the gradient fits neither"
    hows = _HOW.get((how, kind), "with data that is not this step's").format(it="their buckets" if many else "it")
    return f"{who} {'' if many else f'reads bucket {read.bucket} '}{hows}{_share(kind, reads, rank)}"


_HOW = {
    ("never", "stale"): "although nothing gathers {it} in this iteration",
    ("undispatched", "stale"): "before the all-gather is dispatched",
    ("undispatched", "torn"): "before the all-gather is dispatched, which then moves data under it",
    ("undispatched", "unordered"): "before the all-gather is dispatched; fresh all the same under this timing",
    ("unordered", "stale"): "without waiting for the all-gather, which comes too late",
    ("unordered", "torn"): "without waiting for the all-gather, which is moving the data",
    ("unordered", "unordered"): "without waiting for the all-gather: fresh only by luck of timing",
    ("ordered", "stale"): "behind an all-gather that brought old data",
    ("ordered", "torn"): "while another all-gather moves the data",
}


def _share(kind: str, reads: Sequence[Read], rank: int) -> str:
    if kind not in ("stale", "torn"):
        return ""
    age = max(read.age[rank] or 0 for read in reads)
    old = max(1 - (read.fresh_elements[rank] or 0) / read.elements for read in reads)
    bound = "up to " if kind == "torn" or len(reads) > 1 else ""
    return f": {kind.upper()} weights, {bound}{percent(old)} of them {age} step{'s'[: age > 1]} old"


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
