"""The report for people, as sections: verdict first, then what it rests on, then the one next step worth taking.

A section is a title and either lines or a table; `plain` and `terminal` print them. Every number is in the report's
data too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from simgather.report.explanation import explain
from simgather.report.report import Report
from simgather.report.sentences import about, next_step, verdict_sentence
from simgather.report.table import Column, Table
from simgather.report.wording import adding_up, ms, percent, ranges, some
from simgather.verdict.findings import KINDS, Finding
from simgather.verdict.measures import Measures

WIDTH = 80
MOST_ROWS = 12

BUCKET_COLUMNS = (
    Column("bucket", "", 7),
    Column("elements", "(count)", 13),
    Column("size", "(MB)", 9),
    Column("gather", "(ms)", 8),
    Column("modules", "", 38, left=True),
)

FORWARD_COLUMNS = (
    Column("iter", "", 5),
    Column("forward", "(ms)", 9),
    Column("compute", "(ms)", 9),
    Column("exposed", "(ms)", 8),
    Column("host", "(ms)", 7),
    Column("gather", "(ms)", 7),
    Column("hidden", "(ms)", 7),
    Column("overlap", "(%)", 7),
    Column("sched", "(%)", 6),
    Column("stale", "reads", 5),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A titled part of the text: a table, lines of at most 80 columns, or both."""

    title: str
    table: Table | None = None
    lines: tuple[str, ...] = ()


def heading(report: Report) -> list[str]:
    """What was asked, with resolved numbers, and what was assumed; the first line is the scenario's name."""
    lines = [report.scenario.name, *about(report), *report.notes]
    return [line for text in lines for line in wrap(text, WIDTH - 2, subsequent_indent="  ")]


def verdict_lines(report: Report) -> list[str]:
    """The verdict in one sentence."""
    return wrap(f"verdict: {report.verdict.upper()}, {verdict_sentence(report)}", WIDTH, subsequent_indent="  ")


def sections(report: Report, alternative: Report | None = None) -> list[Section]:
    """All parts after the verdict; `alternative` is the same scenario under the policy to try instead, if any."""
    parts = [
        _buckets(report),
        _forward(report),
        Section(title="findings", lines=tuple(_findings(report))),
        Section(title="why", lines=tuple(_sentences(explain(report)))),
        Section(title="the framework stops", lines=tuple(_failure(report))),
        Section(title="the framework warns", lines=tuple(_warnings(report))),
        Section(title="notes", lines=tuple(_remarks(report))),
        Section(title="next step", lines=tuple(_sentences([next_step(report, alternative)]))),
    ]
    return [part for part in parts if part.table or part.lines]


def _sentences(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from wrap(sentence, WIDTH, subsequent_indent="  ")


def _buckets(report: Report) -> Section:
    modules = report.workload.modules
    rows = [
        [
            str(bucket.index),
            str(bucket.numel),
            f"{bucket.numel * report.workload.element_bytes / 1e6:.1f}",
            ms(report.costs.gather_ns[bucket.index]),
            some(list(dict.fromkeys(modules[placed.module].name for placed in reversed(bucket.parameters))), 38),
        ]
        for bucket in report.workload.buckets[:MOST_ROWS]
    ]
    left_out = _left_out(len(report.workload.buckets) - MOST_ROWS, "buckets")
    return Section(title="buckets, in gather order", table=Table(BUCKET_COLUMNS, rows), lines=left_out)


def _forward(report: Report) -> Section:
    iterations = sorted({row.iteration for row in report.measures})
    shown = iterations
    if len(iterations) > MOST_ROWS:
        shown = [*iterations[: MOST_ROWS // 2], *iterations[-MOST_ROWS // 2 :]]
    rows = []
    for iteration in shown:
        row = report.slowest(iteration)
        if row is not None:
            stale = sum(read.iteration == iteration for read in report.stale_reads)
            rows.append(_forward_row(row, stale))
    return Section(
        title="forward pass on the slowest rank; forward = compute + exposed + host",
        table=Table(FORWARD_COLUMNS, rows),
        lines=_left_out(len(iterations) - len(shown), "iterations") + _rendezvous(report),
    )


def _rendezvous(report: Report) -> tuple[str, ...]:
    """Which rank the others wait for, where any does."""
    if report.steady is None:
        return ()
    iteration = report.steady.iteration
    rows = [row for row in report.measures if row.iteration == iteration]
    longest = max(row.rendezvous_ns for row in rows)
    last = min(rows, key=lambda row: row.rendezvous_ns)
    if not longest:
        return ()
    return (f"# iteration {iteration}: ranks spin up to {ms(longest)} ms in rendezvous, rank {last.rank} the least",)


def _forward_row(row: Measures, stale: int) -> list[str | None]:
    return [
        str(row.iteration),
        ms(row.forward_ns),
        *adding_up(row.forward_ns, (row.compute_ns, row.exposed_ns, row.host_bound_ns)),
        ms(row.gather_ns),
        ms(row.overlapped_ns),
        percent(row.overlap_efficiency),
        percent(row.schedule_efficiency),
        str(stale),
    ]


def _findings(report: Report) -> Iterator[str]:
    by_kind: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        by_kind[finding.kind].append(finding)
    for kind, findings in by_kind.items():
        iterations = sorted({finding.iteration for finding in findings})
        text = f"{kind} ({len(findings)}x, {ranges(iterations, 'iteration')}): {KINDS[findings[0].kind]}"
        yield from wrap(text, WIDTH, subsequent_indent="  ")
        yield from wrap(f"first: {findings[0].message}", WIDTH, initial_indent="  ", subsequent_indent="    ")


def _failure(report: Report) -> Iterator[str]:
    failure = report.failure
    if failure is not None:
        text = f"{failure.type_name}({failure.text!r}) in iteration {failure.iteration}, phase {failure.phase}"
        yield from wrap(text, WIDTH, subsequent_indent="  ")


def _warnings(report: Report) -> Iterator[str]:
    if report.warnings:
        iterations = sorted({iteration for iteration, _ in report.warnings})
        yield f"{len(report.warnings)}x, {ranges(iterations, 'iteration')}:"
        for text in dict.fromkeys(text for _, text in report.warnings):
            yield from wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _remarks(report: Report) -> Iterator[str]:
    for remark in report.remarks:
        yield from wrap(f"{remark.rule}: {remark.text}", WIDTH, subsequent_indent="  ")
        yield from wrap(
            f"see {remark.see}", WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False
        )


def _left_out(count: int, what: str) -> tuple[str, ...]:
    return (f"# {count} more {what}: see --json",) if count > 0 else ()
