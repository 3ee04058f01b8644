"""Integers packed for the page: differences in base 36, which JSON carries as one short string."""

from __future__ import annotations

from collections.abc import Iterable

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
NOTHING = "~"


def pack(values: Iterable[int | None]) -> str:
    """The values as differences to the value before; None as ``~``."""
    before = 0
    parts = []
    for value in values:
        if value is None:
            parts.append(NOTHING)
        else:
            parts.append(base36(value - before))
            before = value
    return " ".join(parts)


def base36(value: int) -> str:
    """The integer in base 36, as JavaScript's ``parseInt(text, 36)`` reads it."""
    if value < 0:
        return "-" + base36(-value)
    text = ""
    while True:
        value, digit = divmod(value, 36)
        text = DIGITS[digit] + text
        if not value:
            return text
