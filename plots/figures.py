"""What the figures of this folder share: where scenarios are read and where pictures are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simgather import Report, load, simulate
from simgather.cli.output import write_bytes
from simgather.report.plot import draw

FOLDER = Path(__file__).parent
SCENARIOS = FOLDER.parent / "scenarios"
MOST_BYTES = 300_000


def simulated(name: str | Mapping[str, Any], *overrides: str) -> Report:
    """The report of a scenario file of the project, or of a mapping."""
    return simulate(load(SCENARIOS / name if isinstance(name, str) else name, overrides))


def write(name: str, kind: str, reports: Sequence[Report]) -> Path:
    """Draw a picture as an SVG; as a PNG if that would be too large for a page."""
    data, suffix = draw(kind, reports, "svg"), "svg"
    if len(data) > MOST_BYTES:
        data, suffix = draw(kind, reports, "png"), "png"
    path = FOLDER / f"{name}.{suffix}"
    write_bytes(path, data)
    return path
