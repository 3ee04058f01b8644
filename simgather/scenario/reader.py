"""YAML text to a tree of nodes.

The parser's events are read directly, with no constructor between. That keeps line numbers, sees repeated keys, and
leaves no way to build anything but text, numbers, true, false, nothing, lists and mappings. Plain scalars follow the
core schema of YAML 1.2 (``no`` is text), and integers may have underscores between digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from simgather.errors import InputError, LimitError
from simgather.scenario.tree import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_KEY,
    MAX_VALUES,
    Key,
    Node,
    Problem,
    Scalar,
    Tree,
    dotted,
    one_line,
)

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+(?:_[0-9]+)*")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_TAGS = frozenset(
    (None, "!", *(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")))
)
_TEXT_TAGS = frozenset(("!", "tag:yaml.org,2002:str"))


def parse_yaml(text: str, source: str) -> Tree:
    """The tree of a YAML document; of an empty one, a single null. Raises `InputError` for what is not YAML data."""
    return _Builder(source).build(_events(text, source))


def _events(text: str, source: str) -> Iterator[Event]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise InputError(_syntax(error.problem or error.context), source, line) from None
    except YAMLError as error:
        position = getattr(error, "position", None)
        line = None if position is None else text.count("\n", 0, position) + 1
        raise InputError("is not text: it holds characters that YAML does not allow", source, line) from None


def _syntax(said: str | None) -> str:
    if said and "'\\t'" in said:
        return "a tab cannot indent or separate in YAML; use spaces"
    return f"is not valid YAML: {one_line(said or 'it cannot be parsed')}"


class _Builder:
    """Turns events into nodes, and bounds how deep and how many they are."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._values = 0

    def build(self, events: Iterator[Event]) -> Tree:
        root = None
        for event in events:
            if isinstance(event, DocumentStartEvent):
                if root is not None:
                    self._fail("a second document starts here; keep one scenario per file", (), _line(event))
                root = self._node(next(events), events, ())
        return Tree(root or Node(None), self._source, self._problems)

    def _node(self, event: Event, events: Iterator[Event], path: tuple[Key, ...], line: int | None = None) -> Node:
        line = line or _line(event)
        if len(path) > MAX_DEPTH:
            self._fail(f"is nested more than {MAX_DEPTH} deep", path[:3], line)
        if isinstance(event, AliasEvent):
            return self._alias(event.anchor, path, line)
        before = self._values
        self._count(1, path, line)
        if not isinstance(event, ScalarEvent | SequenceStartEvent | MappingStartEvent):
            self._fail("is not valid YAML: a value is missing", path, line)
        tag = None if event.tag is None else str(event.tag)
        if tag not in _TAGS:
            self._fail(f"the tag {tag} is not supported; remove it", path, line)
        node = Node(None, line)
        if isinstance(event, ScalarEvent):
            node.value = self._scalar(event, tag, path, line)
        elif isinstance(event, SequenceStartEvent):
            node.value = self._list(events, path)
        else:
            node.value = self._mapping(events, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, self._values - before)
        return node

    def _list(self, events: Iterator[Event], path: tuple[Key, ...]) -> list[Node]:
        items: list[Node] = []
        for event in events:
            if isinstance(event, SequenceEndEvent):
                break
            items.append(self._node(event, events, (*path, len(items))))
        return items

    def _mapping(self, events: Iterator[Event], path: tuple[Key, ...]) -> dict[Key, Node]:
        entries: dict[Key, Node] = {}
        merged: dict[Key, Node] = {}
        for event in events:
            if isinstance(event, MappingEndEvent):
                break
            line = _line(event)
            key = self._node(event, events, path).value
            if not isinstance(key, str | int) or isinstance(key, bool) or (isinstance(key, int) and abs(key) > MAX_KEY):
                self._fail("a key is text; put it in quotes", path, line)
            node = self._node(next(events), events, (*path, key), line)
            if key == "<<" and isinstance(event, ScalarEvent) and event.style is None:
                merged = self._merge(node, path) | merged
            elif key in entries:
                said = f"is given twice, first on line {entries[key].line}; remove one"
                self._problems.append(Problem(said, (*path, key), line))
            else:
                entries[key] = node
        return entries | {key: node for key, node in merged.items() if key not in entries}

    def _merge(self, node: Node, path: tuple[Key, ...]) -> dict[Key, Node]:
        """What ``<<`` brings in; of several mappings, the first that has a key decides."""
        merged: dict[Key, Node] = {}
        for part in node.value if isinstance(node.value, list) else [node]:
            if not isinstance(part.value, dict):
                self._fail("<< merges a mapping or a list of mappings", path, node.line)
            merged = part.value | merged
        return merged

    def _alias(self, anchor: str, path: tuple[Key, ...], line: int | None) -> Node:
        found = self._anchors.get(anchor)
        if found is None:
            self._fail(f"the alias *{anchor} has no anchor above it", path, line)
        node, values = found
        if len(path) + _height(node) > MAX_DEPTH:
            self._fail(f"is nested more than {MAX_DEPTH} deep", path[:3], line)
        # The node is shared, but validation walks it once per use: an alias costs what it stands for.
        self._count(values, path, line)
        return node

    def _scalar(self, event: Any, tag: str | None, path: tuple[Key, ...], line: int | None) -> Scalar:
        text: str = event.value
        if event.style is not None or tag in _TEXT_TAGS:
            return text
        if text in _NULLS:
            return None
        if text in _BOOLS:
            return _BOOLS[text]
        if _INT.fullmatch(text):
            if len(text) > MAX_DIGITS:
                self._fail(f"a number has at most {MAX_DIGITS} digits", path, line)
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        return text

    def _count(self, values: int, path: tuple[Key, ...], line: int | None) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise LimitError(
                f"has more than {MAX_VALUES:,} values, aliases counted as what they stand for",
                self._source,
                line,
                dotted(path),
            )

    def _fail(self, message: str, path: tuple[Key, ...], line: int | None) -> NoReturn:
        raise InputError(one_line(message), self._source, line, dotted(path))


def _height(node: Node) -> int:
    below = node.value.values() if isinstance(node.value, dict) else node.value if isinstance(node.value, list) else ()
    return 1 + max(map(_height, below), default=-1)


def _line(event: Event) -> int:
    return int(event.start_mark.line) + 1
