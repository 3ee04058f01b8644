"""Whatever is loaded, the only error is an `InputError` of one line; and a large scenario loads quickly."""

import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenario_strategies import scenarios

from simgather.errors import InputError
from simgather.scenario import load
from simgather.scenario.reader import parse_yaml

in_a_file = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
yaml_alphabet = st.text(st.sampled_from("ab01 \n\t-:,[]{}&*!|>'\"%#?@`~<.é\x85\u2028\ufeff"), max_size=60)
known_words = st.sampled_from(
    [
        "policy",
        "cluster",
        "model",
        "gpus",
        "gather",
        "times",
        "modules",
        "name",
        "forward",
        "buckets",
        "none",
        "A",
        "1 ms",
    ]
)
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), known_words, st.binary())
anything = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(known_words, st.text(max_size=3)), inner, max_size=4)
    ),
    max_leaves=12,
)


def load_or_refuse(source, overrides=()):
    said = ""
    try:
        load(source, overrides)
    except InputError as error:
        said = str(error)
    assert said.isprintable()


@in_a_file
@given(st.one_of(st.text(max_size=60), yaml_alphabet))
def test_any_text_loads_or_is_refused(tmp_path, text):
    path = tmp_path / "s.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    load_or_refuse(path)


@in_a_file
@given(st.binary(max_size=60))
def test_any_bytes_load_or_are_refused(tmp_path, data):
    path = tmp_path / "s.yaml"
    path.write_bytes(data)
    load_or_refuse(path)


@given(st.dictionaries(st.one_of(known_words, st.text(max_size=3), st.integers(), st.none()), anything, max_size=5))
def test_any_mapping_loads_or_is_refused(mapping):
    load_or_refuse(mapping)


@settings(max_examples=200)
@given(scenarios(), st.data())
def test_a_valid_scenario_with_one_value_replaced_loads_or_is_refused(scenario, data):
    place = scenario
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            place[key] = data.draw(anything)
            break
        place = inner
    load_or_refuse(scenario)


@given(scenarios(), st.one_of(st.text(max_size=20), st.builds("{}={}".format, st.text(max_size=10), yaml_alphabet)))
def test_any_override_is_applied_or_refused(scenario, override):
    load_or_refuse(scenario, [override])


@given(scenarios(), st.sampled_from(["cluster", "model.modules", "model.modules[0]", "forward", "policy"]), anything)
def test_any_value_of_an_override_is_applied_or_refused(scenario, key, value):
    load_or_refuse(scenario, [f"{key}={value!r}"])


@given(st.text(max_size=20))
def test_any_path_loads_or_is_refused(path):
    load_or_refuse(f"/nonexistent/{path}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("true", True), ("False", False), ("~", None), ("null", None), ("12", 12),
        ("-3", -3), ("40_000", 40_000), ("012", 12), ("1.5", 1.5), (".5", 0.5), ("1e3", 1000.0),
        ("-.inf", float("-inf")),
        ("1:30", "1:30"), ("2020-01-01", "2020-01-01"), ("'3'", "3"), ("!!str 3", "3"), ("0x10", "0x10"),
        ("1.2 ms", "1.2 ms"),
    ],
)  # fmt: skip
def test_plain_scalars_follow_yaml_1_2(text, value):
    assert parse_yaml(f"[{text}]", "s").root.value[0].value == value


def test_merge_keys_and_anchors_work(changed):
    module = "{name: B, params: {weight: 67M}, forward: 1.2 ms}"
    anchored = ("- {name: A", "- &a {name: A"), (module, "{<<: *a, name: B, forward: 3 ms}")
    first, second, _ = changed(*anchored).model.modules
    assert second.params == first.params
    assert second.forward_ns == 3_000_000


def test_two_thousand_modules_load_in_seconds(tmp_path):
    modules = "".join(
        f"    - {{name: layer{i}, params: {{weight: 67M, bias: [8192]}}, forward: 1.2 ms}}\n" for i in range(2000)
    )
    path = tmp_path / "s.yaml"
    path.write_text(
        f"policy: prefetch\ncluster: {{gpus: 4, gather: {{times: [1 ms]}}}}\nmodel:\n  modules:\n{modules}",
        encoding="utf-8",
    )
    start = time.perf_counter()
    assert len(load(path).model.modules) == 2000
    assert time.perf_counter() - start < 10  # about 1 s; the margin is for slow machines


def test_importing_the_scenario_brings_in_no_heavy_package():
    heavy = ("numpy", "matplotlib", "simpy", "rich")
    code = f"import sys, simgather.scenario; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
