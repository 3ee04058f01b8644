"""a-c-b: the extreme case of the issue, forward A, C, B against buckets A, B, C, on all four ranks."""

from __future__ import annotations

from pathlib import Path

from figures import simulated, write


def make() -> Path:
    """Draw it."""
    return write("a-c-b", "timeline", [simulated("a-c-b.yaml")])


if __name__ == "__main__":
    print(make())
