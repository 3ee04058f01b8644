"""Names short enough to be written into a picture."""

from __future__ import annotations

from collections.abc import Sequence

from simgather.workload.workload import Workload


def short_name(name: str) -> str:
    """The last component of a module's name; with the one before it where the last is only a number."""
    parts = name.split(".")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return ".".join(parts[-2:]) if parts[-1].isdigit() else parts[-1]


def shorter_forms(name: str) -> list[str]:
    """The short name, and without ``linear_``, which says little."""
    short = short_name(name)
    tail = short.removeprefix("linear_")
    return [short, tail] if tail and tail != short else [short]


def distinct_names(names: Sequence[str]) -> dict[str, str]:
    """For each name its shortest ending, in whole components, that no other name ends in."""
    found = {}
    for name in names:
        parts = name.split(".")
        endings = [".".join(parts[place:]) for place in range(len(parts) - 1, -1, -1)]
        others = [other for other in names if other != name]
        found[name] = next(
            (text for text in endings if not any(other.endswith(f".{text}") or other == text for other in others)), name
        )
    return {name: text if text != name.rsplit(".", 1)[-1] else short_name(name) for name, text in found.items()}


def cut(text: str, length: int) -> str:
    """The text, its middle left out if it is too long."""
    if len(text) <= length:
        return text
    keep = length - 1
    return f"{text[: (keep + 1) // 2]}…{text[len(text) - keep // 2 :]}"


def bucket_modules(workload: Workload, bucket: int, most: int = 2) -> str:
    """Short names of the modules with parameters in the bucket, in registration order."""
    modules = workload.modules
    names = list(dict.fromkeys(modules[placed.module].name for placed in reversed(workload.buckets[bucket].parameters)))
    text = ", ".join(cut(short_name(name), 24) for name in names[:most])
    return text + (f" +{len(names) - most}" if len(names) > most else "")


def percent(share: float) -> str:
    """The share in whole percent, but never rounded to all: ``75 %``, ``99.9 %``."""
    if 0.995 <= share < 1:
        return f"{100 * min(share, 0.999):.1f} %"
    return f"{100 * share:.0f} %"
