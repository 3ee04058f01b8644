"""What is asked, validated: a scenario file or mapping becomes one frozen `Scenario`, or one error with its line."""

from simgather.scenario.describe import describe
from simgather.scenario.jsonschema import json_schema
from simgather.scenario.loader import load
from simgather.scenario.schema import Scenario

__all__ = ["Scenario", "describe", "json_schema", "load"]
