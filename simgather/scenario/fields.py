"""The building blocks of the schema: quantities as pydantic types, the base of every mapping, and our own errors.

A value that people write in more than one shape (a name, or a mapping) has two types: what the program sees, and what
is written. A pydantic union would try every branch and report the failures of all; with `by_shape` the value's own
shape picks one branch, and `read_as` turns what was written into what the program sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    Strict,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from simgather.units import BANDWIDTH, COUNT, FLOPS, SIZE_PATTERN, TIME, Size, parse_size

T = TypeVar("T")

PROBLEM = "simgather"
"""The pydantic error type of a `problem`: its message is ours and its context names the place."""


def problem(message: str, *path: str | int) -> PydanticCustomError:
    """An error for a validator to raise: a finished sentence, and the keys from the validated value to the culprit."""
    return PydanticCustomError(PROBLEM, "{message}", {"message": message, "path": path})


class Section(BaseModel):
    """A mapping of the scenario file: its keys are the fields' aliases, others are refused, and it never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def nearest(word: str, known: Sequence[str]) -> str:
    """``; did you mean gpus?``, or nothing when no known word is near. Of equally near ones, the first known."""
    near = get_close_matches(word[:100], known, 5)
    closest = min(near, key=lambda other: (_edits(word[:100], other), known.index(other)), default=None)
    return f"; did you mean {closest}?" if closest else ""


def _edits(one: str, other: str) -> int:
    """How many letters to insert, delete or replace to turn one word into the other."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, target in enumerate(other, 1):
            before, row[j] = row[j], min(before + (letter != target), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def read_as(seen: type[T], make: Callable[[Any], T], written: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """The core schema of `seen`: values of the type `written`, each passed through `make`."""

    def validate(value: Any, validate_written: core_schema.ValidatorFunctionWrapHandler) -> T:
        return value if isinstance(value, seen) else make(validate_written(value))

    return core_schema.no_info_wrap_validator_function(validate, handler.generate_schema(written))


def by_shape(*, mapping: str, other: str, listed: str | None = None) -> Discriminator:
    """Picks a branch of a tagged union: one for mappings, one for lists if there is one, and one for all else."""

    def tag(value: Any) -> str:
        if isinstance(value, dict):
            return mapping
        return listed if listed is not None and isinstance(value, tuple | list) else other

    return Discriminator(tag)


def _reader(read: Callable[[Any], T]) -> PlainValidator:
    def validate(written: Any) -> T:
        try:
            return read(written)
        except ValueError as error:
            raise problem(str(error)) from None

    return PlainValidator(validate)


def _written(pattern: str, bare: Mapping[str, Any] | None, example: str) -> WithJsonSchema:
    """The JSON Schema of a quantity: text in the pattern, or the numbers that need no unit."""
    text = {"type": "string", "pattern": pattern}
    return WithJsonSchema({**(text if bare is None else {"anyOf": [text, bare]}), "examples": [example]})


def _read_elements(written: Any) -> int:
    elements = COUNT.read(written)
    if elements == 0:
        raise ValueError(f"needs at least 1 element, as in {COUNT.example}")
    return elements


def _read_size(written: Any) -> Size | None:
    if written == "none":
        return None
    size = parse_size(written)
    if not (size.elements or size.bytes):
        raise ValueError("a bucket cannot have size 0; write none for a single bucket")
    return size


def _check_name(name: str) -> str:
    if not name.isprintable() or not name.strip():
        raise problem("a name is one line of printable text")
    return name


_ZERO = {"type": "number", "const": 0}

Time = Annotated[int, _reader(TIME.read), _written(TIME.pattern, _ZERO, TIME.example)]
"""``1.2 ms``, as nanoseconds."""

Bandwidth = Annotated[int, _reader(BANDWIDTH.read), _written(BANDWIDTH.pattern, None, BANDWIDTH.example)]
"""``340 GB/s``, as bytes per second."""

ComputeRate = Annotated[int, _reader(FLOPS.read), _written(FLOPS.pattern, None, FLOPS.example)]
"""``690 TFLOP/s``, as floating-point operations per second."""

Elements = Annotated[
    int, _reader(_read_elements), _written(COUNT.pattern, {"type": "integer", "minimum": 1}, COUNT.example)
]
"""``67M``, as a number of elements above zero."""

BucketSize = Annotated[
    Size | None, _reader(_read_size), _written(f"^none$|{SIZE_PATTERN}", {"type": "integer", "minimum": 1}, "40M")
]
"""``40M`` or ``64 MiB``; None when the file says ``none``."""

Flag = Annotated[bool, Strict()]
"""``true`` or ``false``, and nothing that merely looks like it."""

Whole = Annotated[int, Strict()]
"""An integer; ``3.0``, ``"3"`` and ``true`` are not."""

Name = Annotated[
    str,
    Field(min_length=1, max_length=200),
    AfterValidator(_check_name),
    WithJsonSchema({"type": "string", "maxLength": 200, "pattern": r"\S"}),
]
"""One line of printable text."""
