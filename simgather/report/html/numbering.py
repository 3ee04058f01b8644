"""Things numbered in the order in which they are first met: what repeats is written into the page once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Numbers(Generic[Item]):
    """``numbers[item]`` is the item's number; iterating gives the items in order of their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Item, int] = {}

    def __getitem__(self, item: Item) -> int:
        return self._numbers.setdefault(item, len(self._numbers))

    def __iter__(self) -> Iterator[Item]:
        return iter(self._numbers)
