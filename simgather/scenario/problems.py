"""From pydantic's errors to one `InputError`: source, line, dotted key, and a short sentence of our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails

from simgather.errors import InputError
from simgather.scenario.fields import PROBLEM, nearest
from simgather.scenario.jsonschema import keys_at
from simgather.scenario.tree import Key, Node, Problem, Tree, child, dotted

_MISSING = "missing"
_UNKNOWN = ("extra_forbidden", "invalid_key")
_NOT_A_MAPPING = ("model_type", "model_attributes_type", "dict_type")
_COUNTED = ("too_short", "too_long", "string_too_short", "string_too_long")
_SENTENCES = {
    "int_type": "expected a whole number",
    "bool_type": "expected true or false",
    "string_type": "expected text, in quotes if need be",
    "tuple_type": "expected a list: [...]",
    "literal_error": "expected {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "too_short": "needs at least {min_length}, and has {actual_length}",
    "too_long": "may have at most {max_length}",
    "string_too_short": "needs some text",
    "string_too_long": "may have at most {max_length} characters",
}


def first_error(tree: Tree, errors: Sequence[ErrorDetails]) -> InputError:
    """The error on the first line; among equals, what reading the tree found goes first, then pydantic's order."""
    strangers = {error["loc"][:-1] for error in errors if error["type"] in _UNKNOWN}
    above = {error["loc"][:length] for error in errors for length in range(len(error["loc"]))}
    problems = list(tree.problems)
    for error in errors:
        # A misspelt key is both unknown and missing, and a list of bad items is short of good ones: the cause helps.
        misspelt = error["type"] == _MISSING and error["loc"][:-1] in strangers
        if not misspelt and not (error["type"] == "too_short" and error["loc"] in above):
            problems.append(_problem(tree, error))
    # What an override brought in has no line and is what the user touched last.
    first = min(problems, key=lambda found: (found.source is None, found.line or 0))
    return InputError(
        first.message, first.source or tree.source, None if first.source else first.line, dotted(first.path, tree.root)
    )


def empty_values(root: Node) -> list[Problem]:
    """A problem for every key or item that has no value; a key is given or absent."""
    found: list[Problem] = []

    def walk(node: Node, path: tuple[Key, ...], source: str | None) -> None:
        source = node.source or source
        if node.value is None:
            found.append(Problem("has no value; give it one or remove it", path, node.line, source))
        elif isinstance(node.value, dict):
            for key, below in node.value.items():
                walk(below, (*path, key), source)
        elif isinstance(node.value, list):
            for index, below in enumerate(node.value):
                walk(below, (*path, index), source)

    walk(root, (), None)
    return found


def _problem(tree: Tree, error: ErrorDetails) -> Problem:
    context = error.get("ctx", {})
    ours = error["type"] == PROBLEM
    path, nodes = _locate(tree.root, error["loc"] + (context["path"] if ours else ()))
    if error["type"] == _MISSING:
        path = (*path, error["loc"][-1])
    message = context["message"] if ours else _sentence(error, path, context)
    # The innermost value that says where it came from: what an override made has the override's source.
    source = next((node.source for node in reversed(nodes) if node.source), None)
    return Problem(message, path, nodes[-1].line, source)


def _locate(root: Node, loc: Sequence[Key]) -> tuple[tuple[Key, ...], list[Node]]:
    """The longest path in the tree along `loc`, and its nodes.

    A location has parts that the file has not: names of union branches, and the index of an order when the file gives
    a single one. A scalar ends the path: what is below was made of it.
    """
    path: tuple[Key, ...] = ()
    nodes = [root]
    for index, part in enumerate(loc):
        key: Key = part
        below = child(nodes[-1], key)
        if below is None and isinstance(part, int) and isinstance(nodes[-1].value, dict):
            below = child(nodes[-1], key := str(part))
        nested = isinstance(part, int) and index + 1 < len(loc) and isinstance(loc[index + 1], int)
        if below is None or (nested and not isinstance(below.value, list)):
            continue
        path = (*path, key)
        nodes.append(below)
    return path, nodes


def _sentence(error: ErrorDetails, path: tuple[Key, ...], context: Mapping[str, Any]) -> str:
    kind = error["type"]
    if kind == _MISSING:
        key = str(path[-1])
        examples = keys_at(path[:-1]).get(key, {}).get("examples", ())
        return "is missing" + "".join(f"; write for example {key}: {example}" for example in examples[:1])
    if kind in _UNKNOWN:
        known = [*keys_at(path[:-1])]
        if path[-1] in known:
            return "does not go with the other keys here; remove it or them"
        return f"unknown key{nearest(str(path[-1]), known) or '; known are ' + ', '.join(known)}"
    if kind in _NOT_A_MAPPING:
        keys = ", ".join(keys_at(path))
        return f"expected a mapping{f' with the keys {keys}' if keys else ''}, got {shown(error['input'])}"
    said = _SENTENCES.get(kind, "cannot be used").format_map(context)
    if kind == "literal_error":
        said = said.replace("'", "")
    return f"{said}, got {shown(error['input'])}" if kind not in _COUNTED else said


def shown(value: object) -> str:
    """A value in a few words."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value)
    return text if len(text) <= 42 else f"{text[:38]}...{text[0]}"
