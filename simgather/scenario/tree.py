"""A scenario as written: nested mappings and lists in which every value remembers where it stands.

`simgather.scenario.reader` builds it from YAML and `from_mapping` from Python; overrides change it in place; then
`plain` gives the values alone to pydantic, whose errors find their line here again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, TypeAlias

from simgather.errors import InputError, LimitError

Scalar: TypeAlias = str | int | float | bool | None
Key: TypeAlias = str | int

MAX_VALUES = 1_000_000
MAX_DEPTH = 40
MAX_DIGITS = 40
MAX_KEY = 10**9


@dataclass(slots=True)
class Node:
    """One value: a scalar, or a list or mapping of nodes. A value under a key stands on the line of its key.

    `line` counts from 1 and is None where there is no text. `source` is set on what did not come from the file itself.
    """

    value: Scalar | list[Node] | dict[Key, Node]
    line: int | None = None
    source: str | None = None


@dataclass(slots=True)
class Problem:
    """Something wrong with the tree at `path` that reading it could step over."""

    message: str
    path: tuple[Key, ...]
    line: int | None
    source: str | None = None


@dataclass(slots=True)
class Tree:
    """A whole scenario as written, where it came from, and the problems met while reading it."""

    root: Node
    source: str
    problems: list[Problem] = field(default_factory=list)


def plain(node: Node) -> Any:
    """The values alone: dicts, tuples and scalars."""
    if isinstance(node.value, dict):
        return {key: plain(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return tuple([plain(child) for child in node.value])
    return node.value


def one_line(text: str) -> str:
    """`text` fit for a message of one line: what cannot be printed is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def dotted(path: tuple[Key, ...], root: Node | None = None) -> str:
    """``model.modules[2].forward``: a number is an index, unless `root` has a mapping there."""
    text = ""
    node = root
    for part in path:
        in_mapping = node is not None and isinstance(node.value, dict)
        if isinstance(part, int) and not in_mapping:
            text += f"[{part}]"
        else:
            text += f".{one_line(str(part))}" if text else one_line(str(part))
        node = child(node, part) if node is not None else None
    return text


def child(node: Node, part: Key) -> Node | None:
    """The value below `node` at a key or an index, or None."""
    if isinstance(node.value, dict):
        return node.value.get(part)
    if isinstance(node.value, list) and isinstance(part, int) and 0 <= part < len(node.value):
        return node.value[part]
    return None


def children(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    """The values below `node`, each with its dotted path; `path` is the node's own."""
    if isinstance(node.value, dict):
        for key, below in node.value.items():
            yield f"{path}.{key}" if path else str(key), below
    elif isinstance(node.value, list):
        for index, below in enumerate(node.value):
            yield f"{path}[{index}]", below


def leads_to(path: str, key: str) -> bool:
    """Whether the dotted `key` is at `path` or below it."""
    return key == path or key.startswith((f"{path}.", f"{path}["))


def from_mapping(mapping: Mapping[Any, Any], source: str) -> Tree:
    """The tree of a Python mapping; it has no lines. Tuples count as lists, and a number is copied as a plain one."""
    budget = [MAX_VALUES]

    def build(value: object, path: tuple[Key, ...]) -> Node:
        budget[0] -= 1
        if budget[0] < 0:
            raise LimitError(f"has more than {MAX_VALUES:,} values", source)
        if len(path) > MAX_DEPTH:
            raise InputError(f"is nested more than {MAX_DEPTH} deep", source, None, dotted(path[:3]) + "...")
        if isinstance(value, Mapping):
            return Node({_python_key(key, source, path): build(item, (*path, key)) for key, item in value.items()})
        if isinstance(value, list | tuple):
            return Node([build(item, (*path, index)) for index, item in enumerate(value)])
        return Node(_python_scalar(value, source, path))

    return Tree(build(mapping, ()), source)


def _python_key(key: object, source: str, path: tuple[Key, ...]) -> Key:
    if isinstance(key, str):
        return str(key)
    if isinstance(key, int) and not isinstance(key, bool) and abs(key) <= MAX_KEY:
        return key
    raise InputError(f"keys are text, got a {type(key).__name__}", source, None, dotted(path))


def _python_scalar(value: object, source: str, path: tuple[Key, ...]) -> Scalar:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        if abs(int(value)) >= 10**MAX_DIGITS:
            raise InputError(f"a number has at most {MAX_DIGITS} digits", source, None, dotted(path))
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise InputError(f"cannot use a {type(value).__name__}", source, None, dotted(path))
