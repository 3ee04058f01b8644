"""policies: the job of the issue under the built-in policies."""

from __future__ import annotations

from pathlib import Path

from figures import simulated, write

POLICIES = (
    "megatron-core-0.8",
    "megatron-core-0.10",
    "megatron-core-0.11",
    "prefetch",
    "all-upfront",
    "synchronous",
)


def make() -> Path:
    """Draw it."""
    return write("policies", "policies", [simulated("issue-950.yaml", f"policy={policy}") for policy in POLICIES])


if __name__ == "__main__":
    print(make())
