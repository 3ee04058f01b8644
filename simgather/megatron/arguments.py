"""Reading a Megatron argument file: what flags it gives, with which values, on which lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simgather.errors import InputError
from simgather.megatron.shell import parse_shell
from simgather.megatron.variables import argument_words

_FLAG = re.compile(r"(--?[A-Za-z][A-Za-z0-9_.-]{0,99})(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Argument:
    """A flag as written, dashes included, and all words up to the next flag; what they mean is not known here.

    `line` is the flag's, counted from 1. In ``--flag=value`` the value is the first of `values`.
    """

    flag: str
    values: tuple[str, ...]
    line: int


def read_arguments(text: str, source: str) -> tuple[Argument, ...]:
    """The arguments in the text of a file named `source`.

    Understood are shell variables (``GPT_ARGS="..."``, arrays, references to each other) and lines of bare flags, as
    `simgather.megatron.shell` and `simgather.megatron.variables` say. Nothing is executed.

    Raises:
        InputError: the text is no argument file; names the line.

    """
    arguments: list[Argument] = []
    flag, line = "", 0
    values: list[str] = []
    for word in argument_words(parse_shell(text, source), source):
        found = _FLAG.fullmatch(word.text)
        if found:
            if flag:
                arguments.append(Argument(flag, tuple(values), line))
            flag, line = found[1], word.line
            values = [] if found[2] is None else [found[2]]
        elif not flag or word.text.startswith("--"):
            raise InputError(f"expected a --flag, got {shown(word.text)}", source, word.line)
        else:
            values.append(word.text)
    if flag:
        arguments.append(Argument(flag, tuple(values), line))
    return tuple(arguments)


def shown(text: str) -> str:
    """What a user wrote, quoted and short enough for an error message."""
    quoted = repr(text)
    return quoted if len(quoted) <= 60 else f"{quoted[:56]}...{quoted[0]}"
