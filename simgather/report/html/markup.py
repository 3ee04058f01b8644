"""HTML by construction: text becomes markup only here, and only escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = frozenset({"br", "link", "meta"})

Attribute = str | int | float | bool | None


class Markup(str):
    """Text that is HTML already. Any other text is escaped when it is put into an element."""

    __slots__ = ()


Child = str | Markup | None | Iterable[str | Markup | None]


def element(name: str, *children: Child, **attributes: Attribute) -> Markup:
    """One element; None is left out. Of attribute names a last ``_`` is dropped, others become ``-``."""
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """Text and markup one after the other, nothing between them."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(escape(child))
        else:
            parts.append(joined(*child))
    return Markup("".join(parts))


def _attribute(key: str, value: Attribute) -> str:
    name = key.removesuffix("_").replace("_", "-")
    if isinstance(value, bool):
        return f" {name}" if value else ""
    return f' {name}="{escape(str(value))}"'
