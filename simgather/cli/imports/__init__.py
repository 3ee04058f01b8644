"""``simgather import``: what people have (logs, scripts, model configurations), turned into what a scenario takes."""

from __future__ import annotations

from typing import Any

SOURCES: tuple[Any, ...] = ()


def add_to(commands: Any) -> None:
    """Add the command, with one sub-command per kind of source."""
    parser = commands.add_parser(
        "import",
        help="turn a log, a launch script or a model configuration into a scenario",
        description="Read what you have and print what a scenario takes.",
    )
    sources = parser.add_subparsers(title="what to import", metavar="KIND", required=True)
    for source in SOURCES:
        source.add_to(sources)
