"""Numbers and names as people read them, in the terminal, on the page and in pictures alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simgather.units import format_count

if TYPE_CHECKING:
    from simgather.scenario.schema import PolicyChoice


def ms(ns: int | None, *, sign: bool = False) -> str | None:
    """Milliseconds with three decimals."""
    if ns is None:
        return None
    return f"{round(ns / 1000) / 1000:{'+' if sign else ''}.3f}"


def percent(share: float | None) -> str | None:
    """A share as a percentage with one decimal."""
    return None if share is None else f"{100 * share:.1f}"


def adding_up(total_ns: int | None, parts_ns: Sequence[int | None]) -> list[str | None]:
    """Milliseconds of the parts, rounded such that they add up to the rounded total, if the exact ones do."""
    known = [part for part in parts_ns if part is not None]
    if total_ns is None or len(known) != len(parts_ns) or sum(known) != total_ns:
        return [ms(part) for part in parts_ns]
    floors = [part // 1000 for part in known]
    largest_first = sorted(range(len(known)), key=lambda index: -(known[index] % 1000))
    for index in largest_first[: round(total_ns / 1000) - sum(floors)]:
        floors[index] += 1
    return [f"{floor / 1000:.3f}" for floor in floors]


def count(number: int, noun: str, plural: str = "s") -> str:
    """``1 bucket``, ``3 buckets``."""
    return f"{format_count(number) if number > 9999 else number} {noun}{plural if number != 1 else ''}"


def ranges(numbers: Sequence[int], noun: str) -> str:
    """``iteration 3`` or ``iterations 1-4, 7``, from a sorted list."""
    return f"{noun}{'s' if len(numbers) > 1 else ''} {runs(numbers)}"


def runs(numbers: Sequence[int]) -> str:
    """``1-4, 7`` from a sorted list."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def policy_title(policy: PolicyChoice) -> str:
    """The policy's name, and its depth if it has one."""
    return policy.name + (f" (depth {policy.depth})" if policy.depth is not None else "")


def some(names: Sequence[str], width: int = 160) -> str:
    """As many names as fit, then how many more; the first is shortened from the left if it must be."""
    text = ""
    for index, name in enumerate(names):
        rest = len(names) - index - 1
        room = width - (len(f" +{rest} more") if rest else 0)
        if not text:
            text = _shortened(name, room)
        elif len(text) + 2 + len(name) <= room:
            text += f", {name}"
        else:
            return f"{text} +{rest + 1} more"
    return text


def _shortened(name: str, width: int) -> str:
    """A dotted name without as many leading components as it takes to fit."""
    while len(name) > width and "." in name.lstrip("."):
        name = ".." + name.lstrip(".").split(".", 1)[1]
    return name if len(name) <= width else name[: width - 2] + ".."
