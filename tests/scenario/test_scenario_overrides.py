"""Values set from outside the file: where they land, what they may create, and errors that name them."""

import pytest

from simgather.scenario.schema import Buckets, PolicyChoice, UseSpec


def with_overrides(changed, *overrides):
    return changed(overrides=overrides)


def test_an_override_replaces_a_value(changed):
    assert with_overrides(changed, "cluster.connections=8").cluster.connections == 8
    assert with_overrides(changed, "iterations = 5").iterations == 5
    assert with_overrides(changed, "cluster.gather={times: [1 ms]}").cluster.gather.times_ns == (1_000_000,)


def test_a_module_is_named_by_index_or_by_name(changed):
    by_index = with_overrides(changed, "model.modules[1].forward=2 ms").model
    assert by_index.modules[1].forward_ns == 2_000_000
    assert by_index == with_overrides(changed, "model.modules.B.forward=2 ms").model
    assert with_overrides(changed, "model.modules.B.params.weight=[2, 3]").model.modules[1].params["weight"].shape == (
        2,
        3,
    )


def test_names_may_hold_dots_and_the_longest_is_meant(changed):
    replaced = ("name: A, params", "name: A.layers.0, params"), ("name: B", "name: A.layers"), ("[A, C, B]", "[C]")
    model = changed(*replaced, overrides=("model.modules.A.layers.0.forward=9 ms",)).model
    assert [module.forward_ns for module in model.modules] == [9_000_000, 1_200_000, 1_200_000]
    model = changed(*replaced, overrides=("model.modules.A.layers.forward=9 ms",)).model
    assert [module.forward_ns for module in model.modules] == [1_200_000, 9_000_000, 1_200_000]


def test_an_override_creates_what_the_file_leaves_out(changed):
    training = "training: {microbatches: 1, recompute: none, optimizer: 1 ms, backward: true, gradient_sync: true}\n"
    assert changed((training, ""), overrides=("training.microbatches=4",)).training.microbatches == 4
    scenario = with_overrides(
        changed, "cluster.reduce_scatter.latency=1 us", "cluster.reduce_scatter.bus_bandwidth=1 GB/s"
    )
    assert scenario.cluster.reduce_scatter.latency_ns == 1_000


def test_a_lone_word_becomes_a_mapping_when_a_key_joins_it(changed):
    policy = changed(("policy: megatron-core-0.8", "policy: prefetch"), overrides=("policy.depth=3",)).policy
    assert policy == PolicyChoice(name="prefetch", depth=3)
    buckets = changed(("{size: 40M}", "none"), overrides=("buckets.pad_for_high_nccl_busbw=true",)).buckets
    assert buckets == Buckets(one=True, pad_for_high_nccl_busbw=True)


def test_later_overrides_win(changed):
    assert with_overrides(changed, "iterations=4", "iterations=5").iterations == 5


def test_a_single_override_may_be_plain_text(changed):
    assert changed(overrides="iterations=4").iterations == 4


def test_items_of_an_order_can_be_set(changed):
    forward = with_overrides(changed, "forward[1]={functional: A}").forward
    assert forward.orders[0][1] == UseSpec(module="A", functional=True)


def test_an_override_changes_an_aliased_value_in_one_place_only(changed):
    aliased = ("gather: {", "gather: &g {"), ("  host:", "  reduce_scatter: *g\n  host:")
    cluster = changed(*aliased, overrides=("cluster.gather.latency=1 us",)).cluster
    assert (cluster.gather.latency_ns, cluster.reduce_scatter.latency_ns) == (1_000, 20_000)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("cluster.gpuz=8", "cluster.gpuz: unknown key; did you mean gpus?"),
        ("clusterr.gpus=8", "clusterr: unknown key; did you mean cluster?"),
        ("cluster.gpus=x", "cluster.gpus: expected a whole number, got 'x'"),
        ("model.modules.B.forward=2", "model.modules[1].forward: a time needs a unit: 1.2 ms"),
        ("model.modules.BB.forward=2 ms", "model.modules: has no item named 'BB'; did you mean B?"),
        ("model.modules[7].forward=1 ms", "model.modules: has 3 items, the first is [0]; there is no [7]"),
        ("cluster.host.launch.x=3", "cluster.host.launch: is '5 us' and has nothing below it"),
        ("iterations[0]=2", "iterations: is 3 and has nothing below it"),
        ("cluster[0]=2", "cluster: is not a list"),
        ("cluster.reduce_scatter.latency=1 us", "cluster.reduce_scatter: needs bus_bandwidth beside latency"),
        ("forward[1]=Q", "forward[1]: no module is named 'Q'"),
        (
            "cluster.gather.latency=[",
            "the value is not valid YAML: expected the node content, but found '<stream end>'",
        ),
        ("cluster.gather={a: 1, a: 2}", "a: is given twice, first on line 1; remove one"),
        ("iterations=", "has no value; write for example cluster.gpus=8"),
        ("iterations=~", "has no value; write for example cluster.gpus=8"),
        ("iterations", "is not key=value; write for example cluster.gpus=8"),
        ("=3", "is not key=value; write for example cluster.gpus=8"),
        ("..=3", "is not a key; write for example cluster.gpus=8 or model.modules[1].forward=2 ms"),
        ("a[b=3", "is not a key; write for example cluster.gpus=8 or model.modules[1].forward=2 ms"),
        ("a." * 60 + "a=3", "goes too deep"),
    ],
)
def test_the_error_names_the_override(refusal, override, message):
    said = refusal(overrides=(override,))
    assert said.startswith(f"--set {override[:110]}")
    assert said.endswith(f": {message}")


def test_what_an_override_breaks_elsewhere_is_said_where_it_stands(refusal):
    said = refusal(overrides=("cluster.gpus=8",))
    assert said == "s.yaml:9: cluster.compute_skew: needs one factor per rank: 8 of them, got 4"
