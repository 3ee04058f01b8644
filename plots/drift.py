"""drift: forward B, A, C under the 0.8 policy; bucket 2 is never gathered, so C ages by a step per iteration."""

from __future__ import annotations

from pathlib import Path

from figures import simulated, write


def make() -> Path:
    """Draw it."""
    report = simulated("a-c-b.yaml", "name=B, A, C against buckets A, B, C", "forward=[B, A, C]", "iterations=10")
    return write("drift", "versions", [report])


if __name__ == "__main__":
    print(make())
