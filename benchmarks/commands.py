"""How long whole commands take, beside a bare interpreter in the same run: medians and ratios.

python benchmarks/commands.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 7
ROOT = Path(__file__).parent.parent
COMMANDS = {
    "bare interpreter": ["-c", "pass"],
    "--help": ["-m", "simgather", "--help"],
    "run issue-950": ["-m", "simgather", "run", "scenarios/issue-950.yaml"],
    "compare issue-950": ["-m", "simgather", "compare", "scenarios/issue-950.yaml"],
}


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            taken[name].append(seconds(arguments))
    bare = statistics.median(taken["bare interpreter"])
    print(f"# median of {ROUNDS} rounds, whole processes")
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:<18} {1000 * median:>7.0f} ms {median / bare:>7.1f} x bare interpreter")


if __name__ == "__main__":
    main()
