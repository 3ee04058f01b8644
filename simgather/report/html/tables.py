"""The report's tables: buckets, measures of every iteration and rank, stale reads, warnings, modules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simgather.report import wording
from simgather.report.html.markup import Markup, element
from simgather.report.html.places import Jump
from simgather.report.report import Report
from simgather.report.wording import runs
from simgather.units import format_count
from simgather.verdict.reads import Read

MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Cell:
    """The head of a column; numbers stand to the right, text to the `left`, and where it may be long it is `wide`."""

    name: str
    unit: str = ""
    left: bool = False
    wide: bool = False


Row = Sequence[str | Markup | None]


def table(caption: str, heads: Sequence[Cell], rows: Sequence[Row], left_out: int = 0) -> Markup:
    """A table that scrolls sideways by itself; None is a dash. The first cell of a row is its head."""
    sides = ["wide" if head.wide else "left" if head.left else None for head in heads]
    head_cells = [
        element("th", head.name, element("small", head.unit) if head.unit else None, scope="col", class_=side)
        for head, side in zip(heads, sides, strict=True)
    ]
    body = [
        element(
            "tr",
            [
                element("td" if number else "th", "-" if cell is None else cell, class_=side, scope=scope)
                for number, (cell, side) in enumerate(zip(row, sides, strict=True))
                for scope in (None if number else "row",)
            ],
        )
        for row in rows
    ]
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", head_cells)),
        element("tbody", body),
    )
    more = (
        element("p", f"{left_out} more rows are left out here; --json has all.", class_="quiet") if left_out else None
    )
    return element(
        "div",
        element("div", whole, class_="scroll", tabindex=0, role="group", aria_label=f"{caption} (table)"),
        more,
        class_="table",
    )


def bucket_table(report: Report) -> Markup:
    """What every bucket holds and how long its all-gather takes."""
    modules = report.workload.modules
    gathers: dict[int, int] = defaultdict(int)
    for collective in report.timeline.matching.collectives:
        if collective.kind == "all-gather":
            gathers[collective.bucket] += 1
    rows = [
        [
            str(bucket.index),
            f"{bucket.numel:,}",
            f"{bucket.numel * report.workload.element_bytes / 1e6:,.1f}",
            wording.ms(report.costs.gather_ns[bucket.index]),
            str(gathers[bucket.index]),
            wording.some(list(dict.fromkeys(modules[placed.module].name for placed in reversed(bucket.parameters)))),
        ]
        for bucket in report.workload.buckets[:MOST_ROWS]
    ]
    heads = [
        Cell("bucket"),
        Cell("elements"),
        Cell("size", "MB"),
        Cell("all-gather", "ms"),
        Cell("gathers"),
        Cell("modules", wide=True),
    ]
    return table("Buckets, in gather order", heads, rows, max(0, len(report.workload.buckets) - MOST_ROWS))


def measures_table(report: Report) -> Markup:
    """Every measure, per iteration and rank."""
    heads = [
        Cell("iteration"),
        Cell("rank"),
        *(Cell(name, "ms") for name in ("forward", "compute", "exposed", "host-bound", "all-gather", "overlapped")),
        Cell("rendezvous", "ms"),
        Cell("lower bound", "ms"),
        Cell("overlap", "%"),
        Cell("schedule", "%"),
    ]
    rows = []
    for row in report.measures[:MOST_ROWS]:
        parts = wording.adding_up(row.forward_ns, [row.compute_ns, row.exposed_ns, row.host_bound_ns])
        times = [row.gather_ns, row.overlapped_ns, row.rendezvous_ns, row.lower_bound_ns]
        rows.append(
            [
                str(row.iteration),
                str(row.rank),
                wording.ms(row.forward_ns),
                *parts,
                *(wording.ms(time) for time in times),
                wording.percent(row.overlap_efficiency),
                wording.percent(row.schedule_efficiency),
            ]
        )
    caption = f"Forward pass per iteration and rank; the verdict is {report.verdict}"
    return table(caption, heads, rows, max(0, len(report.measures) - MOST_ROWS))


def stale_table(report: Report, jump: Callable[[Read], Jump | None]) -> Markup:
    """Reads that are not fresh on every rank, or not ordered; `jump` says where in the timeline a read is."""
    several = report.workload.training.microbatches > 1
    heads = [
        Cell("iteration"),
        *([Cell("microbatch")] if several else []),
        Cell("module", wide=True),
        Cell("pass", left=True),
        Cell("bucket"),
        Cell("order", left=True),
        Cell("what it saw", wide=True),
        Cell("timeline", left=True),
    ]
    rows = []
    for read in report.stale_reads[:MOST_ROWS]:
        place = jump(read)
        rows.append(
            [
                str(read.iteration),
                *([str(read.microbatch)] if several else []),
                read.use,
                read.phase.replace("_", " ") + (" (recomputed)" if read.recomputed else ""),
                str(read.bucket),
                read.order,
                saw(read),
                None if place is None else place.button(f"show {read.use} in iteration {read.iteration}", "show"),
            ]
        )
    return table("Stale and unordered reads", heads, rows, max(0, len(report.stale_reads) - MOST_ROWS))


def saw(read: Read) -> str:
    """What each rank saw, ranks that saw the same together."""
    ranks: dict[str, list[int]] = defaultdict(list)
    for rank, (state, fresh, age) in enumerate(zip(read.state, read.fresh_elements, read.age, strict=True)):
        if state is not None:
            text: str = state
            if state != "fresh" and fresh is not None:
                bound = "at least " if state == "torn" else ""
                text += f", {bound}{100 * fresh / read.elements:.1f} % fresh, age {age}"
            ranks[text].append(rank)
    if len(ranks) == 1 and len(next(iter(ranks.values()))) == len(read.state):
        return f"{next(iter(ranks))} on every rank"
    return "; ".join(f"{text} on rank {runs(who)}" for text, who in ranks.items())


def warnings_table(report: Report) -> Markup:
    """The framework's own warnings, those of the same text together."""
    iterations: dict[str, list[int]] = defaultdict(list)
    for iteration, text in report.warnings:
        iterations[text].append(iteration)
    rows = [[text, runs(sorted(set(where))), str(len(where))] for text, where in iterations.items()]
    heads = [Cell("text", wide=True), Cell("iterations"), Cell("times")]
    return table("What the framework warns", heads, rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS))


def module_table(report: Report) -> Markup:
    """The modules as they were resolved, in registration order."""
    modules = report.workload.modules
    rows = [
        [
            module.name,
            format_count(sum(parameter.numel for parameter in module.parameters)),
            runs(sorted({read.bucket for read in reads})) or None,
            wording.ms(module.forward_ns),
            wording.ms(module.backward_ns),
        ]
        for module, reads in zip(modules[:MOST_ROWS], report.workload.reads, strict=False)
    ]
    heads = [
        Cell("module", wide=True),
        Cell("parameters"),
        Cell("buckets"),
        Cell("forward", "ms"),
        Cell("backward", "ms"),
    ]
    return table("Modules, in registration order", heads, rows, max(0, len(modules) - MOST_ROWS))
