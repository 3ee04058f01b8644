"""Trace files: one event a line, the same bytes on every run, and all of them or none."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from simgather.errors import InputError
from simgather.report.trace.events import Trace


def write_all(traces: Sequence[tuple[Path, Trace]]) -> None:
    """Write every file next to its place first; when all are complete they take their places. Folders are made.

    Raises:
        InputError: a file cannot be written.

    """
    neighbours = [path.with_name(f".{path.name}.partial") for path, _ in traces]
    made = _missing_folders([path for path, _ in traces])
    try:
        for folder in made:
            folder.mkdir()
        for neighbour, (path, trace) in zip(neighbours, traces, strict=True):
            _write(neighbour, trace, compressed=path.suffix == ".gz")
        for neighbour, (path, _) in zip(neighbours, traces, strict=True):
            neighbour.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", str(error.filename or traces[0][0])) from None
    finally:
        for neighbour in neighbours:
            if neighbour.parent.is_dir():
                neighbour.unlink(missing_ok=True)
        for folder in reversed(made):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _missing_folders(paths: Sequence[Path]) -> list[Path]:
    """Folders to make, outer ones first."""
    folders = {folder for path in paths for folder in path.parents if not folder.exists()}
    return sorted(folders, key=lambda folder: len(folder.parts))


def text_lines(trace: Trace) -> Iterator[str]:
    """The JSON text of a trace in pieces.

    Readers look for ``"rank": 0`` in the text with the space after the colon, before they parse it.
    """
    encode = json.JSONEncoder(allow_nan=False).encode
    header = encode(dict(trace.header))
    yield f"{header[:-1]},\n" if trace.header else "{"
    yield '"traceEvents": [\n'
    separator = ""
    for event in trace.events:
        yield separator + encode(event)
        separator = ",\n"
    yield "\n]}\n"


def _write(path: Path, trace: Trace, *, compressed: bool) -> None:
    with path.open("wb") as file:
        if compressed:
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                _write_lines(packed, trace)
        else:
            _write_lines(file, trace)


def _write_lines(file: IO[bytes] | gzip.GzipFile, trace: Trace) -> None:
    for line in text_lines(trace):
        file.write(line.encode())
