"""``simgather schema``: the scenario file's JSON Schema, for editors that complete and check."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_to(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "schema",
        help="print the JSON Schema of scenario files",
        description="Print the JSON Schema of scenario files, so that editors complete and check them.",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:  # noqa: ARG001
    """Print the schema."""
    import json

    from simgather.scenario.jsonschema import json_schema

    json.dump(json_schema(), sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0
