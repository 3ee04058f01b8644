"""The grammar of an argument file: shell assignments and lines of bare flags, as statements; nothing is ever executed.

What bash would do by running something (``$(...)``, backticks, ``$((...))``) becomes a `Part` that says so; whoever
needs its value refuses it, so a file may compute what its arguments do not use. Commands are refused here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from simgather.errors import InputError, LimitError

LARGEST = 2**20
"""Characters an argument file may have."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_ASSIGNMENT = re.compile(rf"({_NAME})(\+?)=")
_EXPORT = re.compile(r"export(?=[ \t])")
_EXPORTED_NAME = re.compile(rf"{_NAME}(?![^ \t\n;])")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_TOKEN_IN_PARENTHESES = re.compile(r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|[()]""", re.DOTALL)
_SHOWN = re.compile(r"\S{1,40}")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_PLAIN = re.compile(r"[^ \t\n\\'\"$`&|<>();]+")
_PLAIN_IN_QUOTES = re.compile(r"[^\\\"$`]+")
_BRACED = re.compile(rf"\$\{{({_NAME})(\[[@*]\])?\}}")
_SIMPLE = re.compile(rf"\$({_NAME}|[0-9@*#?$!-])")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a word. `line` counts from 1.

    ``text`` is literal; a ``reference`` names a variable in `text`, with `every` for ``${NAME[@]}``; ``refused`` is
    what cannot be known without running the file, `text` says why. `quoted` parts are never split at blanks.
    """

    kind: Literal["text", "reference", "refused"]
    text: str
    line: int
    quoted: bool
    every: bool = False


Parts = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """``NAME=word``, ``NAME=(word word)`` or the same with ``+=``; a value that is no array is a single word."""

    name: str
    append: bool
    array: bool
    words: tuple[Parts, ...]
    line: int


@dataclass(frozen=True, slots=True)
class BareArguments:
    """A line that begins with a flag: its words are arguments."""

    words: tuple[Parts, ...]


Statement = Assignment | BareArguments


def parse_shell(text: str, source: str) -> tuple[Statement, ...]:
    """The statements of a file, in order.

    Raises:
        InputError: the file is no text, a quote or bracket is not closed, or a line is a command.
        LimitError: the file is larger than `LARGEST`.

    """
    if len(text) > LARGEST:
        raise LimitError("is larger than 1 MiB: not an argument file", source)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    binary = _NOT_TEXT.search(text)
    if binary:
        raise InputError("is not a text file", source, text.count("\n", 0, binary.start()) + 1)
    return _Parser(text, source).statements()


class _Parser:
    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._at = 0
        self._line = 1

    def statements(self) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        while self._next_statement():
            if self._peek() == "-":
                statements.append(BareArguments(self._words_of_line()))
            else:
                statements.extend(self._assignments())
        return tuple(statements)

    def _next_statement(self) -> bool:
        while self._at < len(self._text):
            self._skip_blanks()
            if self._peek() not in ("\n", ";"):
                break
            self._advance(1)
        return self._at < len(self._text)

    def _at_end_of_statement(self) -> bool:
        return self._peek() in ("", "\n", ";")

    def _assignments(self) -> list[Assignment]:
        assignments: list[Assignment] = []
        exported = self._take(_EXPORT) is not None
        self._skip_blanks()
        while not self._at_end_of_statement():
            if assignment := self._assignment():
                assignments.append(assignment)
            elif not (exported and self._take(_EXPORTED_NAME)):
                raise self._command(after_assignment=bool(assignments))
            self._skip_blanks()
        return assignments

    def _assignment(self) -> Assignment | None:
        line, found = self._line, self._take(_ASSIGNMENT)
        if found is None:
            return None
        array = self._peek() == "("
        words = self._array() if array else (self._word(),)
        return Assignment(name=found[1], append=bool(found[2]), array=array, words=words, line=line)

    def _array(self) -> tuple[Parts, ...]:
        opened = self._line
        self._advance(1)
        words: list[Parts] = []
        while True:
            self._skip_blanks()
            if self._peek() == "":
                raise self._error("this ( is never closed", opened)
            if self._peek() == ")":
                self._advance(1)
                return tuple(words)
            if self._peek() == "\n":
                self._advance(1)
            else:
                words.append(self._word(within_array=True))

    def _words_of_line(self) -> tuple[Parts, ...]:
        words: list[Parts] = []
        while not self._at_end_of_statement():
            words.append(self._word())
            self._skip_blanks()
        return tuple(words)

    def _word(self, *, within_array: bool = False) -> Parts:
        parts: list[Part] = []
        while self._peek() not in ("", " ", "\t", "\n"):
            character, line = self._peek(), self._line
            if (plain := self._take(_PLAIN)) is not None:
                parts.append(Part("text", plain[0], line, quoted=False))
            elif character == "\\":
                parts.extend(self._escaped())
            elif character == "'":
                parts.extend(self._single_quoted())
            elif character == '"':
                parts.extend(self._double_quoted())
            elif character in "$`":
                parts.append(self._expansion(quoted=False))
            elif character == (")" if within_array else ";"):
                break
            else:
                raise self._error(f"the shell operator {character} is not understood outside quotes", line)
        return tuple(parts)

    def _escaped(self) -> list[Part]:
        line, pair = self._line, self._text[self._at : self._at + 2]
        self._advance(len(pair))
        return [Part("text", pair[1:], line, quoted=True)] if pair[1:] not in ("", "\n") else []

    def _single_quoted(self) -> list[Part]:
        line, end = self._line, self._text.find("'", self._at + 1)
        if end < 0:
            raise self._error("this ' is never closed", line)
        # Bash keeps a backslash before a newline here; files written so run only through eval or a second shell, which
        # drop it.
        text = self._text[self._at + 1 : end]
        self._advance(end + 1 - self._at)
        return [Part("text", piece.removesuffix("\\\n"), number, quoted=True) for number, piece in _lines(text, line)]

    def _double_quoted(self) -> list[Part]:
        opened = self._line
        self._advance(1)
        parts: list[Part] = []
        while self._peek() != '"':
            line = self._line
            if self._peek() == "":
                raise self._error('this " is never closed', opened)
            if plain := self._take(_PLAIN_IN_QUOTES):
                parts.extend(Part("text", piece, number, quoted=True) for number, piece in _lines(plain[0], line))
            elif self._peek() == "\\":
                pair = self._text[self._at : self._at + 2]
                self._advance(len(pair))
                if pair != "\\\n":
                    text = pair[1:] if pair[1:] in ('"', "\\", "$", "`") else pair
                    parts.append(Part("text", text, line, quoted=True))
            else:
                parts.append(self._expansion(quoted=True))
        self._advance(1)
        return parts or [Part("text", "", opened, quoted=True)]

    def _expansion(self, *, quoted: bool) -> Part:
        """What begins with ``$`` or a backtick."""
        line = self._line
        if self._peek() == "`":
            self._skip_to("`", "this ` is never closed")
            return Part("refused", "command substitution `...` is not executed: write its result", line, quoted)
        if self._text.startswith("$(", self._at):
            arithmetic = self._text.startswith("$((", self._at)
            self._skip_parentheses()
            what = (
                "arithmetic $((...)) is not computed" if arithmetic else "command substitution $(...) is not executed"
            )
            return Part("refused", f"{what}: write its result", line, quoted)
        if found := self._take(_BRACED):
            return Part("reference", found[1], line, quoted, every=found[2] is not None)
        if self._text.startswith("${", self._at):
            self._skip_to("}", "this ${ is never closed")
            return Part("refused", "of expansions only $NAME, ${NAME} and ${NAME[@]} are understood", line, quoted)
        if found := self._take(_SIMPLE):
            return Part("reference", found[1], line, quoted)
        self._advance(1)
        return Part("text", "$", line, quoted)

    def _skip_to(self, end: str, unclosed: str) -> None:
        found = self._text.find(end, self._at + 1)
        if found < 0:
            raise self._error(unclosed, self._line)
        self._advance(found + 1 - self._at)

    def _skip_parentheses(self) -> None:
        line, depth = self._line, 0
        for found in _TOKEN_IN_PARENTHESES.finditer(self._text, self._at):
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if depth == 0 and found[0] == ")":
                self._advance(found.end() - self._at)
                return
        raise self._error("this $( is never closed", line)

    def _skip_blanks(self) -> None:
        self._take(_BLANK)
        self._take(_COMMENT)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found:
            self._advance(found.end() - self._at)
        return found

    def _advance(self, count: int) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count

    def _command(self, *, after_assignment: bool) -> InputError:
        found = _SHOWN.match(self._text, self._at)
        shown = repr(found[0] if found else self._peek())
        if after_assignment:
            return self._error(
                f'{shown} follows an assignment; put the whole value in quotes: GPT_ARGS="..."', self._line
            )
        return self._error(
            f'{shown} is neither a --flag nor an assignment such as GPT_ARGS="..."; commands are not read', self._line
        )

    def _error(self, message: str, line: int) -> InputError:
        return InputError(message, self._source, line)


def _lines(text: str, first: int) -> list[tuple[int, str]]:
    """The lines of `text` with their newlines, numbered from `first`; one empty line if there is no text."""
    return [*enumerate(_LINES.findall(text) or [""], first)]
