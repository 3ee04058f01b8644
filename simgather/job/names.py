"""Names that people misspell."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def hint(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'layer.0'?``, or nothing when no known name is near."""
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
