"""Pictures of a report: PNG, SVG or PDF as bytes, the same bytes on every run.

`PICTURES` names them all. Importing this package does not import matplotlib; drawing does.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from simgather.errors import InputError
from simgather.report.plot.selection import Selection
from simgather.report.report import Report

__all__ = ["FORMATS", "PICTURES", "Picture", "Selection", "draw", "save_timeline", "timeline_bytes"]

FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One kind of picture. `module` has its `figure(reports, selection)`; it takes at most `most_reports` reports."""

    module: str
    shows: str
    most_reports: int


PICTURES: dict[str, Picture] = {
    "timeline": Picture(
        module="timeline",
        shows="what every rank's host, compute and NCCL stream do, and where a read goes wrong; two reports to compare",
        most_reports=2,
    ),
    "overlap": Picture(
        module="overlap",
        shows="per bucket, how much of its all-gather is hidden under compute",
        most_reports=1,
    ),
    "versions": Picture(
        module="versions",
        shows="which share of the weights every module read was how old, per iteration and rank",
        most_reports=1,
    ),
    "forward": Picture(
        module="forward",
        shows="where the forward time goes per iteration, against the lower bound",
        most_reports=1,
    ),
    "policies": Picture(
        module="policies",
        shows="the steady forward time of several reports side by side, each with its verdict",
        most_reports=24,
    ),
}
"""All pictures, by the name that the command line uses."""


def draw(kind: str, reports: Sequence[Report], format: str, selection: Selection | None = None) -> bytes:
    """One picture as the bytes of a PNG, SVG or PDF file.

    Raises:
        InputError: there is no such picture or format, the number of reports does not fit the picture, or the selection
            names iterations or ranks that a report does not have.

    """
    picture = PICTURES.get(kind)
    if picture is None:
        raise InputError(f"no picture is named {kind!r}; known: {', '.join(PICTURES)}")
    if format not in FORMATS:
        raise InputError(f"no pictures in format {format!r}; known: {', '.join(FORMATS)}")
    if not 1 <= len(reports) <= picture.most_reports:
        most = "1 report" if picture.most_reports == 1 else f"1 to {picture.most_reports} reports"
        raise InputError(f"the picture {kind!r} takes {most}, got {len(reports)}")
    from simgather.report.plot.canvas import rendered

    figure = import_module(f"{__name__}.{picture.module}").figure
    return rendered(lambda: figure(reports, selection or Selection()), format)


def timeline_bytes(
    report: Report,
    format: str,
    *,
    iterations: tuple[int, int] | None = None,
    ranks: tuple[int, ...] | None = None,
    compare: Report | None = None,
) -> bytes:
    """The timeline, by default of the first iteration with findings; `iterations` is first and last, both drawn.

    `compare` is drawn below on the same scale, aligned at the start of the first iteration drawn.
    """
    reports = [report] if compare is None else [report, compare]
    return draw("timeline", reports, format, Selection(iterations=iterations, ranks=ranks))


def save_timeline(
    report: Report,
    path: str | os.PathLike[str],
    *,
    iterations: tuple[int, int] | None = None,
    ranks: tuple[int, ...] | None = None,
    compare: Report | None = None,
) -> None:
    """Draw the timeline into a file, whole or not at all; its suffix (.png, .svg or .pdf) is the format."""
    target = Path(path)
    data = timeline_bytes(
        report, target.suffix.lower().removeprefix("."), iterations=iterations, ranks=ranks, compare=compare
    )
    neighbour = target.with_name(f".{target.name}.partial")
    try:
        neighbour.write_bytes(data)
        neighbour.replace(target)
    finally:
        neighbour.unlink(missing_ok=True)
