"""``simgather run``: simulate a scenario and say what was found."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simgather.cli.output import check_target, write_bytes
from simgather.cli.scenario import (
    add_scenario,
    add_selection,
    picture,
    picture_target,
    policy,
    simulated,
    under_policy,
)

if TYPE_CHECKING:
    from simgather.report.report import Report


def add_to(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "run",
        help="simulate a scenario: verdict, stale reads, overlap",
        description="Simulate a scenario and print the verdict, the buckets, the forward pass per iteration, what was "
        "found and why, and the next step worth taking.",
    )
    add_scenario(parser)
    parser.add_argument("--json", metavar="FILE", help="write the whole report as JSON; - prints it instead")
    parser.add_argument("--html", metavar="FILE", help="write the report as one HTML page that opens offline")
    parser.add_argument("--plot", metavar="FILE", help="draw the timeline (.png, .svg or .pdf)")
    parser.add_argument("--compare", metavar="POLICY", type=policy, help="draw that policy too, on the same time axis")
    add_selection(parser)
    parser.add_argument(
        "--trace",
        metavar="OUT",
        help="write traces: OUT.json (or .json.gz) for Perfetto and chrome://tracing; any other name is a folder with "
        "that and one file per rank for Holistic Trace Analysis",
    )
    parser.add_argument("--ascii", action="store_true", help="print a small timeline in characters")
    parser.add_argument("--check", action="store_true", help="exit with 1 unless the verdict is safe")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Simulate, print, and write what was asked for; 1 if ``--check`` found something."""
    targets = _Targets(options)
    report = simulated(options.scenario, options.overrides)
    alternative = None if options.json == "-" and targets.html is None else _alternative(report)
    targets.write(report, alternative, options)
    if options.json == "-":
        sys.stdout.write(_json_text(report))
    else:
        _print(report, alternative)
    if options.ascii and options.json != "-":
        from simgather.report.ascii import ascii_timeline
        from simgather.report.plot.selection import Selection

        sys.stdout.write("\n" + ascii_timeline(report, Selection(iterations=options.iterations, ranks=options.ranks)))
    return int(options.check and report.verdict != "safe")


class _Targets:
    """The files to write, all checked before any work."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.json = None if options.json in (None, "-") else check_target(options.json, "--json")
        self.html = None if options.html is None else check_target(options.html, "--html", (".html", ".htm"))
        self.plot = picture_target(options.plot)
        self.trace = None if options.trace is None else Path(options.trace)
        if self.trace is not None:
            from simgather.report.trace import check_trace_target

            check_trace_target(self.trace)

    def write(self, report: Report, alternative: Report | None, options: argparse.Namespace) -> None:
        """Write every file that was asked for, once all of them are made."""
        files: list[tuple[Path, bytes]] = []
        if self.json is not None:
            files.append((self.json, _json_text(report).encode()))
        if self.html is not None:
            from simgather.report.html import html_page

            files.append((self.html, html_page(report, alternative).encode()))
        if self.plot is not None:
            files.append((self.plot, picture(self.plot, "timeline", _compared(report, options), options)))
        if self.trace is not None:
            from simgather.report.trace import write_traces

            write_traces(report, self.trace)
        for path, data in files:
            write_bytes(path, data)


def _compared(report: Report, options: argparse.Namespace) -> Sequence[Report]:
    if options.compare is None:
        return [report]
    return [report, under_policy(report, options.compare)]


def _alternative(report: Report) -> Report | None:
    from simgather.report.advice import alternative_policy

    name = alternative_policy(report)
    return None if name is None else under_policy(report, name)


def _json_text(report: Report) -> str:
    return json.dumps(report.to_dict(), indent=1) + "\n"


def _print(report: Report, alternative: Report | None) -> None:
    if sys.stdout.isatty():
        from simgather.report.terminal import print_report

        print_report(report, alternative)
    else:
        from simgather.report.plain import render

        sys.stdout.write(render(report, alternative))
