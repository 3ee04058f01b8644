"""Plain aligned tables: a names row, a units row, ``#`` before what is not data, fixed widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MISSING = "-"


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name, unit and width in characters; `left` aligns text to the left."""

    name: str
    unit: str
    width: int
    left: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of cells; None is printed as ``-``."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str | None]]


def table_lines(table: Table) -> list[str]:
    """The table as plain lines. The first column must leave room for the ``#`` of the head."""
    columns, rows = table.columns, table.rows
    head = [_line(columns, [column.name for column in columns]), _line(columns, [column.unit for column in columns])]
    body = [_line(columns, [MISSING if cell is None else cell for cell in row]) for row in rows]
    return ["#" + line[1:] for line in head] + body


def _line(columns: Sequence[Column], cells: Sequence[str]) -> str:
    parts = [
        f"{cell:<{column.width}}" if column.left else f"{cell:>{column.width}}"
        for column, cell in zip(columns, cells, strict=True)
    ]
    return " ".join(parts).rstrip()
