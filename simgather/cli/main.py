"""The command line: one parser, one module per command, one line per error.

Exit codes: 0 done; 1 found something (`run --check`); 2 the input cannot be used.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from simgather import __version__
from simgather.cli import compare, plot, run, schema
from simgather.errors import SimgatherError

EXIT_UNUSABLE = 2
EXIT_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_UNUSABLE, f"{self.prog}: {message} (try {self.prog} --help)\n")


def make_parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    parser = _Parser(
        prog="simgather",
        description="Does a training job read weights before their all-gather delivered them, and how much of the "
        "all-gather time is hidden? Answered by simulation, without a GPU.",
        epilog="example: python -m simgather run scenarios/issue-950.yaml --plot timeline.svg",
    )
    parser.add_argument("--version", action="version", version=f"simgather {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (run, compare, plot, schema):
        command.add_to(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    if sys.stdout is None:
        sys.stdout = io.StringIO()
    options = make_parser().parse_args(arguments)
    try:
        code: int = options.command(options)
        sys.stdout.flush()
    except SimgatherError as error:
        print(f"simgather: {error}", file=sys.stderr)
        return EXIT_UNUSABLE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code
