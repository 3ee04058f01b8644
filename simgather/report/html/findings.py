"""The list of findings, worst kind first; every finding is a button that goes to its place in the timeline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from simgather.report.html.markup import Markup, element
from simgather.report.html.places import Jump
from simgather.report.report import Report
from simgather.report.wording import runs
from simgather.verdict.findings import KINDS, Finding, FindingKind

MOST_ROWS = 60
"""Of one kind; rows with the same message in several iterations count once."""

MOST_ITERATIONS = 12

Found = tuple[Finding, Jump | None]


def findings_section(report: Report, jumps: Sequence[Jump | None]) -> Markup:
    """All findings; `jumps` has the place of each, None if the timeline does not show it."""
    kinds: dict[FindingKind, dict[str, list[Found]]] = defaultdict(lambda: defaultdict(list))
    for finding, jump in zip(report.findings, jumps, strict=True):
        kinds[finding.kind][finding.message].append((finding, jump))
    if not kinds:
        body: list[Markup] = [element("p", "Nothing was found.", class_="quiet")]
    else:
        hint = "Each one goes to its place in the timeline."
        body = [element("p", hint, class_="quiet no-print"), *(_kind(kind, rows) for kind, rows in kinds.items())]
    return element("section", element("h2", f"Findings ({len(report.findings)})"), body, class_="card", id="findings")


def _kind(kind: FindingKind, rows: dict[str, list[Found]]) -> Markup:
    found = [one for row in rows.values() for one, _ in row]
    iterations = sorted({one.iteration for one in found})
    where = f"{len(found)}x, iteration{'s'[: len(iterations) > 1]} {runs(iterations)}"
    left_out = len(rows) - MOST_ROWS
    return element(
        "details",
        element(
            "summary",
            element("code", kind),
            element("span", KINDS[kind], class_="meaning"),
            element("span", where, class_="quiet"),
        ),
        element("ul", [_row(message, row) for message, row in list(rows.items())[:MOST_ROWS]], class_="findings"),
        element("p", f"{left_out} more of this kind are left out here; --json has all.", class_="quiet")
        if left_out > 0
        else None,
        open=True,
    )


def _row(message: str, row: list[Found]) -> Markup:
    first = row[0][1]
    by_iteration: dict[int, Found] = {}
    for finding, jump in row:
        by_iteration.setdefault(finding.iteration, (finding, jump))
    chips = [_chip(iteration, jump) for iteration, (_, jump) in list(by_iteration.items())[:MOST_ITERATIONS]]
    more = len(by_iteration) - MOST_ITERATIONS
    main = element("p", message, class_="finding") if first is None else first.button(None, message, "finding")
    return element(
        "li",
        main,
        element(
            "span",
            element("span", "iteration", class_="quiet"),
            chips,
            element("span", f"+{more} more", class_="quiet") if more > 0 else None,
            class_="chips",
        ),
    )


def _chip(iteration: int, jump: Jump | None) -> Markup:
    if jump is None:
        return element("span", str(iteration), class_="chip", title="not in the timeline shown")
    return jump.button(f"show iteration {iteration}", str(iteration), "chip")
