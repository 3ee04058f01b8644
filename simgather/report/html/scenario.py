"""The scenario as it was resolved, as the YAML that gives this report again."""

from __future__ import annotations

from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from simgather.scenario.describe import describe
from simgather.scenario.schema import Scenario

WIDTH = 100


def scenario_yaml(scenario: Scenario) -> str:
    """The text of a scenario file; what is short stands on one line."""
    yaml = YAML()
    yaml.width = 10_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(_styled(describe(scenario), top=True), stream)
    return stream.getvalue()


def _styled(value: Any, *, top: bool = False) -> Any:
    if isinstance(value, dict):
        mapping = CommentedMap((key, _styled(item)) for key, item in value.items())
        if not top and _is_short(value):
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq(_styled(item) for item in value)
        if _is_short(value):
            sequence.fa.set_flow_style()
        return sequence
    return value


def _is_short(value: dict[str, Any] | list[Any]) -> bool:
    """Whether it fits on a line and is no list of mappings, which read better one below the other."""
    items = value if isinstance(value, list) else list(value.values())
    if isinstance(value, list) and any(isinstance(item, dict) and len(item) > 1 for item in items):
        return False
    return len(str(value)) <= WIDTH
