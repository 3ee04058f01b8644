"""forward: where the forward time of the issue goes, against the lower bound."""

from __future__ import annotations

from pathlib import Path

from figures import simulated, write


def make() -> Path:
    """Draw it."""
    return write("forward", "forward", [simulated("issue-950.yaml")])


if __name__ == "__main__":
    print(make())
