"""A scenario written back: plain data with units, that loads as an equal scenario from Python and from a file."""

import io
import json

from hypothesis import given
from ruamel.yaml import YAML
from scenario_strategies import scenarios

from simgather.scenario import describe, load


def test_quantities_are_written_with_units_and_defaults_filled_in(changed):
    written = describe(changed())
    assert written["policy"] == "megatron-core-0.8"
    assert written["cluster"] == {
        "gpus": 4,
        "gather": {"latency": "20 us", "bus_bandwidth": "340 GB/s"},
        "host": {"launch": "5 us", "wait": "2 us", "collective": "30 us"},
        "connections": 1,
        "compute_skew": [1, 1, 1.1, 1],
    }
    assert written["model"]["modules"][0] == {"name": "A", "params": {"weight": "67M"}, "forward": "1.2 ms"}
    assert written["buckets"] == {"size": "40M", "pad_for_high_nccl_busbw": False}
    assert written["forward"] == ["A", "C", "B"]
    assert written["training"]["optimizer"] == "1 ms"


@given(scenarios())
def test_what_is_described_loads_as_an_equal_scenario(written):
    scenario = load(written)
    described = describe(scenario)
    assert load(described) == scenario
    assert load(json.loads(json.dumps(described))) == scenario
    assert describe(load(described)) == described


def test_a_bucket_size_in_billions_is_not_taken_for_bytes(changed):
    scenario = changed(("size: 40M", "size: 2G"))
    assert describe(scenario)["buckets"]["size"] == "2G"
    assert load(describe(scenario)) == scenario


def test_what_is_described_loads_from_a_file(tmp_path, changed):
    scenario = changed(("[A, C, B]", "{per_rank: {1: [A, {functional: C, name: head}]}}"))
    stream = io.StringIO()
    YAML().dump(describe(scenario), stream)
    path = tmp_path / "described.yaml"
    path.write_text(stream.getvalue(), encoding="utf-8")
    assert load(path) == scenario


def test_a_megatron_model_is_described_by_its_file(tmp_path):
    (tmp_path / "job.args").write_text("--num-layers 2\n", encoding="utf-8")
    path = tmp_path / "s.yaml"
    path.write_text(
        "policy: prefetch\ncluster: {gpus: 4, gpu: h100-sxm, gather: {times: [1 ms]}}\nmodel: {megatron: job.args}\n",
        encoding="utf-8",
    )
    scenario = load(path)
    assert describe(scenario)["model"] == {"megatron": str(tmp_path / "job.args"), "spec": "transformer_engine"}
    assert load(describe(scenario)) == scenario
