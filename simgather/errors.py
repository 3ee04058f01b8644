"""What can go wrong, as a hierarchy: everything simgather raises on purpose is a `SimgatherError`."""

from __future__ import annotations


class SimgatherError(Exception):
    """Base of every error that is the user's to mend; the command line prints it on one line and exits with 2."""


class InputError(SimgatherError, ValueError):
    """Something the user wrote cannot be used.

    ``str()`` is the whole message: ``file:line: key: what is wrong and what to do``; parts that do not apply are left
    out.
    """

    def __init__(
        self, message: str, source: str | None = None, line: int | None = None, key: str | None = None
    ) -> None:
        super().__init__(message, source, line, key)
        self.message = message
        self.source = source
        self.line = line
        self.key = key

    def __str__(self) -> str:
        where = self.source or ""
        if self.line is not None:
            where += f":{self.line}" if where else f"line {self.line}"
        return ": ".join(part for part in (where, self.key, self.message) if part)


class LimitError(InputError):
    """The scenario is valid but absurdly large; refused before memory is spent."""
