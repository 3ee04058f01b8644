"""Files a command writes: checked before the work begins, and never left half written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from simgather.errors import InputError


def check_target(name: str, option: str, suffixes: Sequence[str] = ()) -> Path:
    """The path to write to.

    Raises:
        InputError: its folder does not exist, it is a folder itself, or its name has none of the `suffixes`.

    """
    path = Path(name)
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{name!r} must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}", source=option)
    if path.is_dir():
        raise InputError(f"{name!r} is a folder; name a file in it", source=option)
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist", source=option)
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {str(path.parent)!r} cannot be written to", source=option)
    return path


def write_bytes(path: Path, data: bytes) -> None:
    """Write the whole file or nothing: to a neighbour first, which then takes its place.

    Raises:
        InputError: the system does not let it be written.

    """
    try:
        _write(path, data)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=str(path)) from None


def _write(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    descriptor, neighbour = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(neighbour, 0o666 & ~_umask())
        os.replace(neighbour, path)
    except BaseException:
        os.unlink(neighbour)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
