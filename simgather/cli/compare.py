"""``simgather compare``: one scenario under several policies, side by side."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from simgather.cli.output import check_target, write_bytes
from simgather.cli.scenario import add_scenario, picture, picture_target, policies, simulated, under_policy


def add_to(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "compare",
        help="one scenario under several policies, side by side",
        description="Simulate a scenario under several policies and print one table, with the verdict beside every "
        "time, and one sentence of conclusion.",
    )
    add_scenario(parser)
    parser.add_argument("--policies", metavar="LIST", type=policies, help="as in prefetch,synchronous; default: all")
    parser.add_argument("--json", metavar="FILE", help="write the comparison as JSON; - prints it instead")
    parser.add_argument("--plot", metavar="FILE", help="draw the policies side by side (.png, .svg or .pdf)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Simulate every policy, print the table, and write what was asked for."""
    json_file = None if options.json in (None, "-") else check_target(options.json, "--json")
    plot_file = picture_target(options.plot)

    from simgather.report.comparison import comparison_to_dict, render
    from simgather.scenario.schema import POLICY_NAMES

    chosen = options.policies or POLICY_NAMES
    asked = simulated(options.scenario, options.overrides)
    reports = [under_policy(asked, name) for name in chosen]
    text = json.dumps(comparison_to_dict(reports), indent=1) + "\n"
    if plot_file is not None:
        write_bytes(plot_file, picture(plot_file, "policies", reports))
    if json_file is not None:
        write_bytes(json_file, text.encode())
    sys.stdout.write(text if options.json == "-" else render(reports))
    return 0
