"""The frame around the timeline that the script draws: controls, canvas, legend, and what is left out."""

from __future__ import annotations

from simgather.report.html.extent import Extent
from simgather.report.html.markup import Markup, element

LEGEND = (
    ("forward", "forward kernel, in its bucket's colour"),
    ("backward", "backward kernel, paler"),
    ("optimizer", "optimizer"),
    ("gather", "all-gather: transfer"),
    ("rendezvous", "rendezvous: ready, another rank is not"),
    ("scatter", "reduce-scatter"),
    ("exposed", "exposed: the kernel waits for an all-gather"),
    ("host-bound", "host-bound: not launched yet"),
    ("dispatch", "host: dispatch"),
    ("launch", "host: launch"),
    ("wait", "host: wait"),
    ("sync", "host: sync"),
)
"""Swatches that the script draws with the hand that draws the timeline; marks follow them."""

BUTTONS = (
    ("zoom-in", "+", "Zoom in (+)"),
    ("zoom-out", "\N{MINUS SIGN}", "Zoom out (-)"),
    ("pan-left", "←", "Pan left (left arrow)"),
    ("pan-right", "→", "Pan right (right arrow)"),
    ("reset", "Reset", "Show everything (0)"),
)

HELP = (
    ("wheel, pinch, + -", "zoom"),
    ("drag, ← →, shift + wheel", "pan"),
    ("double click", "zoom to an item"),
    ("n p", "next and previous item"),
    ("↑ ↓", "another lane"),
    ("Enter", "zoom to the selected item"),
    ("0", "show everything"),
    ("Esc", "let go"),
)


def timeline_section(extent: Extent) -> Markup:
    """The section; it holds no data, which comes as JSON."""
    iterations = [element("option", f"iteration {number}", value=number) for number in _iterations(extent)]
    ranks = [element("option", f"rank {band.rank}", value=number) for number, band in enumerate(extent.bands)]
    controls = element(
        "div",
        [
            element("button", text, type="button", id=f"timeline-{name}", title=title, aria_label=title)
            for name, text, title in BUTTONS
        ],
        _choice("timeline-iteration", "Iteration", [element("option", "all iterations", value="all"), *iterations]),
        _choice("timeline-rank", "Rank", [element("option", "all ranks", value="all"), *ranks]),
        class_="controls no-print",
        role="toolbar",
        aria_label="Timeline controls",
        aria_controls="timeline-canvas",
    )
    canvases = element(
        "div",
        element("canvas", id="timeline-overview", class_="no-print", aria_hidden="true"),
        element("canvas", id="timeline-axis", aria_hidden="true"),
        element(
            "div",
            element(
                "canvas",
                id="timeline-canvas",
                tabindex=0,
                role="application",
                aria_roledescription="zoomable timeline",
                aria_label="Timeline of every rank: host, compute stream, NCCL stream",
                aria_describedby="timeline-help",
            ),
            element("div", id="timeline-selection", hidden=True),
            class_="stage",
        ),
        id="timeline-frame",
    )
    tooltip = element("div", id="timeline-tooltip", role="tooltip", hidden=True)
    said = element("div", id="timeline-said", class_="visually-hidden", aria_live="polite")
    legend = element(
        "ul",
        [
            element("li", element("canvas", data_swatch=name, aria_hidden="true"), element("span", text))
            for name, text in LEGEND
        ],
        id="timeline-legend",
        class_="legend",
    )
    keys = element(
        "dl", [element("div", element("dt", key), element("dd", meaning)) for key, meaning in HELP], class_="help-keys"
    )
    return element(
        "section",
        element("h2", "Timeline"),
        [element("p", text, class_="note") for text in extent.left_out],
        controls,
        element("noscript", element("p", "The timeline is drawn by a script; all else is readable without.")),
        canvases,
        said,
        tooltip,
        legend,
        element("details", element("summary", "Mouse, touch and keys"), keys, id="timeline-help", class_="no-print"),
        class_="card",
        id="timeline",
    )


def _choice(identity: str, label: str, options: list[Markup]) -> Markup:
    return element(
        "label",
        element("span", label, class_="visually-hidden"),
        element("select", options, id=identity),
        class_="choice",
    )


def _iterations(extent: Extent) -> range:
    return range(extent.first, extent.last + 1)
