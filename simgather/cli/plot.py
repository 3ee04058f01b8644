"""``simgather plot``: draw one picture of a scenario."""

from __future__ import annotations

import argparse
from typing import Any

from simgather.cli.output import write_bytes
from simgather.cli.scenario import (
    add_scenario,
    add_selection,
    picture,
    picture_target,
    policies,
    simulated,
    under_policy,
)

KINDS = ("timeline", "overlap", "versions", "forward", "policies")
COMPARING = ("timeline", "policies")


def add_to(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "plot",
        help="draw a picture: timeline, overlap, versions, forward, policies",
        description="Draw one picture of a scenario. timeline: what every rank does, and where a read goes wrong. "
        "overlap: the hidden and exposed part of each all-gather. versions: how old what every module read was. "
        "forward: where the forward time goes. policies: the forward time under several policies, with verdicts.",
    )
    parser.add_argument("kind", metavar="KIND", choices=KINDS, help=", ".join(KINDS))
    add_scenario(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to draw into (.png, .svg or .pdf)")
    parser.add_argument(
        "--policies",
        metavar="LIST",
        type=policies,
        help="policies to draw, as in megatron-core-0.8,synchronous; for policies (default: all) and timeline (two)",
    )
    add_selection(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Simulate and draw."""
    from simgather.errors import InputError
    from simgather.scenario.schema import POLICY_NAMES

    path = picture_target(options.output, "--output")
    if options.policies and options.kind not in COMPARING:
        message = f"the picture {options.kind} shows one policy; set it with --set policy=NAME"
        raise InputError(message, source="--policies")
    report = simulated(options.scenario, options.overrides)
    chosen = options.policies or (POLICY_NAMES if options.kind == "policies" else ())
    reports = [under_policy(report, name) for name in chosen] or [report]
    if path is not None:
        write_bytes(path, picture(path, options.kind, reports, options))
    return 0
