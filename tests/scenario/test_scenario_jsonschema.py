"""The JSON Schema says what the loader says: valid scenarios are valid there, and unknown keys are refused there."""

import json

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from scenario_strategies import scenarios

from simgather.errors import InputError
from simgather.scenario import json_schema, load

VALIDATOR = Draft202012Validator(json_schema())
GATHER = {"latency": "20 us", "bus_bandwidth": "340 GB/s"}
MODULES = [{"name": name, "params": {"weight": "67M"}, "forward": "1.2 ms"} for name in "ABC"]


def written(**changes):
    base = {"policy": "prefetch", "cluster": {"gpus": 4, "gather": GATHER}, "model": {"modules": MODULES}}
    return {**base, **changes}


def in_cluster(**changes):
    return written(cluster={"gpus": 4, "gather": GATHER, **changes})


def as_json(value):
    return json.loads(json.dumps(value))


def is_valid(value):
    return VALIDATOR.is_valid(as_json(value))


def loads(value):
    try:
        load(value)
    except InputError:
        return False
    return True


def sections(schema):
    """Every schema of a mapping with known keys."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "type" in schema:
            yield schema
        for inner in schema.values():
            yield from sections(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from sections(inner)


def test_it_is_a_schema_of_the_draft_it_names():
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(json_schema())


def test_every_key_has_a_description_and_no_other_key_is_allowed():
    found = list(sections(json_schema()))
    assert len(found) > 10
    for section in found:
        assert section["additionalProperties"] is False
        for key, schema in section["properties"].items():
            assert schema.get("description"), key


def test_nothing_of_the_inside_shows():
    text = json.dumps(json_schema())
    assert "_ns" not in text
    assert '"null"' not in text


def test_what_a_caller_does_to_the_schema_stays_there():
    json_schema()["properties"].clear()
    assert json_schema()["properties"]


def test_the_example_of_the_design_is_valid(example):
    assert is_valid(YAML(typ="safe", pure=True).load(example))


@pytest.mark.parametrize(
    "example",
    [
        written(policy={"name": "prefetch", "depth": 2}),
        in_cluster(gather={"times": ["4 ms", "4 ms", "4 ms"]}),
        written(buckets="none"),
        written(buckets={"size": "none"}),
        written(buckets={"size": "64 MiB"}),
        written(buckets={"groups": [["A"], ["B"], ["C"]], "pad_for_high_nccl_busbw": False}),
        written(forward=["A", {"functional": "B"}]),
        written(forward=[["A", "B"], ["B", "A"], ["C"]]),
        written(forward={"per_rank": {0: ["A"], 1: ["B"]}}),
        written(training={"microbatches": 1, "recompute": "none", "hooks_in_first_iteration": False}),
        written(model={"modules": [{"name": "A", "params": {"weight": [8192, 8192]}, "forward": "1.2 ms"}]}),
    ],
)
def test_every_form_in_the_design_is_valid_and_loads(example):
    assert is_valid(example)
    assert loads(example)


def test_a_megatron_model_is_valid():
    assert is_valid(written(model={"megatron": "issue-950.args", "spec": "local"}))


@given(scenarios())
def test_what_loads_is_valid(scenario):
    assert loads(scenario)
    VALIDATOR.validate(as_json(scenario))


@pytest.mark.parametrize(
    "wrong",
    [
        written(extra=1),
        in_cluster(gpuz=4),
        in_cluster(gather={**GATHER, "link": "nvlink"}),
        in_cluster(gather={**GATHER, "table": "a.log"}),
        in_cluster(gather={**GATHER, "times": ["1 ms"]}),
        in_cluster(gather={"times": ["1 ms"], "latency": "1 ms"}),
        in_cluster(gather={"latency": "1 ms"}),
        in_cluster(gather={**GATHER, "latency_ns": 3}),
        in_cluster(host={"lunch": "1 us"}),
        in_cluster(host={"launch": 5}),
        in_cluster(host={"launch": "5"}),
        in_cluster(host={"launch": None}),
        in_cluster(gpus="4"),
        in_cluster(gpus=True),
        in_cluster(gpus=0),
        in_cluster(connections=33),
        in_cluster(compute_skew=[0, 1, 1, 1]),
        in_cluster(gpu={"flops": "690 TFLOP/s"}),
        in_cluster(gpu={"flops": 690, "memory_bandwidth": "3 TB/s"}),
        in_cluster(gpu={"name": "h100-sxm"}),
        written(policy="nope"),
        written(policy={"name": "all-upfront", "depth": 1}),
        written(policy={"name": "prefetch", "depht": 1}),
        written(iterations="3"),
        written(iterations=True),
        written(name=""),
        written(model={}),
        written(model={"modules": []}),
        written(model={"modules": MODULES, "megatron": "x.args"}),
        written(model={"megatron": "x.args", "text": "x"}),
        written(model={"modules": [{"name": "A"}]}),
        written(model={"modules": [{"name": "A", "forward": "1 ms", "params": {"w": 0}}]}),
        written(model={"modules": [{"name": "A", "forward": "1 ms", "params": {"w": []}}]}),
        written(model={"modules": [{"name": "A", "forward": "1 ms", "params": {"w": {"frozen": True}}}]}),
        written(model={"modules": [{"name": "A", "forward": "1 ms", "params": {"w": {"shape": [1], "elements": 1}}}]}),
        written(buckets="40M"),
        written(buckets={"size": "40M", "groups": [["A"]]}),
        written(buckets={"one": True}),
        written(buckets={"size": "40B"}),
        written(buckets={"size": "40 B"}),
        written(buckets={"size": 0}),
        written(buckets={"size_elements": 3}),
        written(buckets={"groups": ["A"]}),
        written(forward=[]),
        written(forward="A"),
        written(forward=[{"module": "A"}]),
        written(forward=[{"functional": "A", "forwards": "1 ms"}]),
        written(forward={"orders": [["A"]]}),
        written(forward={"per_rank": {}}),
        written(forward={"per_rank": {"x": ["A"]}}),
        written(training={"backward": "yes"}),
        written(training={"optimizer_ns": 3}),
    ],
)
def test_what_is_refused_here_is_refused_there(wrong):
    assert not loads(wrong)
    assert not is_valid(wrong)
