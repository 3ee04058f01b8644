"""From shell statements to the words a program would be given: variables, their expansion and word splitting."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from simgather.errors import InputError, LimitError
from simgather.megatron.shell import Assignment, BareArguments, Part, Parts, Statement

_ARGUMENTS_NAME = re.compile(r"(?:\w+_)?ARGS", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\n]+")
_MOST_EXPANDED = 2**22


@dataclass(frozen=True, slots=True)
class Word:
    """One argument as the program sees it, and the line its text stands on, also if it came through a variable."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """Literal text, or text that cannot be known for the reason `refused`.

    Text that `splits` came through an unquoted variable: blanks in it end a word. Quotes in it are plain characters.
    """

    text: str
    line: int
    splits: bool = False
    refused: str | None = None


_Pieces = list[_Piece]


@dataclass(slots=True)
class _Variable:
    """A value: any number of words if it is an array, otherwise one that is split where it is used unquoted."""

    array: bool
    words: list[_Pieces]
    refers_to: set[str] = field(default_factory=set)

    def holds_arguments(self, name: str) -> bool:
        start = "".join(piece.text for word in self.words[:1] for piece in word[:8])
        return bool(_ARGUMENTS_NAME.fullmatch(name)) or start.lstrip().startswith("--")


def argument_words(statements: Iterable[Statement], source: str) -> tuple[Word, ...]:
    """All arguments of a file, in file order.

    They are the bare flags and the variables that hold arguments: those named ``ARGS`` or ``..._ARGS`` and those whose
    value begins with ``--``. A variable that another of them refers to comes in through that one, not a second time.

    Raises:
        InputError: there are no arguments, or one of them needs a value that is not in the file.
        LimitError: variables expand to absurdly much text.

    """
    shell = _Shell(source)
    blocks: dict[int, list[_Pieces]] = {}
    first_seen: dict[str, int] = {}
    inner: set[str] = set()
    for number, statement in enumerate(statements):
        if isinstance(statement, BareArguments):
            blocks[number] = shell.words(statement.words)
            inner |= _references(statement.words)
        else:
            shell.assign(statement)
            first_seen.setdefault(statement.name, number)
    holders = {name: variable for name, variable in shell.variables.items() if variable.holds_arguments(name)}
    if not holders and not blocks:
        raise InputError('has no arguments: expected GPT_ARGS="--num-layers ..." or lines of --flags', source)
    inner |= {other for name, variable in holders.items() for other in variable.refers_to if other != name}
    for name, variable in holders.items():
        if name not in inner:
            blocks[first_seen[name]] = shell.all_words(variable)
    return tuple(_finished(pieces, source) for number in sorted(blocks) for pieces in blocks[number])


class _Shell:
    """The variables of one file, while it is read."""

    def __init__(self, source: str) -> None:
        self.variables: dict[str, _Variable] = {}
        self._source = source
        self._expanded = 0

    def assign(self, statement: Assignment) -> None:
        words = self.words(statement.words) if statement.array else [self._expand(statement.words[0])]
        old = self.variables.get(statement.name)
        if old is None or not statement.append:
            self.variables[statement.name] = _Variable(statement.array, words, _references(statement.words))
            return
        old.refers_to |= _references(statement.words)
        if old.array or statement.array:
            old.array = True
            old.words.extend(words)
        else:
            old.words[0].extend(words[0])

    def words(self, words: Iterable[Parts]) -> list[_Pieces]:
        """Words as a command or an array gets them: unquoted variables in them are split."""
        return [word for parts in words for word in self._split(self._expand(parts))]

    def all_words(self, variable: _Variable) -> list[_Pieces]:
        """What a command gets from the unquoted variable, or from every element of an array."""
        if variable.array:
            return variable.words
        return self._split([replace(piece, splits=True) for piece in variable.words[0]])

    def _expand(self, parts: Parts) -> _Pieces:
        pieces: _Pieces = []
        for part in parts:
            if part.kind == "text":
                pieces.append(_Piece(part.text, part.line))
            elif part.kind == "refused":
                pieces.append(_Piece("", part.line, refused=part.text))
            else:
                pieces.extend(self._value(part))
        return pieces

    def _value(self, part: Part) -> _Pieces:
        variable = self.variables.get(part.text)
        if variable is None:
            return [_Piece("", part.line, refused=f"${part.text} is not set in this file: write its value")]
        if part.every and not variable.words:
            return []
        pieces: _Pieces = []
        for word in variable.words if part.every else variable.words[:1]:
            if pieces:
                pieces.append(_Piece(" ", part.line, splits=True))
            # Doubling a variable in every line must not fill the memory.
            self._expanded += sum(1 + len(piece.text) for piece in word)
            if self._expanded > _MOST_EXPANDED:
                raise LimitError("its variables expand to more than 4 MiB of text", self._source, part.line)
            pieces.extend(replace(piece, splits=not part.quoted) for piece in word)
        return pieces or [_Piece("", part.line, splits=not part.quoted)]

    def _split(self, pieces: _Pieces) -> list[_Pieces]:
        words: list[_Pieces] = []
        within = False
        for piece in pieces:
            texts = _BLANKS.split(piece.text) if piece.splits and piece.refused is None else [None]
            for number, text in enumerate(texts):
                within = within and number == 0
                if text == "":
                    continue
                if not within:
                    words.append([])
                    within = True
                words[-1].append(piece if text is None else replace(piece, text=text))
        for word in words:
            if word[0].splits:
                self._refuse_slip(word[0])
        return words

    def _refuse_slip(self, first: _Piece) -> None:
        """Bash passes on, and Megatron then refuses, what its writer took for a comment or a continued line."""
        if first.text.startswith("#"):
            raise InputError("a comment inside quotes becomes arguments: take it out", self._source, first.line)
        if first.text == "\\":
            raise InputError(_BROKEN_CONTINUATION, self._source, first.line)


_BROKEN_CONTINUATION = "a backslash continues a line only as its very last character"


def _references(words: Iterable[Parts]) -> set[str]:
    return {part.text for parts in words for part in parts if part.kind == "reference"}


def _finished(pieces: _Pieces, source: str) -> Word:
    """A word whose text must be known."""
    for piece in pieces:
        if piece.refused is not None:
            raise InputError(piece.refused, source, piece.line)
    text = "".join(piece.text for piece in pieces)
    line = next((piece.line for piece in pieces if piece.text), pieces[0].line)
    if text and not text.strip():
        raise InputError(_BROKEN_CONTINUATION, source, line)
    return Word(text, line)
