"""``simgather run``: simulate a scenario and say what was found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simgather.cli.output import check_target, write_bytes, write_text
from simgather.errors import InputError

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
    parser.add_argument("scenario", metavar="SCENARIO", help="scenario file (YAML)")
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a key of the scenario, as in --set cluster.gpus=8; may be repeated",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write the whole report as JSON; - prints it instead of the text"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the timeline of all ranks (.png, .svg or .pdf)")
    parser.add_argument("--check", action="store_true", help="exit with 1 unless the verdict is safe")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Simulate, print, and write what was asked for; 1 if ``--check`` found something."""
    json_file = None if options.json in (None, "-") else check_target(options.json, "--json")
    plot_file = None if options.plot is None else check_target(options.plot, "--plot", (".png", ".svg", ".pdf"))

    from simgather.report.advice import alternative_policy
    from simgather.report.text import render

    report = _simulate(options.scenario, options.overrides)
    if options.json is not None:
        import json

        text = json.dumps(report.to_dict(), indent=1) + "\n"
        if json_file is None:
            sys.stdout.write(text)
        else:
            write_text(json_file, text)
    if plot_file is not None:
        _plot(report, plot_file)
    if options.json != "-":
        policy = alternative_policy(report)
        alternative = None
        if policy is not None:
            alternative = _simulate(options.scenario, [*options.overrides, f"policy={policy}"])
        sys.stdout.write(render(report, alternative))
    return int(options.check and report.verdict != "safe")


def _simulate(scenario: str, overrides: Sequence[str]) -> Report:
    from simgather.scenario.loader import load, placed
    from simgather.simulation import simulate

    try:
        return simulate(load(scenario, overrides))
    except InputError as error:
        raise placed(error, scenario, overrides) from None


def _plot(report: Report, path: Path) -> None:
    from simgather.report.plot import timeline_bytes

    write_bytes(path, timeline_bytes(report, path.suffix.lower().removeprefix(".")))
