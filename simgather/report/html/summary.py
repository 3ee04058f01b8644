"""The top of the page: what was simulated, the verdict and why, and the numbers of the steady iteration."""

from __future__ import annotations

from simgather.report import sentences, wording
from simgather.report.explanation import explain
from simgather.report.html.markup import Markup, element, joined
from simgather.report.html.places import Jump
from simgather.report.html.tables import Cell, table
from simgather.report.report import Report, Verdict
from simgather.report.wording import policy_title
from simgather.verdict.measures import Measures

ICONS: dict[Verdict, str] = {
    "safe": "M7 13.5 10.5 17 17.5 8.5",
    "race": "M12 6.5v7M12 16.6v.9",
    "stale": "M8 8l8 8M16 8l-8 8",
    "corrupt": "M7 9h10l-3-3M17 15H7l3 3",
    "hang": "M9.5 8v8M14.5 8v8",
    "error": "M8 8l8 8M16 8l-8 8",
}
"""Strokes in a 24 x 24 box; the shape says the same as the word beside it."""


def header(report: Report) -> Markup:
    """The scenario's name and what was simulated."""
    return element(
        "header",
        element("p", "simgather report", class_="kicker"),
        element("h1", report.scenario.name),
        element("ul", [element("li", line) for line in sentences.about(report)], class_="about"),
        class_="masthead",
    )


def badge(verdict: Verdict) -> Markup:
    """The verdict as a word with a symbol."""
    shape = element("circle", cx=12, cy=12, r=11) if verdict in ("safe", "race") else _octagon()
    icon = element("svg", shape, element("path", d=ICONS[verdict]), viewBox="0 0 24 24", aria_hidden="true")
    return element("span", icon, element("span", verdict.upper()), class_=f"badge verdict-{verdict}")


def verdict_card(report: Report, alternative: Report | None, first: Jump | None) -> Markup:
    """The verdict first, then why, then the next step; `first` is where the first finding is."""
    failure = report.failure
    why = explain(report) or [finding.message for finding in report.findings[:1]]
    return element(
        "section",
        element("h2", "Verdict", class_="visually-hidden", id="verdict-title"),
        badge(report.verdict),
        element("p", _capital(sentences.verdict_sentence(report)), class_="verdict-sentence"),
        None
        if failure is None
        else element(
            "p",
            "The framework stops in iteration ",
            f"{failure.iteration}, phase {failure.phase}: ",
            element("code", f"{failure.type_name}({failure.text!r})"),
        ),
        joined(element("h3", "Why"), element("div", [element("p", text) for text in why], class_="why"))
        if why
        else None,
        None
        if first is None
        else element("p", first.button(None, "Show the first in the timeline"), class_="no-print"),
        element("h3", "Next step"),
        element("p", sentences.next_step(report, alternative), class_="next-step"),
        class_=f"card verdict-card edge-{report.verdict}",
        id="verdict",
        aria_labelledby="verdict-title",
    )


def _octagon() -> Markup:
    return element("path", d="M7.4 1h9.2L23 7.4v9.2L16.6 23H7.4L1 16.6V7.4z", class_="shape")


def _comparison(report: Report, alternative: Report) -> Markup:
    rows = []
    for one in (report, alternative):
        steady = one.steady
        rows.append(
            [
                policy_title(one.scenario.policy),
                badge(one.verdict),
                wording.ms(steady.forward_ns if steady else None),
                wording.ms(steady.exposed_ns if steady else None),
                wording.percent(steady.overlap_efficiency if steady else None),
                str(_stale(one, steady)),
            ]
        )
    heads = [
        Cell("policy", left=True),
        Cell("verdict", left=True),
        Cell("forward", "ms"),
        Cell("exposed", "ms"),
        Cell("overlap", "%"),
        Cell("stale"),
    ]
    return table("Both policies in their steady iteration", heads, rows)


def key_numbers(report: Report, alternative: Report | None) -> Markup:
    """The slowest rank's measures in the steady iteration, never without the verdict."""
    steady = report.steady
    if steady is None:
        return element(
            "section",
            element("h2", "Key numbers"),
            element("p", "No iteration has a whole forward pass: there is nothing to measure."),
            class_="card",
            id="numbers",
        )
    compute, exposed, host = wording.adding_up(
        steady.forward_ns, [steady.compute_ns, steady.exposed_ns, steady.host_bound_ns]
    )
    tiles = [
        _tile("Forward", wording.ms(steady.forward_ns), "ms", "start of the iteration to its last forward kernel"),
        _tile("Exposed", exposed, "ms", "kernels wait for an all-gather"),
        _tile("Host-bound", host, "ms", "the stream is empty, the host is late"),
        _tile("Overlap", wording.percent(steady.overlap_efficiency), "%", "of all-gather time is hidden under compute"),
        _tile("Schedule", wording.percent(steady.schedule_efficiency), "%", "of the best that a safe schedule can do"),
        _tile("Stale reads", str(_stale(report, steady)), "", "in this iteration, unordered ones included"),
    ]
    return element(
        "section",
        element("h2", "Key numbers"),
        element(
            "p",
            f"Steady iteration {steady.iteration}, slowest rank {steady.rank}; the verdict is ",
            element("strong", report.verdict),
            ".",
            class_="quiet",
        ),
        element("dl", tiles, class_="tiles"),
        _bar(steady, [compute, exposed, host]),
        None if alternative is None else _comparison(report, alternative),
        class_="card",
        id="numbers",
    )


def _stale(report: Report, steady: Measures | None) -> int:
    return sum(steady is not None and read.iteration == steady.iteration for read in report.stale_reads)


def _tile(name: str, value: str | None, unit: str, meaning: str) -> Markup:
    shown = element("span", "none", class_="none") if value is None else joined(value, element("small", unit))
    return element(
        "div", element("dt", name), element("dd", shown, class_="value"), element("dd", meaning, class_="meaning")
    )


def _bar(steady: Measures, shown: list[str | None]) -> Markup | None:
    """Forward time in its parts, to scale; nothing if they do not add up (several microbatches)."""
    parts = [steady.compute_ns or 0, steady.exposed_ns or 0, steady.host_bound_ns or 0]
    if not steady.forward_ns or sum(parts) != steady.forward_ns:
        return None
    names = ("compute", "exposed", "host-bound")
    left = 0.0
    boxes = []
    for name, part in zip(names, parts, strict=True):
        width = 1000 * part / steady.forward_ns
        boxes.append(element("rect", x=round(left, 2), y=0, width=round(width, 2), height=26, class_=f"part-{name}"))
        left += width
    bound = None
    if steady.lower_bound_ns is not None:
        at = round(1000 * steady.lower_bound_ns / steady.forward_ns, 2)
        bound = element("path", d=f"M{at} -4V30", class_="bound")
    hatch = element(
        "defs",
        _pattern("hatch-exposed", "M0 8 8 0M-2 2 2 -2M6 10 10 6"),
        _pattern("hatch-host-bound", "M0 2H8M0 6H8"),
    )
    words = ", ".join(f"{name} {value} ms" for name, value in zip(names, shown, strict=True))
    image = element(
        "svg",
        hatch,
        boxes,
        bound,
        viewBox="-2 -5 1004 36",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"Forward time: {words}",
    )
    key = [
        element("li", element("span", class_=f"key part-{name}"), f"{name} {value} ms")
        for name, value in zip(names, shown, strict=True)
    ]
    if steady.lower_bound_ns is not None:
        bound_text = f"lower bound {wording.ms(steady.lower_bound_ns)} ms"
        key.append(element("li", element("span", class_="key bound"), bound_text))
    return element("figure", image, element("ul", key, class_="keys"), class_="bar")


def _pattern(name: str, path: str) -> Markup:
    back = element("rect", width=8, height=8)
    return element("pattern", back, element("path", d=path), id=name, width=8, height=8, patternUnits="userSpaceOnUse")


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:] + "."
