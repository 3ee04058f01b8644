"""Make all figures: ``python plots/make.py``. Look at each one after a change that is meant to alter it."""

from __future__ import annotations

import a_c_b
import drift
import forward
import issue_950
import overlap
import policies

FIGURES = (issue_950, a_c_b, drift, overlap, forward, policies)

if __name__ == "__main__":
    for figure in FIGURES:
        path = figure.make()
        print(f"{path.name}: {path.stat().st_size:,} bytes")
