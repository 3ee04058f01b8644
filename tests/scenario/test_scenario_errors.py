"""Every way a scenario can be wrong: one line with the file, the line, the key and what to do."""
# ruff: noqa: E501  a row of the tables below is one case, and a message is not broken

import os

import pytest

from simgather.errors import InputError, LimitError
from simgather.scenario import load

KNOWN_POLICIES = (
    "megatron-core-0.8, megatron-core-0.10, megatron-core-0.11, megatron-core-0.16, all-upfront, synchronous, prefetch"
)
B = "{name: B, params: {weight: 67M}, forward: 1.2 ms}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # keys
        ("gpus: 4", "gpuz: 4", "5: cluster.gpuz: unknown key; did you mean gpus?"),
        ("iterations: 3", "steps: 3", "3: steps: unknown key; known are name, policy, iterations, cluster, model, buckets, forward, training"),
        ("iterations: 3", "1: 3", "3: 1: unknown key; known are name, policy, iterations, cluster, model, buckets, forward, training"),
        ("launch: 5 us", "lunch: 5 us", "7: cluster.host.lunch: unknown key; did you mean launch?"),
        ("latency: 20 us", "latency_ns: 20 us", "6: cluster.gather.latency_ns: unknown key; did you mean latency?"),
        ("dtype: bf16", "dtypes: bf16", "11: model.dtypes: unknown key; did you mean dtype?"),
        ("dtype: bf16", "megatron: x.args", "12: model.modules: does not go with the other keys here; remove it or them"),
        (B, "{name: B, forwards: 1 ms}", "14: model.modules[1].forwards: unknown key; did you mean forward?"),
        (B, "{name: B, forward: 0, params: {w: {elemnts: 3}}}", "14: model.modules[1].params.w.elemnts: unknown key; did you mean elements?"),
        ("buckets: {size", "buckets: {sise", "16: buckets.sise: unknown key; did you mean size?"),
        ("optimizer", "optimiser", "18: training.optimiser: unknown key; did you mean optimizer?"),
        ("  gpus: 4\n", "", "4: cluster.gpus: is missing; write for example gpus: 4"),
        ("policy: megatron-core-0.8\n", "", "1: policy: is missing; write for example policy: megatron-core-0.11"),
        (B, "{name: B}", "14: model.modules[1].forward: is missing; write for example forward: 1.2 ms"),
        ("  gpus: 4", "  gpus: 4\n  gpus: 5", "6: cluster.gpus: is given twice, first on line 5; remove one"),
        ("  gpus: 4", "  gpus:", "5: cluster.gpus: has no value; give it one or remove it"),
        ("recompute: none", "recompute: null", "18: training.recompute: has no value; give it one or remove it"),
        # types
        ("iterations: 3", "iterations: 3.0", "3: iterations: expected a whole number, got 3.0"),
        ("iterations: 3", 'iterations: "3"', "3: iterations: expected a whole number, got '3'"),
        ("iterations: 3", "iterations: true", "3: iterations: expected a whole number, got true"),
        ("iterations: 3", "iterations: [3]", "3: iterations: expected a whole number, got a list"),
        ("iterations: 3", "iterations: 0", "3: iterations: must be at least 1, got 0"),
        ("iterations: 3", "iterations: 100_001", "3: iterations: must be at most 100000, got 100001"),
        ("gpus: 4", "gpus: 20000", "5: cluster.gpus: must be at most 16384, got 20000"),
        ("connections: 1", "connections: 33", "8: cluster.connections: must be at most 32, got 33"),
        ("dtype: bf16", "dtype: int4", "11: model.dtype: expected bf16, fp16, fp32 or fp8, got 'int4'"),
        ("backward: true", "backward: yes", "18: training.backward: expected true or false, got 'yes'"),
        ("name: A, C, B against buckets A, B, C", "name: 3", "1: name: expected text, in quotes if need be, got 3"),
        ("training: {", "training: 3 #", "18: training: expected a mapping with the keys microbatches, recompute, optimizer, backward, gradient_sync, hooks_in_first_iteration, got 3"),
        ("name: A, params", "name: 7, params", "13: model.modules[0].name: expected text, in quotes if need be, got 7"),
        ("name: A, params", 'name: "", params', "13: model.modules[0].name: needs some text"),
        ("name: A, params", 'name: "a\\nb", params', "13: model.modules[0].name: a name is one line of printable text"),
        # quantities
        ("latency: 20 us", "latency: 20", "6: cluster.gather.latency: a time needs a unit: 1.2 ms"),
        ("launch: 5 us", "launch: -5 us", "7: cluster.host.launch: a time cannot be negative, got -5 us"),
        ("340 GB/s", "340", "6: cluster.gather.bus_bandwidth: a bandwidth needs a unit: 340 GB/s"),
        ("weight: 67M", "weight: 67m", "13: model.modules[0].params.weight: a count cannot be in 'm'; did you mean M? as in 67M"),
        ("weight: 67M", "weight: 0", "13: model.modules[0].params.weight: needs at least 1 element, as in 67M"),
        ("weight: 67M", "weight: [3, -1]", "13: model.modules[0].params.weight[1]: must be at least 1, got -1"),
        ("weight: 67M", "weight: []", "13: model.modules[0].params.weight: needs at least 1, and has 0"),
        ("weight: 67M", "weight: [1000000000, 1000000000]", "13: model.modules[0].params.weight: a parameter has at most 1000T elements"),
        ("weight: 67M", "weight: {frozen: true}", "13: model.modules[0].params.weight: needs exactly one of elements and shape"),
        ("weight: 67M", "3: 67M", "13: model.modules[0].params.3: expected text, in quotes if need be, got 3"),
        ("size: 40M", "size: 40B", "16: buckets.size: '40B' could be bytes or billions of elements: write 40 bytes or 40G"),
        ("size: 40M", "size: 0", "16: buckets.size: a bucket cannot have size 0; write none for a single bucket"),
        # cluster
        (", bus_bandwidth: 340 GB/s", "", "6: cluster.gather: needs bus_bandwidth beside latency"),
        ("latency: 20 us, ", "", "6: cluster.gather: needs latency beside bus_bandwidth"),
        ("{latency: 20 us, bus_bandwidth: 340 GB/s}", "{}", "6: cluster.gather: needs latency and bus_bandwidth, or link, or times"),
        ("latency: 20 us", "latency: 20 us, times: [1 ms]", "6: cluster.gather.latency: times and latency exclude each other; remove one"),
        ("latency: 20 us", "link: nvlink-h100", "6: cluster.gather.bus_bandwidth: link and bus_bandwidth exclude each other; remove one"),
        ("latency: 20 us", "table: a.log", "6: cluster.gather.table: is not supported yet; write latency and bus_bandwidth, or link"),
        ("[1, 1, 1.1, 1]", "[1, 1]", "9: cluster.compute_skew: needs one factor per rank: 4 of them, got 2"),
        ("[1, 1, 1.1, 1]", "[1, 1, 0, 1]", "9: cluster.compute_skew[2]: a factor is above 0 and at most 1000"),
        ("[1, 1, 1.1, 1]", "[1, 1, .nan, 1]", "9: cluster.compute_skew[2]: a factor is above 0 and at most 1000"),
        ("[1, 1, 1.1, 1]", "[1, 1, 10%, 1]", "9: cluster.compute_skew[2]: a factor is a plain number: 1.1"),
        ("connections: 1", "gpu: {flops: 690 TFLOP/s}", "8: cluster.gpu.memory_bandwidth: is missing; write for example memory_bandwidth: 3.35 TB/s"),
        # policy
        ("policy: megatron-core-0.8", "policy: megatron-core-0.9", f"2: policy: no policy is named 'megatron-core-0.9'; did you mean megatron-core-0.8? Known: {KNOWN_POLICIES}"),
        ("policy: megatron-core-0.8", "policy: {name: zzz}", f"2: policy.name: no policy is named 'zzz'. Known: {KNOWN_POLICIES}"),
        ("policy: megatron-core-0.8", "policy: my_policy.py:MyPolicy", f"2: policy: policies of your own are not supported yet; use one of {KNOWN_POLICIES}"),
        ("policy: megatron-core-0.8", "policy: {name: all-upfront, depth: 2}", "2: policy.depth: only the policy prefetch has a depth; remove it"),
        ("policy: megatron-core-0.8", "policy: {name: prefetch, depth: -1}", "2: policy.depth: must be at least 0, got -1"),
        # model, buckets
        ("name: B", "name: A", "14: model.modules[1].name: is also the name of model.modules[0]; module names are unique"),
        ("buckets: {size: 40M}", "buckets: 40M", "16: buckets: expected none, or a mapping such as {size: 40M}"),
        ("{size: 40M}", "{size: 40M, groups: [[A]]}", "16: buckets.size: size and groups exclude each other; remove one"),
        ("{size: 40M}", "{groups: [A, B]}", "16: buckets.groups[0]: expected a list: [...], got 'A'"),
        # forward
        ("[A, C, B]", "[A, Q, B]", "17: forward[1]: no module is named 'Q'"),
        ("[A, C, B]", "[A, Cc, B]", "17: forward[1]: no module is named 'Cc'; did you mean C?"),
        ("[A, C, B]", "[{functional: A}, {functional: Q}]", "17: forward[1].functional: no module is named 'Q'"),
        ("[A, C, B]", "[[A], [A, {functional: Q}], [A]]", "17: forward[1][1].functional: no module is named 'Q'"),
        ("[A, C, B]", "[[A], [B]]", "17: forward: needs one order, or one per iteration: 3, got 2"),
        ("[A, C, B]", "[]", "17: forward: needs at least 1, and has 0"),
        ("[A, C, B]", "A", "17: forward: expected a list: [...], got 'A'"),
        ("[A, C, B]", "[A, 1]", "17: forward[1]: expected text, in quotes if need be, got 1"),
        ("[A, C, B]", "[A, {name: x}]", "17: forward[1].functional: is missing; write for example functional: B"),
        ("[A, C, B]", "{per_rank: {0: [A, Q]}}", "17: forward.per_rank.0[1]: no module is named 'Q'"),
        ("[A, C, B]", '{per_rank: {"1": [[A], [A], [B, Q]]}}', "17: forward.per_rank.1[2][1]: no module is named 'Q'"),
        ("[A, C, B]", "{per_rank: {4: [A]}}", "17: forward.per_rank.4: there is no rank 4 among 4 (cluster.gpus)"),
        ("[A, C, B]", "{per_rank: {x: [A]}}", "17: forward.per_rank.x: expected a whole number, got 'x'"),
        ("[A, C, B]", '{per_rank: {0: [A], "0": [B]}}', "17: forward.per_rank: names a rank twice"),
        ("[A, C, B]", "{perrank: {0: [A]}}", "17: forward.perrank: unknown key; did you mean per_rank?"),
    ],
)  # fmt: skip
def test_the_error_names_line_key_and_remedy(refusal, old, new, message):
    assert refusal((old, new)) == f"s.yaml:{message}"


def test_the_first_error_by_line_is_reported(refusal):
    later = ("training: {microbatches: 1", "training: {microbatches: 0")
    assert refusal(("gpus: 4", "gpus: 0"), later).startswith("s.yaml:5: cluster.gpus")
    assert refusal(("dtype: bf16", "dtype: bf17"), later).startswith("s.yaml:11: model.dtype")
    assert refusal(("iterations: 3", "iterations:"), ("gpus: 4", "gpus: 0")).startswith("s.yaml:3: iterations")


def test_a_megatron_model_needs_its_file_and_a_gpu(tmp_path):
    path = tmp_path / "s.yaml"
    cluster = "policy: prefetch\ncluster: {gpus: 4, gather: {times: [1 ms]}}\n"
    path.write_text(f"{cluster}model: {{megatron: job.args}}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"s.yaml:3: model.megatron: .*job.args: there is no such file"):
        load(path)
    (tmp_path / "job.args").write_bytes(b"--a\n\xff")
    with pytest.raises(InputError, match=r"s.yaml:3: model.megatron: .*job.args:2: is not UTF-8 text"):
        load(path)
    (tmp_path / "job.args").write_text("--num-layers 2", encoding="utf-8")
    with pytest.raises(InputError, match=r"s.yaml:2: cluster: a Megatron model needs cluster.gpu"):
        load(path)
    path.write_text(f"{cluster}model: {{megatron: job.args, text: x}}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"s.yaml:3: model.text: unknown key"):
        load(path)


def test_a_program_too_large_is_refused_before_it_is_built(changed):
    with pytest.raises(LimitError) as caught:
        changed(("iterations: 3", "iterations: 100_000"), ("microbatches: 1", "microbatches: 1000"))
    assert str(caught.value).endswith(
        "s.yaml: asks for 1,200,000,000 kernels (100,000 iterations x 1,000 training.microbatches x 3 steps of the "
        "forward pass x 4 cluster.gpus); at most 1,000,000: lower iterations or training.microbatches"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "s.yaml: is empty; a scenario needs policy, cluster and model"),
        (b"# nothing\n", "s.yaml: is empty; a scenario needs policy, cluster and model"),
        (b"--- ~\n", "s.yaml: is empty; a scenario needs policy, cluster and model"),
        (b"a: 1\nb: \xff\n", "s.yaml:2: is not UTF-8 text"),
        (b"a: 1\nb: \x00\n", "s.yaml:2: is not text: it holds characters that YAML does not allow"),
        (b"a: 1\n\tb: 2\n", "s.yaml:2: a tab cannot indent or separate in YAML; use spaces"),
        (b"a: 1\nb: [1\nc: 2\n", "s.yaml:3: is not valid YAML: expected ',' or ']', but got ':'"),
        (b"a: 1\n---\nb: 2\n", "s.yaml:2: a second document starts here; keep one scenario per file"),
        (b"a: !!python/name:os.system x\n", "s.yaml:1: a: the tag tag:yaml.org,2002:python/name:os.system is not supported; remove it"),
        (b"a: *x\n", "s.yaml:1: a: the alias *x has no anchor above it"),
        (b"a: &x [*x]\n", "s.yaml:1: a[0]: the alias *x has no anchor above it"),
        (b"[a]: 1\n", "s.yaml:1: a key is text; put it in quotes"),
        (b"1.5: 1\n", "s.yaml:1: a key is text; put it in quotes"),
        (b"a: {<<: 3}\n", "s.yaml:1: a: << merges a mapping or a list of mappings"),
        (b"a: " + b"9" * 50 + b"\n", "s.yaml:1: a: a number has at most 40 digits"),
        (b"a: " + b"[" * 100_000, "s.yaml:1: a[0][0]: is nested more than 40 deep"),
        (b"%YAML 3.0\n---\na: 1\n", None),
        (b"a: @b\n", None),
        (b"x" * (4 * 2**20 + 1), "s.yaml: is larger than 4 MiB, which no scenario needs"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_yaml_data_is_refused(tmp_path, content, message):
    path = tmp_path / "s.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(path)
    said = str(caught.value).replace(f"{tmp_path}/", "")
    assert said.isprintable()
    assert message is None or said == message


def test_a_document_that_is_no_mapping_is_refused(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("- policy\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"s.yaml:1: expected a mapping with the keys name, policy, .*, got a list"):
        load(path)


def test_an_alias_costs_what_it_stands_for(tmp_path):
    path = tmp_path / "s.yaml"
    levels = [f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 10)}]" for i in range(8)]
    path.write_text("a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "\n".join(levels), encoding="utf-8")
    with pytest.raises(LimitError, match="aliases counted as what they stand for"):
        load(path)
    chain = "".join(f"k{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 100))
    path.write_text(f"k0: &a0 1\n{chain}", encoding="utf-8")
    with pytest.raises(InputError, match="is nested more than 40 deep"):
        load(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.yaml: there is no such file$"):
        load(tmp_path / "nowhere.yaml")
    with pytest.raises(InputError, match="is a directory; name a file in it"):
        load(tmp_path)
    with pytest.raises(InputError, match="no file can have this name"):
        load("a\0b")
    (tmp_path / "x.yaml").touch()
    with pytest.raises(InputError, match=r"x.yaml/s.yaml: cannot be read \(Not a directory\)"):
        load(tmp_path / "x.yaml" / "s.yaml")
    with pytest.raises(InputError, match="a scenario is a path or a mapping"):
        load(3)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path):
    path = tmp_path / "s.yaml"
    path.touch(mode=0)
    with pytest.raises(InputError, match="permission denied"):
        load(path)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"a": 1}, "<mapping>: a: unknown key; known are"),
        ({}, "<mapping>: policy: is missing; write for example policy: megatron-core-0.11"),
        ({"policy": object()}, "<mapping>: policy: cannot use a object"),
        ({"policy": {None: 1}}, "<mapping>: policy: keys are text, got a NoneType"),
        ({"iterations": 10**5000}, "<mapping>: iterations: a number has at most 40 digits"),
        ({"policy": "prefetch", "cluster": {"gpus": "4"}}, "<mapping>: cluster.gpus: expected a whole number, got '4'"),
    ],
    ids=["unknown", "empty", "object", "key", "huge", "type"],
)
def test_a_mapping_has_no_lines(mapping, message):
    with pytest.raises(InputError) as caught:
        load(mapping)
    assert str(caught.value).startswith(message)


def test_a_mapping_that_holds_itself_is_refused():
    loop: dict[str, object] = {}
    loop["model"] = loop
    with pytest.raises(InputError, match="nested more than 40 deep"):
        load(loop)


def test_bad_items_of_a_list_are_named_and_not_that_the_list_lacks_good_ones(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "policy: synchronous\n"
        "cluster: {gpus: 4, gather: {times: [1 ms]}}\n"
        "model:\n"
        "  modules:\n"
        "    - {name: A, params: {w: 1M}, forward: -1 ms}\n"
    )
    with pytest.raises(InputError, match=r"s.yaml:5: model.modules\[0\].forward: "):
        load(path)
