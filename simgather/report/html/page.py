"""The page as a whole: one file without a single request, whose policy forbids any and any script but its own."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from simgather.report.html.data import timeline_data
from simgather.report.html.extent import choose_extent
from simgather.report.html.findings import findings_section
from simgather.report.html.markup import Markup, element
from simgather.report.html.places import Jump, Places
from simgather.report.html.scenario import scenario_yaml
from simgather.report.html.summary import header, key_numbers, verdict_card
from simgather.report.html.tables import bucket_table, measures_table, module_table, stale_table, warnings_table
from simgather.report.html.timeline import timeline_section
from simgather.report.report import Report

SCRIPTS = ("decode", "look", "lanes", "tooltip", "view", "stage", "events", "page")
"""In the order in which they build on each other."""

SECTIONS = (
    ("verdict", "Verdict"),
    ("timeline", "Timeline"),
    ("findings", "Findings"),
    ("tables", "Tables"),
    ("scenario", "Scenario"),
)


def make_page(report: Report, alternative: Report | None) -> str:
    """The whole file as text."""
    extent = choose_extent(report)
    places = Places(report)
    of_findings = places.of_findings(rank for band in extent.bands for rank in (band.rank, *band.alike))
    shown = [extent.place(place) for place in of_findings]
    jumps = [None if place is None else Jump(*place) for place in shown]
    body = element(
        "body",
        element("a", "Skip to the verdict", href="#verdict", class_="skip"),
        _bar(),
        element(
            "main",
            header(report),
            element(
                "div",
                verdict_card(report, alternative, next((jump for jump in jumps if jump is not None), None)),
                key_numbers(report, alternative),
                class_="first",
            ),
            timeline_section(extent),
            findings_section(report, jumps),
            element(
                "section",
                element("h2", "Tables"),
                stale_table(report, lambda read: places.jump_to_read(read, extent)) if report.stale_reads else None,
                measures_table(report),
                bucket_table(report),
                warnings_table(report) if report.warnings else None,
                element("details", element("summary", "Modules"), module_table(report)),
                class_="card",
                id="tables",
            ),
            _scenario(report),
        ),
        _json("timeline-data", timeline_data(report, extent, places, of_findings)),
        element("script", Markup(_script())),
    )
    html = element("html", _head(report), body, lang="en")
    return f"<!DOCTYPE html>\n{html}\n"


def _head(report: Report) -> Markup:
    policy = (
        f"default-src 'none'; style-src '{_hash(_style())}'; script-src '{_hash(_script())}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name_="color-scheme", content="light dark"),
        element("meta", name_="generator", content="simgather"),
        element("title", f"{report.verdict.upper()}: {report.scenario.name} - simgather"),
        element("link", rel="icon", href="data:,"),
        element("style", Markup(_style())),
    )


def _bar() -> Markup:
    links = [element("a", text, href=f"#{name}") for name, text in SECTIONS]
    theme = element("button", "Dark", type="button", id="theme", aria_pressed="false", title="Dark or light")
    return element(
        "nav", element("div", links, class_="links"), theme, class_="bar-top no-print", aria_label="Sections"
    )


def _scenario(report: Report) -> Markup:
    remarks = [f"{remark.rule}: {remark.text} See {remark.see}" for remark in report.remarks]
    return element(
        "section",
        element("h2", "Scenario"),
        element(
            "div",
            element(
                "p", "As it was resolved, defaults filled in; as a file it gives this report again.", class_="quiet"
            ),
            element("button", "Copy", type="button", id="copy", class_="no-print"),
            class_="beside",
        ),
        element(
            "pre", element("code", scenario_yaml(report.scenario), id="scenario-yaml"), tabindex=0, class_="scroll"
        ),
        element("h3", "Assumptions"),
        _listed(report.notes),
        element("h3", "Notes"),
        _listed(remarks),
        class_="card",
        id="scenario",
    )


def _listed(texts: Sequence[str]) -> Markup:
    return element("ul", [element("li", text) for text in texts]) if texts else element("p", "None.", class_="quiet")


def _json(identity: str, data: dict[str, Any]) -> Markup:
    """Data in a script element: no ``<`` is left that could end it."""
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")
    return element("script", Markup(text), type="application/json", id=identity)


@cache
def _style() -> str:
    return _asset("page.css")


@cache
def _script() -> str:
    """All scripts as one function, so that none of their names is global."""
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(function () {{\n"use strict";\n{parts}}})();\n'


def _asset(name: str) -> str:
    return (files("simgather.report.html") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
