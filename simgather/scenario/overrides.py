"""Values set from outside the file: ``cluster.gpus=8``, ``model.modules[1].forward=2 ms``, ``buckets.size=40M``.

An override changes the tree before validation, so it can use every key of a scenario and meets the same checks. Names
may hold dots (``decoder.layers.0``): of the names that fit, the longest is meant.
"""

from __future__ import annotations

import re
from typing import NoReturn

from simgather.errors import InputError
from simgather.scenario.fields import nearest
from simgather.scenario.problems import shown
from simgather.scenario.reader import parse_yaml
from simgather.scenario.tree import MAX_DEPTH, Key, Node, Tree, child, dotted, one_line

_INDEX = re.compile(r"\[([0-9]{1,9})\]")
_NAME = re.compile(r"[^.\[\]]+")
# Keys whose value may be a lone word: the word, and the key it stands for when another key joins it.
_SHORTHAND = {("policy",): "name", ("buckets",): "size"}


def apply(tree: Tree, override: str) -> None:
    """Sets one value of `tree`, replacing what is there and making mappings on the way as needed."""
    flat = one_line(override)
    source = f"--set {flat}" if len(flat) <= 120 else f"--set {flat[:110]}..."
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise InputError("is not key=value; write for example cluster.gpus=8", source)
    try:
        value = parse_yaml(text, source)
    except InputError as error:
        raise InputError(f"the value {error.message}", source) from None
    if value.root.value is None:
        raise InputError("has no value; write for example cluster.gpus=8", source)
    if value.problems:
        raise InputError(value.problems[0].message, source, None, dotted(value.problems[0].path))
    value.root.source = source
    _Walk(tree.root, key.strip(), source).set(value.root)


class _Walk:
    """One way down the tree. Containers on the way are copied: an aliased one must change in this place only."""

    def __init__(self, root: Node, key: str, source: str) -> None:
        self._node = root
        self._rest = key
        self._source = source
        self._path: tuple[Key, ...] = ()

    def set(self, value: Node) -> None:
        part = self._next()
        while self._rest:
            self._descend(part)
            part = self._next()
        self._put(part, value)

    def _next(self) -> Key:
        """Takes the next key or index off the rest."""
        if len(self._path) > MAX_DEPTH:
            self._fail("goes too deep")
        index = _INDEX.match(self._rest)
        if index:
            self._rest = self._rest[index.end() :]
            return self._existing_index(int(index[1]))
        rest = self._rest.removeprefix(".") if self._path else self._rest
        keys = self._names()
        fitting = [name for name in keys if rest == name or rest.startswith((f"{name}.", f"{name}["))]
        plain = _NAME.match(rest)
        if fitting:
            name = max(fitting, key=len)
        elif plain and not isinstance(self._node.value, list):
            name = plain[0]
        elif plain:
            self._fail(f"has no item named {shown(plain[0])}{nearest(plain[0], [*keys])}")
        else:
            self._fail("is not a key; write for example cluster.gpus=8 or model.modules[1].forward=2 ms")
        self._rest = rest[len(name) :]
        return keys.get(name, name)

    def _names(self) -> dict[str, Key]:
        """What can be named here: the keys of a mapping, or the items of a list by their ``name``."""
        value = self._node.value
        if isinstance(value, dict):
            return {str(key): key for key in value}
        named: dict[str, Key] = {}
        for index, item in enumerate(value if isinstance(value, list) else ()):
            name = child(item, "name")
            if name is not None:
                named.setdefault(str(name.value), index)
        return named

    def _existing_index(self, index: int) -> int:
        if not isinstance(self._node.value, list):
            self._fail("is not a list")
        if index >= len(self._node.value):
            self._fail(f"has {len(self._node.value)} items, the first is [0]; there is no [{index}]")
        return index

    def _descend(self, part: Key) -> None:
        below = child(self._node, part) or Node({}, source=self._source)
        copied = _copied(below)
        self._put(part, copied)
        self._path = (*self._path, part)
        self._node = copied
        if not isinstance(copied.value, dict | list):
            if self._path not in _SHORTHAND:
                self._fail(f"is {shown(copied.value)} and has nothing below it")
            copied.value = {_SHORTHAND[self._path]: Node(copied.value, below.line, below.source)}

    def _put(self, part: Key, node: Node) -> None:
        value = self._node.value
        if isinstance(value, dict):
            value[part] = node
        elif isinstance(value, list):
            value[int(part)] = node
        else:
            self._fail(f"is {shown(value)} and has nothing below it")

    def _fail(self, message: str) -> NoReturn:
        raise InputError(message, self._source, None, dotted(self._path))


def _copied(node: Node) -> Node:
    value = node.value.copy() if isinstance(node.value, dict | list) else node.value
    return Node(value, node.line, node.source)
