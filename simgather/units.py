"""Quantities as people write them (``1.2 ms``, ``340 GB/s``, ``40M``): read exactly, rounded once, and written back.

Reading goes through `fractions.Fraction`, so ``0.1 us`` is 100 ns and not 99: the only rounding is the last step, to
the nearest integer (halves to even). Every reader raises `ValueError` with a sentence that says what to write instead.

Two families write numbers. ``format_*`` is for reports: short, three significant digits, lossy. `Quantity.exact` is for
data: what it writes is read back as the same integer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from math import isfinite

_NUMBER = r"(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_WHOLE = r"[0-9]+(?:_[0-9]+)*"
_ZERO = r"(?:0+(?:_0+)*(?:\.0*)?|\.0+)(?:[eE][+-]?[0-9]{1,3})?"
_WRITTEN = re.compile(rf"([+-]?)({_NUMBER})\s*(.*)")
_LONGEST = 64

_DECIMAL = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BYTES = {"B": 1} | {f"{prefix}B": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
_BITS = {
    f"{prefix}{bit}": Fraction(factor, 8) for prefix, factor in _DECIMAL.items() for bit in ("b/s", "bit/s", "bps")
}
_COUNTS = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Quantity:
    """One kind of quantity: the units it is written in and the integers it may become.

    `units` maps each spelling to its size in the base unit; `written` are the spellings that errors suggest and
    `exact` writes, smallest first. A kind that is `countable` may stand without a unit, and is then a whole number.
    """

    what: str
    units: Mapping[str, int] | Mapping[str, Fraction]
    written: tuple[str, ...]
    example: str
    least: int
    most: int
    countable: bool = False

    @cached_property
    def pattern(self) -> str:
        """A regular expression, in the dialect of JSON Schema, for what `read` accepts (ranges apart)."""
        units = "|".join(re.escape(unit) for unit in sorted(self.units, key=len, reverse=True) if unit)
        bare = _WHOLE if self.countable else _ZERO
        return rf"^\s*\+?(?:{_NUMBER}\s*(?:{units})|{bare})\s*$"

    def read(self, written: object) -> int:
        """`written` in the base unit, rounded once. Zero needs no unit."""
        sign, number, unit = self._split(written)
        value = Fraction(number.replace("_", ""))
        factor = self._factor(unit, number)
        if sign == "-":
            raise ValueError(f"{self.what} cannot be negative, got {str(written).strip()}")
        rounded = round(value * factor)
        if rounded < self.least:
            raise ValueError(f"{self.what} must be at least {self.exact(self.least)}, got {str(written).strip()}")
        if rounded > self.most:
            raise ValueError(f"{self.what} of {str(written).strip()} is absurd: the most is {self.exact(self.most)}")
        return rounded

    def exact(self, value: int) -> str:
        """The shortest way to write `value` with at most three decimals; it reads back as the same integer."""
        spellings = []
        for unit in reversed(self.written):
            scaled = Fraction(value) / self.units[unit]
            if (scaled >= 1 or self.units[unit] == 1) and (scaled * 1000).denominator == 1:
                spellings.append(_joined(_decimal(scaled), unit, spaced=not self.countable))
        return min(spellings, key=len)

    def _split(self, written: object) -> tuple[str, str, str]:
        if isinstance(written, bool) or not isinstance(written, str | int | float):
            raise ValueError(f"{self.what} is written like {self.example}, got {_kind(written)}")
        if isinstance(written, float) and not isfinite(written):
            raise ValueError(f"{self.what} must be finite: {self.example}")
        if isinstance(written, int) and abs(written) > 10**_LONGEST:
            raise ValueError(f"{self.what} that large is absurd: the most is {self.exact(self.most)}")
        text = str(written).strip()
        found = _WRITTEN.fullmatch(text) if len(text) <= _LONGEST else None
        if found is None:
            raise ValueError(f"{self.what} is written like {self.example}, got {_quoted(text)}")
        sign, number, unit = found.groups()
        return sign, number, unit

    def _factor(self, unit: str, number: str) -> Fraction:
        if not unit:
            if self.countable and not re.fullmatch(_WHOLE, number):
                raise ValueError(f"{self.what} without a suffix is a whole number: {self.example}")
            if not self.countable and not re.fullmatch(_ZERO, number):
                raise ValueError(f"{self.what} needs a unit: {self.example}")
            return Fraction(1)
        if unit in self.units:
            return Fraction(self.units[unit])
        folded = {known.casefold(): known for known in self.written}
        near = folded.get(unit.casefold()) or next(iter(get_close_matches(unit, self.written, 1)), None)
        hint = f"did you mean {near}?" if near else f"write one of {', '.join(filter(None, self.written))}"
        raise ValueError(f"{self.what} cannot be in {_quoted(unit)}; {hint} as in {self.example}")


TIME = Quantity(
    what="a time",
    units={"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9},
    written=("ns", "us", "ms", "s"),
    example="1.2 ms",
    least=0,
    most=10 * 24 * 3600 * 10**9,
)
BANDWIDTH = Quantity(
    what="a bandwidth",
    units={f"{unit}/s": Fraction(factor) for unit, factor in _BYTES.items()} | _BITS,
    written=("B/s", "kB/s", "MB/s", "GB/s", "TB/s"),
    example="340 GB/s",
    least=1,
    most=10**18,
)
BYTES = Quantity(
    what="a size",
    units=_BYTES | {"bytes": 1, "byte": 1},
    written=("bytes", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB"),
    example="64 MiB",
    least=0,
    most=10**16,
)
COUNT = Quantity(
    what="a count",
    units={"": 1} | _COUNTS,
    written=("", "k", "M", "B", "T"),
    example="67M",
    least=0,
    most=10**15,
    countable=True,
)
FLOPS = Quantity(
    what="a compute rate",
    units={
        f"{prefix}{word}": factor
        for prefix, factor in ({"": 1} | _DECIMAL | {"E": 10**18}).items()
        for word in ("FLOP/s", "FLOPS", "flop/s", "flops")
    },
    written=("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"),
    example="690 TFLOP/s",
    least=1,
    most=10**21,
)
SIZE_PATTERN = rf"^(?!.*[0-9.]\s*B\s*$)(?:{COUNT.pattern}|{BYTES.pattern})"
"""What `parse_size` accepts: all counts and bytes but a lone ``B``."""


@dataclass(frozen=True, slots=True)
class Size:
    """A size given in elements or in bytes; the other is None."""

    elements: int | None = None
    bytes: int | None = None


def parse_time(text: str | float) -> int:
    """``1.2 ms`` as nanoseconds, at most ten days."""
    return TIME.read(text)


def parse_bandwidth(text: str | float) -> int:
    """``340 GB/s``, ``64 GiB/s`` or ``400 Gb/s`` as bytes per second, more than zero."""
    return BANDWIDTH.read(text)


def parse_bytes(text: str | float) -> int:
    """``64 MiB`` or ``128 MB`` as bytes."""
    return BYTES.read(text)


def parse_count(text: str | float) -> int:
    """``67M``, ``1.2B``, ``40_000_000`` or a plain integer as elements, at most 1e15."""
    return COUNT.read(text)


def parse_size(text: str | float) -> Size:
    """``40M`` as elements or ``64 MiB`` as bytes; a lone ``B`` could be either and is refused."""
    unit = ""
    if isinstance(text, str):
        found = _WRITTEN.fullmatch(text.strip())
        unit = found[3] if found else ""
    if unit == "B":
        raise ValueError(f"{_quoted(text)} could be bytes or billions of elements: write 40 bytes or 40G")
    if unit in BYTES.units:
        return Size(bytes=BYTES.read(text))
    if unit and unit not in COUNT.units:
        raise ValueError(f"a size cannot be in {_quoted(unit)}; write elements as in 40M or bytes as in 64 MiB")
    return Size(elements=COUNT.read(text))


def parse_flops(text: str | float) -> int:
    """``690 TFLOP/s`` as floating-point operations per second, more than zero."""
    return FLOPS.read(text)


def format_time(ns: int) -> str:
    """Nanoseconds for people: ``1.23 ms``."""
    return _short(ns, {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9})


def format_bytes(n: int) -> str:
    """Bytes for people, in powers of a thousand as bandwidths are: ``134 MB``."""
    return _short(n, {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15})


def format_count(n: int) -> str:
    """Elements for people: ``67.1M``."""
    return _short(n, {"": 1, "k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}, spaced=False)


def _short(value: int, units: Mapping[str, int], *, spaced: bool = True) -> str:
    size = abs(value)
    # 999.7 us would be written as 1000 us: what is rounded decides the unit.
    unit = next((u for u, factor in reversed([*units.items()]) if _three_digits(size, factor) >= 1), next(iter(units)))
    text = _joined(_decimal(_three_digits(size, units[unit])), unit, spaced=spaced)
    return f"-{text}" if value < 0 else text


def _three_digits(value: int, factor: int) -> Fraction:
    """`value` / `factor` to three significant digits, but never coarser than whole units."""
    scaled = Fraction(value, factor)
    decimals = 2 if scaled < 10 else 1 if scaled < 100 else 0
    return round(scaled, decimals) if scaled >= Fraction(9995, 10000) else Fraction(0)


def _decimal(value: Fraction) -> str:
    """A fraction of at most three decimals in digits, without trailing zeros."""
    whole, thousandths = divmod(int(value * 1000), 1000)
    return f"{whole}.{thousandths:03d}".rstrip("0").rstrip(".")


def _joined(number: str, unit: str, *, spaced: bool) -> str:
    return f"{number} {unit}" if spaced and unit else f"{number}{unit}"


def _quoted(text: object) -> str:
    shown = repr(text)
    return shown if len(shown) <= 42 else f"{shown[:38]}...{shown[0]}"


def _kind(value: object) -> str:
    kinds = {bool: "true or false", type(None): "nothing", dict: "a mapping", list: "a list", tuple: "a list"}
    return kinds.get(type(value), "something else")
