"""The scenario files and their expected summaries, which stand beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import simgather

FOLDER = Path(__file__).parent.parent / "scenarios"
FILES = sorted(FOLDER.glob("*.yaml"))


def summary_file(scenario: Path) -> Path:
    """Where the expected summary of a scenario file stands."""
    return scenario.with_suffix(".summary.json")


def summary_text(scenario: Path) -> str:
    """The summary that the scenario gives now, as it is written to the file."""
    summary: dict[str, Any] = simgather.simulate(simgather.load(scenario)).to_dict()["summary"]
    return json.dumps(summary, indent=1) + "\n"
