"""A hardware-free simulator of bucketed parameter all-gather overlap in data-parallel training.

>>> import simgather
>>> report = simgather.simulate(simgather.load("scenarios/issue-950.yaml"))  # doctest: +SKIP
>>> report.verdict  # doctest: +SKIP
'stale'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simgather.errors import InputError, LimitError, SimgatherError
    from simgather.report.report import Report
    from simgather.scenario.loader import load
    from simgather.scenario.schema import Scenario
    from simgather.simulation import simulate

__version__ = "0.1.0"

__all__ = ["InputError", "LimitError", "Report", "Scenario", "SimgatherError", "__version__", "load", "simulate"]

_HOMES = {
    "InputError": "simgather.errors",
    "LimitError": "simgather.errors",
    "Report": "simgather.report.report",
    "Scenario": "simgather.scenario.schema",
    "SimgatherError": "simgather.errors",
    "load": "simgather.scenario.loader",
    "simulate": "simgather.simulation",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used: ``--help`` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'simgather' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
