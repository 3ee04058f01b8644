"""Colours, hatches and mark shapes: text and shape carry the meaning, colour only repeats it."""

from __future__ import annotations

from dataclasses import dataclass

BUCKET_COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#0072B2", "#CC79A7", "#8A8A2E", "#5D3A9B")
"""Okabe and Ito's palette without its black and vermilion, which are for what is wrong; then olive and violet."""

INK = "#1A1A1A"
QUIET = "#6B6B6B"
PALE = "#DADADA"
NEUTRAL = "#C9C9C9"
PAPER = "#FFFFFF"
ALARM = "#B2182B"
"""Dark enough to stay apart from every bucket's colour in greyscale."""

EXPOSED_HATCH = "/////"
HOST_BOUND_HATCH = "------"
RENDEZVOUS_HATCH = "|||||"
EXPOSED_FACE = "#FBE3DC"
HOST_BOUND_FACE = "#EFEFEF"

VERDICT_COLOURS = {"safe": "#00664A", "race": "#8A5A00"}
"""Of the verdict's badge; every other verdict is `ALARM`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkStyle:
    """How one kind of mark looks: marker shape (matplotlib's letter), its letter, fill, and the outline of its box."""

    letter: str
    shape: str
    face: str
    ink: str
    outline: str
    meaning: str


MARKS: dict[str, MarkStyle] = {
    "error": MarkStyle(
        letter="E", shape="8", face=INK, ink=PAPER, outline="solid", meaning="the framework stops with an exception"
    ),
    "hang": MarkStyle(
        letter="H", shape="8", face=ALARM, ink=PAPER, outline="solid", meaning="collective that never starts: hang"
    ),
    "swap": MarkStyle(
        letter="X",
        shape="h",
        face=ALARM,
        ink=PAPER,
        outline="solid",
        meaning="ranks join with different buckets: corrupt data",
    ),
    "stale": MarkStyle(letter="S", shape="s", face=INK, ink=PAPER, outline="solid", meaning="stale read: old weights"),
    "torn": MarkStyle(
        letter="T",
        shape="D",
        face="#F4A582",
        ink=INK,
        outline="dashed",
        meaning="torn read: the all-gather is moving data",
    ),
    "unordered": MarkStyle(
        letter="U",
        shape="o",
        face=PAPER,
        ink=INK,
        outline="dotted",
        meaning="unordered read: fresh only under this timing",
    ),
    "version-mismatch": MarkStyle(
        letter="V",
        shape="p",
        face="#FDDBC7",
        ink=INK,
        outline="dashed",
        meaning="backward used other weights than forward",
    ),
    "optimizer-race": MarkStyle(
        letter="R",
        shape="H",
        face=PAPER,
        ink=INK,
        outline="dotted",
        meaning="optimizer may write what an all-gather still reads",
    ),
}
"""All kinds of marks, worst first."""

MARK_ORDER = {kind: number for number, kind in enumerate(MARKS)}


def bucket_colour(bucket: int) -> str:
    """The bucket's colour; colours repeat, so the number is written wherever it fits."""
    return BUCKET_COLOURS[bucket % len(BUCKET_COLOURS)]


def lighter(colour: str, share: float = 0.6) -> str:
    """The colour with `share` of white mixed in."""
    return mixed(colour, PAPER, share)


def mixed(one: str, other: str, share: float) -> str:
    """The first colour with `share` of the other."""
    pairs = ((int(one[place : place + 2], 16), int(other[place : place + 2], 16)) for place in (1, 3, 5))
    return "#" + "".join(f"{round(first + (second - first) * share):02X}" for first, second in pairs)


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on the colour."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else PAPER
