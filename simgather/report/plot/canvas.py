"""Figures to bytes: the same bytes on every run, whatever the user's own matplotlib settings are.

Layouts are in inches throughout, so that text never depends on the amount of data for its room.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from simgather.report.plot.style import ALARM, INK, PAPER, QUIET, VERDICT_COLOURS
from simgather.report.report import VERDICTS, Report
from simgather.report.wording import policy_title

WIDTH = 12.0
DPI = 120
FONT = "DejaVu Sans"
LINE = 0.185
"""Height of a line of small text, in inches."""

_SETTINGS: dict[Any, Any] = {
    "font.family": FONT,
    "font.size": 8.5,
    "text.parse_math": False,
    "text.usetex": False,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.7,
    "axes.labelcolor": INK,
    "axes.unicode_minus": False,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "simgather",
    "svg.fonttype": "none",
    "path.simplify": False,
}

_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}

_CANVASES = {"png": FigureCanvasAgg, "svg": FigureCanvasSVG, "pdf": FigureCanvasPdf}


def rendered(make: Callable[[], Figure], format: str) -> bytes:
    """Make a figure under fixed settings and encode it."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A name may use letters that the font lacks: a box in a PNG, and the viewer's font in an SVG.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = make()
        _make_gids_unique(figure)
        _CANVASES[format](figure)
        buffer = BytesIO()
        figure.savefig(buffer, format=format, dpi=DPI, metadata=_METADATA[format])
    return buffer.getvalue()


def _make_gids_unique(figure: Figure) -> None:
    """They become the elements' ids in an SVG, where each must be a name and occur once: ``rank-0``, ``rank-0-2``."""
    seen: Counter[str] = Counter()
    for artist in figure.findobj():
        gid = artist.get_gid()
        if gid is not None:
            gid = re.sub(r"[^\w.-]", "_", gid)
            seen[gid] += 1
            artist.set_gid(gid if seen[gid] == 1 else f"{gid}-{seen[gid]}")


def blank(height: float, width: float = WIDTH) -> Figure:
    """A figure of that size in inches, with no axes."""
    return Figure(figsize=(width, height), facecolor=PAPER)


def add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches from the figure's lower left corner."""
    total_width, total_height = figure.get_size_inches()
    return figure.add_axes((left / total_width, bottom / total_height, width / total_width, height / total_height))


def add_page(figure: Figure) -> Axes:
    """Invisible axes over the whole figure, in inches, for text, titles and legends."""
    width, height = figure.get_size_inches()
    page = figure.add_axes((0, 0, 1, 1), zorder=5)
    page.set_axis_off()
    page.set_xlim(0, width)
    page.set_ylim(0, height)
    page.patch.set_visible(False)
    return page


@lru_cache(maxsize=8192)
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """How wide the text is, in inches."""
    font = FontProperties(family=FONT, size=size, weight="bold" if bold else "normal")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        points: float = text_to_path.get_text_width_height_descent(text, font, False)[0]
    return points / 72


def fitting(texts: Sequence[str], width: float, size: float) -> str | None:
    """The first of the texts that fits into the width; None if none does."""
    return next((text for text in texts if text_width(text, size) <= width), None)


def wrapped(text: str, width: float, size: float) -> list[str]:
    """The text in lines of at most that width, broken between words."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def shortened(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits."""
    if text_width(text, size, bold=bold) <= width:
        return text
    while text and text_width(text + "…", size, bold=bold) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def write_title(page: Axes, left: float, top: float, title: str, width: float) -> None:
    """The figure's title."""
    text = shortened(title, width, 13, bold=True)
    page.text(left, top, text, size=13, weight="bold", color=INK, va="top", gid="title")


def write_badge(page: Axes, x: float, y: float, report: Report, size: float = 9) -> float:
    """The verdict as a filled badge, centred on the height `y`; where it ends."""
    text = report.verdict.upper()
    colour = VERDICT_COLOURS.get(report.verdict, ALARM)
    box = {"boxstyle": "round,pad=0.25,rounding_size=0.2", "facecolor": colour, "edgecolor": colour}
    page.text(
        x + 0.06, y, text, size=size, weight="bold", color=PAPER, va="center_baseline", bbox=box, gid=f"verdict-{text}"
    )
    return x + 0.12 + text_width(text, size, bold=True)


def write_heading(page: Axes, left: float, y: float, report: Report, note: str = "") -> None:
    """Policy, verdict and what the verdict means; a note at the right end."""
    policy = policy_title(report.scenario.policy)
    page.text(left, y, policy, size=10.5, weight="bold", color=INK, va="center_baseline", gid=f"policy-{policy}")
    x = write_badge(page, left + text_width(policy, 10.5, bold=True) + 0.14, y, report) + 0.12
    page.text(WIDTH - 0.2, y, note, size=9, color=INK, va="center_baseline", ha="right", gid="heading-note")
    room = WIDTH - 0.4 - text_width(note, 9) - x
    meaning = VERDICTS[report.verdict]
    if text_width("readable", 9) < room:
        page.text(x, y, shortened(meaning, room, 9), size=9, color=QUIET, va="center_baseline")


def write_caption(page: Axes, left: float, bottom: float, lines: Sequence[str]) -> None:
    """Lines of small print, the last of them at `bottom`."""
    for number, line in enumerate(reversed(lines)):
        page.text(left, bottom + number * LINE, line, size=8, color=QUIET, va="bottom", gid=f"caption-{number}")
