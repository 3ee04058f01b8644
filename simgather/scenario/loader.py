"""From a file or mapping, and overrides, to a `Scenario`; everything that is wrong comes out as one `InputError`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from simgather.errors import InputError, LimitError
from simgather.scenario import overrides as settings
from simgather.scenario.problems import empty_values, first_error
from simgather.scenario.reader import parse_yaml
from simgather.scenario.schema import Scenario, check_program_size, longest_forward
from simgather.scenario.tree import Node, Tree, children, from_mapping, leads_to, one_line, plain

MAX_FILE_BYTES = 4 * 2**20


def load(source: str | os.PathLike[str] | Mapping[str, Any], overrides: Sequence[str] = ()) -> Scenario:
    """The scenario in a YAML file, or in a mapping of the same shape, with `overrides` such as ``cluster.gpus=8``.

    Raises `InputError` for the first thing that is wrong, by line, and `LimitError` for a scenario that is too large.
    Files that it names are read relative to the scenario file, or for a mapping to the working directory.
    """
    tree, folder = _tree(source)
    for override in [overrides] if isinstance(overrides, str) else overrides:
        settings.apply(tree, override)
    return _validated(tree, folder)


def placed(error: InputError, source: str | os.PathLike[str], overrides: Sequence[str] = ()) -> InputError:
    """The error with the file and line of its key, for one that was found only after loading."""
    if error.source is not None or error.key is None:
        return error
    tree, _ = _tree(source)
    for override in overrides:
        settings.apply(tree, override)
    node, path = tree.root, ""
    places: list[Node] = [node]
    while (found := next((item for item in children(node, path) if leads_to(item[0], error.key)), None)) is not None:
        path, node = found
        places.append(node)
    set_by = next((node.source for node in reversed(places) if node.source), None)
    return type(error)(error.message, set_by or tree.source, None if set_by else node.line, error.key)


def _tree(source: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[Tree, str]:
    if isinstance(source, Mapping):
        return from_mapping(source, "<mapping>"), ""
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"a scenario is a path or a mapping, got a {type(source).__name__}")
    path = os.fsdecode(source)
    tree = parse_yaml(read_text(path), one_line(path))
    if tree.root.value is None:
        raise InputError("is empty; a scenario needs policy, cluster and model", tree.source)
    return tree, os.path.dirname(path)


def _validated(tree: Tree, folder: str) -> Scenario:
    def read(path: str) -> tuple[str, str]:
        full = os.path.join(folder, path)
        return read_text(full), full

    tree.problems += empty_values(tree.root)
    try:
        scenario = Scenario.model_validate(plain(tree.root), context=read)
    except ValidationError as error:
        raise first_error(tree, error.errors(include_url=False)) from None
    if tree.problems:
        raise first_error(tree, [])
    try:
        check_program_size(scenario, longest_forward(scenario), scenario.training.microbatches or 1)
    except LimitError as error:
        raise LimitError(error.message, tree.source) from None
    return scenario


def read_text(path: str) -> str:
    """The text of a UTF-8 file of reasonable size. Raises `InputError` that names the file."""
    name = one_line(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise InputError("there is no such file", name) from None
    except IsADirectoryError:
        raise InputError("is a directory; name a file in it", name) from None
    except PermissionError:
        raise InputError("may not be read (permission denied)", name) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"cannot be read ({reason or 'no file can have this name'})", name) from None
    if len(data) > MAX_FILE_BYTES:
        raise LimitError(f"is larger than {MAX_FILE_BYTES // 2**20} MiB, which no scenario needs", name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", name, line) from None
