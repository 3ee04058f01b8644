"""The trace event format that Perfetto, chrome://tracing and Kineto share: one event is one flat mapping.

Times are written in microseconds, as the format wants them. A whole number of nanoseconds divided by 1000 is the float
nearest to its decimal, so what is written has at most three decimals and no nanosecond is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Event = dict[str, Any]


class Track(NamedTuple):
    """Where an event is drawn: process and thread."""

    pid: int
    tid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One file: what stands before the events, and the events, which may be made only while they are written."""

    header: Mapping[str, Any]
    events: Iterable[Event]

    def to_dict(self) -> dict[str, Any]:
        """The whole file as one value."""
        return {**self.header, "traceEvents": list(self.events)}


def microseconds(ns: int) -> float:
    """Nanoseconds as the format writes them."""
    return ns / 1000


def interval(track: Track, name: str, category: str, during: tuple[int, int | None], args: Mapping[str, Any]) -> Event:
    """A slice `during` start and end; without an end it is one that did not finish, which viewers draw as such."""
    start_ns, end_ns = during
    event: Event = {
        "ph": "B" if end_ns is None else "X",
        "cat": category,
        "name": name,
        "pid": track.pid,
        "tid": track.tid,
        "ts": microseconds(start_ns),
    }
    if end_ns is not None:
        event["dur"] = microseconds(end_ns - start_ns)
    return {**event, "args": dict(args)}


def instant(track: Track, name: str, category: str, at_ns: int, args: Mapping[str, Any], *, scope: str) -> Event:
    """A moment; `scope` is how far its mark reaches: t for the thread, p for the process."""
    return {
        "ph": "i",
        "cat": category,
        "name": name,
        "pid": track.pid,
        "tid": track.tid,
        "ts": microseconds(at_ns),
        "s": scope,
        "args": dict(args),
    }


def arrow(track: Track, category: str, identity: int, at_ns: int, *, is_end: bool) -> Event:
    """One end of an arrow; the two ends share category and identity.

    Perfetto binds it to the slice of its track that began last, chrome://tracing to one whose start, end or inside it
    touches: so put it inside, and nothing else into that slice.
    """
    event: Event = {
        "ph": "f" if is_end else "s",
        "cat": category,
        "name": category,
        "id": identity,
        "pid": track.pid,
        "tid": track.tid,
        "ts": microseconds(at_ns),
    }
    return {**event, "bp": "e"} if is_end else event


def leaving_ns(start_ns: int, end_ns: int) -> int:
    """Where an arrow leaves a slice: inside, as close to its end as can be."""
    return max(start_ns, end_ns - 1)


def arriving_ns(start_ns: int, end_ns: int | None) -> int:
    """Where an arrow enters a slice: inside, close to its start; at the very start of one that did not finish."""
    return start_ns if end_ns is None else min(start_ns + 1, leaving_ns(start_ns, end_ns))


def metadata(track: Track, name: str, key: str, value: int | str) -> Event:
    """A name for a process or thread, or its place in the order."""
    return {"ph": "M", "name": name, "pid": track.pid, "tid": track.tid, "args": {key: value}}
