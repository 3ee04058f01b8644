"""overlap: how much of each all-gather the job of the issue hides under compute, once it is correct."""

from __future__ import annotations

from pathlib import Path

from figures import simulated, write


def make() -> Path:
    """Draw it."""
    return write("overlap", "overlap", [simulated("issue-950-fixed.yaml")])


if __name__ == "__main__":
    print(make())
