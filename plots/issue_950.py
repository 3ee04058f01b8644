"""issue-950: the job of Megatron-LM issue 950 under the 0.8 policy, and under that of 0.11 on the same scale."""

from __future__ import annotations

from pathlib import Path

from figures import simulated, write


def make() -> Path:
    """Draw it."""
    reports = [simulated("issue-950.yaml"), simulated("issue-950-fixed.yaml")]
    return write("issue-950", "timeline", reports)


if __name__ == "__main__":
    print(make())
