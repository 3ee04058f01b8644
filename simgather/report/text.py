"""The report as a person reads it: verdict first, then what it rests on, then the one next step worth taking.

Plain text of at most 80 columns; lines that are not data start with ``#``. Every number is in the report's data too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from textwrap import wrap

from simgather.report.advice import alternative_policy, largest_loss
from simgather.report.explanation import explain
from simgather.report.report import VERDICTS, Report
from simgather.report.table import Column, table_lines
from simgather.units import format_bytes, format_count, format_time
from simgather.verdict.findings import KINDS, Finding
from simgather.verdict.measures import Measures

WIDTH = 80
MOST_ROWS = 12

BUCKET_COLUMNS = (
    Column("bucket", "", 7),
    Column("elements", "(count)", 13),
    Column("size", "(MB)", 9),
    Column("gather", "(ms)", 8),
    Column("modules", "", 40, left=True),
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


def render(report: Report, alternative: Report | None = None) -> str:
    """The whole text; `alternative` is the same scenario under the policy to try instead, if there is one."""
    sections = [
        _header(report),
        _verdict(report),
        ["# buckets, in gather order", *_buckets(report)],
        ["# forward pass on the slowest rank; forward = compute + exposed + host", *_forward(report)],
        _findings(report),
        _why(report),
        _framework(report),
        _next_step(report, alternative),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _header(report: Report) -> list[str]:
    scenario, workload, costs = report.scenario, report.workload, report.costs
    training = workload.training
    parameters = sum(parameter.numel for module in workload.modules for parameter in module.parameters)
    policy = scenario.policy.name + (f" (depth {scenario.policy.depth})" if scenario.policy.depth is not None else "")
    lines = [
        scenario.name,
        (
            f"policy {policy}, {_count(workload.dp, 'GPU')}, {_count(training.iterations, 'iteration')} of "
            f"{_count(training.microbatches, 'microbatch', 'es')}, recompute {training.recompute}"
        ),
        (
            f"{_count(len(workload.modules), 'module')}, {parameters:,} parameters of {workload.element_bytes} bytes, "
            f"{_count(len(workload.buckets), 'bucket')}"
        ),
        f"all-gather: {_gather_cost(report)}",
        (
            f"host: launch {format_time(costs.launch_ns)}, wait {format_time(costs.wait_ns)}, "
            f"collective {format_time(costs.dispatch_ns)}; connections {scenario.cluster.connections}"
        ),
        *report.notes,
    ]
    return [line for text in lines for line in _comment(text)]


def _gather_cost(report: Report) -> str:
    gather = report.scenario.cluster.gather
    if gather.times_ns is not None:
        return "fixed times per bucket, from the scenario"
    return (
        f"latency {format_time(gather.latency_ns or 0)} + size x (n-1)/n / {format_bytes(gather.bus_bandwidth or 0)}/s"
    )


def _verdict(report: Report) -> list[str]:
    verdict = report.verdict
    text = f"verdict: {verdict.upper()}, {VERDICTS[verdict]}"
    if verdict in ("stale", "race", "error", "hang") and report.stale_reads:
        modules = list(dict.fromkeys(read.use for read in report.stale_reads))
        iterations = sorted({read.iteration for read in report.stale_reads})
        text += (
            f"; {_count(len(report.stale_reads), 'stale or unordered read')} in {_ranges(iterations, 'iteration')} "
            f"by {_some(modules)}"
        )
    return wrap(text, WIDTH, subsequent_indent="  ")


def _buckets(report: Report) -> list[str]:
    modules = report.workload.modules
    rows = [
        [
            str(bucket.index),
            str(bucket.numel),
            f"{bucket.numel * report.workload.element_bytes / 1e6:.1f}",
            _ms(report.costs.gather_ns[bucket.index]),
            _some(list(dict.fromkeys(modules[placed.module].name for placed in reversed(bucket.parameters))), 38),
        ]
        for bucket in report.workload.buckets
    ]
    return table_lines(BUCKET_COLUMNS, rows[:MOST_ROWS]) + _left_out(len(rows) - MOST_ROWS, "buckets")


def _forward(report: Report) -> list[str]:
    iterations = sorted({row.iteration for row in report.measures})
    if len(iterations) > MOST_ROWS:
        iterations = [*iterations[: MOST_ROWS // 2], *iterations[-MOST_ROWS // 2 :]]
    rows = []
    for iteration in iterations:
        row = report.slowest(iteration)
        if row is not None:
            stale = sum(read.iteration == iteration for read in report.stale_reads)
            rows.append(_forward_row(row, stale))
    left_out = len({row.iteration for row in report.measures}) - len(iterations)
    return table_lines(FORWARD_COLUMNS, rows) + _left_out(left_out, "iterations")


def _forward_row(row: Measures, stale: int) -> list[str | None]:
    parts = _adding_up(row.forward_ns, (row.compute_ns, row.exposed_ns, row.host_bound_ns))
    return [
        str(row.iteration),
        _ms(row.forward_ns),
        *parts,
        _ms(row.gather_ns),
        _ms(row.overlapped_ns),
        _percent(row.overlap_efficiency),
        _percent(row.schedule_efficiency),
        str(stale),
    ]


def _findings(report: Report) -> list[str]:
    by_kind: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        by_kind[finding.kind].append(finding)
    lines = ["# findings"] if by_kind else []
    for kind, findings in by_kind.items():
        iterations = sorted({finding.iteration for finding in findings})
        text = f"{kind} ({len(findings)}x, {_ranges(iterations, 'iteration')}): {KINDS[findings[0].kind]}"
        lines += wrap(text, WIDTH, subsequent_indent="  ")
        lines += wrap(f"first: {findings[0].message}", WIDTH, initial_indent="  ", subsequent_indent="    ")
    return lines


def _why(report: Report) -> list[str]:
    sentences = explain(report)
    if not sentences:
        return []
    return ["# why", *(line for text in sentences for line in wrap(text, WIDTH, subsequent_indent="  "))]


def _framework(report: Report) -> list[str]:
    lines = []
    if report.failure is not None:
        failure = report.failure
        text = f"{failure.type_name}({failure.text!r}) in iteration {failure.iteration}, phase {failure.phase}"
        lines += ["# the framework stops", *wrap(text, WIDTH, subsequent_indent="  ")]
    if report.warnings:
        iterations = sorted({iteration for iteration, _ in report.warnings})
        lines += ["# the framework warns", f"{len(report.warnings)}x, {_ranges(iterations, 'iteration')}:"]
        for text in dict.fromkeys(text for _, text in report.warnings):
            lines += wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return lines


def _next_step(report: Report, alternative: Report | None) -> list[str]:
    text = _compare(report, alternative) if alternative is not None else _where_time_goes(report)
    return ["# next step", *wrap(text, WIDTH, subsequent_indent="  ")]


def _compare(report: Report, alternative: Report) -> str:
    policy = alternative_policy(report)
    if alternative.verdict != "safe":
        return (
            f"no built-in policy gets this scenario through: even {policy} ends in {alternative.verdict.upper()}; mend "
            "what the findings name first."
        )
    ours, theirs = report.steady, alternative.steady
    text = f"{policy} instead is safe"
    if theirs is not None:
        text += f": forward {_ms(theirs.forward_ns)} ms, exposed {_ms(theirs.exposed_ns)} ms"
        if theirs.overlap_efficiency is not None:
            text += f", overlap {_percent(theirs.overlap_efficiency)} %"
        text += ", 0 stale reads"
    if ours is not None and theirs is not None and ours.forward_ns and theirs.forward_ns and report.failure is None:
        difference = theirs.forward_ns - ours.forward_ns
        percent = 100 * difference / ours.forward_ns
        text += f"; that is {_ms(difference, sign=True)} ms ({percent:+.1f} %) of forward time per iteration"
        if report.verdict == "stale":
            text += (
                ", the price of reading this step's weights" if difference > 0 else ": correctness costs nothing here"
            )
    if alternative.warnings:
        text += f"; it warns {len(alternative.warnings)}x that the orders do not match"
    return text + f". Try it: --set policy={policy}"


def _where_time_goes(report: Report) -> str:
    if report.verdict != "safe":
        return "no built-in policy gets this scenario through; mend what the findings name first."
    loss = largest_loss(report)
    if loss is None:
        return "nothing: no forward kernel is exposed or host-bound."
    exposure = loss.exposure
    if exposure.host_bound_ns > exposure.exposed_ns:
        return (
            f"the host is the limit: {exposure.use} is launched {format_time(exposure.host_bound_ns)} after its stream "
            f"ran dry, {100 * loss.share_of_forward:.1f} % of the forward time."
        )
    bucket = "" if exposure.bucket is None else f" for bucket {exposure.bucket}"
    text = (
        f"the largest loss is {exposure.use}: it waits {format_time(exposure.exposed_ns)}{bucket}, "
        f"{100 * loss.share_of_forward:.1f} % of the forward time. "
    )
    if exposure.bucket == 0:
        return text + "The first gather has nothing to hide behind: a smaller first bucket pays most."
    return text + "What brings that gather forward pays most: another bucket size, or registration in execution order."


def _adding_up(total_ns: int | None, parts_ns: Sequence[int | None]) -> list[str | None]:
    """Parts rounded to a microsecond such that they add up to the rounded total, if the exact ones do."""
    known = [part for part in parts_ns if part is not None]
    if total_ns is None or len(known) != len(parts_ns) or sum(known) != total_ns:
        return [_ms(part) for part in parts_ns]
    floors = [part // 1000 for part in known]
    largest_first = sorted(range(len(known)), key=lambda index: -(known[index] % 1000))
    for index in largest_first[: round(total_ns / 1000) - sum(floors)]:
        floors[index] += 1
    return [f"{floor / 1000:.3f}" for floor in floors]


def _ms(ns: int | None, *, sign: bool = False) -> str | None:
    if ns is None:
        return None
    return f"{round(ns / 1000) / 1000:{'+' if sign else ''}.3f}"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}"


def _comment(text: str) -> Iterator[str]:
    yield from wrap(text, WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _left_out(count: int, what: str) -> list[str]:
    return [f"# {count} more {what}: see --json"] if count > 0 else []


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{format_count(number) if number > 9999 else number} {noun}{plural if number != 1 else ''}"


def _ranges(numbers: Sequence[int], noun: str) -> str:
    """``iteration 3`` or ``iterations 1-4, 7``, from a sorted list."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return f"{noun}{'s' if len(numbers) > 1 else ''} {text}"


def _some(names: Sequence[str], width: int = 160) -> str:
    """As many names as fit, then how many more; the first is shortened from the left if it must be."""
    text = ""
    for index, name in enumerate(names):
        rest = len(names) - index - 1
        room = width - (len(f" +{rest} more") if rest else 0)
        if not text:
            text = _shortened(name, room)
        elif len(text) + 2 + len(name) <= room:
            text += f", {name}"
        else:
            return f"{text} +{rest + 1} more"
    return text


def _shortened(name: str, width: int) -> str:
    """A dotted name without as many leading components as it takes to fit."""
    while len(name) > width and "." in name.lstrip("."):
        name = ".." + name.lstrip(".").split(".", 1)[1]
    return name if len(name) <= width else name[: width - 2] + ".."
