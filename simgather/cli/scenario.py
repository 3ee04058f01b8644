"""What the commands that take a scenario share: its options, and simulating it with errors that name the place."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simgather.cli.output import check_target
from simgather.errors import InputError

if TYPE_CHECKING:
    from simgather.report.report import Report

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
MOST_RANKS = 64


def add_scenario(parser: Any) -> None:
    """The scenario file and ``--set``."""
    parser.add_argument("scenario", metavar="SCENARIO", help="scenario file (YAML)")
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a key of the scenario, as in --set cluster.gpus=8; may be repeated",
    )


def add_selection(parser: Any) -> None:
    """``--iterations`` and ``--ranks``: what a picture shows."""
    parser.add_argument(
        "--iterations",
        metavar="FIRST:LAST",
        type=_iterations,
        help="iterations to draw, as in 1:2",
    )
    parser.add_argument("--ranks", metavar="LIST", type=_ranks, help="ranks to draw, as in 0,3")


def picture_target(name: str | None, option: str = "--plot") -> Path | None:
    """The checked file of a picture, if one was asked for."""
    return None if name is None else check_target(name, option, PICTURE_SUFFIXES)


def simulated(scenario: str, overrides: Sequence[str]) -> Report:
    """The report of a scenario file."""
    from simgather.scenario.loader import load, placed
    from simgather.simulation import simulate

    try:
        return simulate(load(scenario, overrides))
    except InputError as error:
        raise placed(error, scenario, overrides) from None


def under_policy(report: Report, policy: str) -> Report:
    """The same scenario simulated under another policy."""
    from simgather.scenario.schema import PolicyChoice
    from simgather.simulation import simulate

    if report.scenario.policy.name == policy:
        return report
    return simulate(report.scenario.model_copy(update={"policy": PolicyChoice.named(policy)}))


def policies(text: str) -> tuple[str, ...]:
    """A list of policies as people write it: ``a,b,c``, each once."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise argparse.ArgumentTypeError("names no policy; write for example megatron-core-0.8,synchronous")
    return tuple(policy(name) for name in names)


def policy(name: str) -> str:
    """The name of a policy that exists."""
    from simgather.scenario.schema import POLICY_NAMES

    if name not in POLICY_NAMES:
        raise argparse.ArgumentTypeError(f"no policy is named {name!r}; known: {', '.join(POLICY_NAMES)}")
    return name


def picture(path: Path, kind: str, reports: Sequence[Report], options: argparse.Namespace | None = None) -> bytes:
    """A picture in the format of the file's name; the options say which iterations and ranks."""
    from simgather.report.plot import Selection, draw

    selection = None if options is None else Selection(iterations=options.iterations, ranks=options.ranks)
    return draw(kind, reports, path.suffix.lower().removeprefix("."), selection)


def _iterations(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,6})(?::(\d{1,6}))?", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST:LAST, as in 1:2")
    return int(match[1]), int(match[2] or match[1])


def _ranks(text: str) -> tuple[int, ...]:
    ranks: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        if match is None:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of ranks, as in 0,3 or 0-3")
        ranks += range(int(match[1]), min(int(match[2] or match[1]), int(match[1]) + MOST_RANKS) + 1)
    if len(ranks) > MOST_RANKS:
        raise argparse.ArgumentTypeError(f"more than {MOST_RANKS} ranks cannot be read in one picture")
    return tuple(ranks)
