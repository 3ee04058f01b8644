"""Every key of a scenario, and what it becomes."""

from decimal import Decimal

import pytest

from simgather.scenario import load
from simgather.scenario.schema import (
    POLICY_NAMES,
    Buckets,
    ExplicitModel,
    Forward,
    Gpu,
    MegatronModel,
    ParameterSpec,
    PolicyChoice,
    UseSpec,
)

MINIMAL = {
    "policy": "megatron-core-0.11",
    "cluster": {"gpus": 2, "gather": {"times": ["1 ms"]}},
    "model": {"modules": [{"name": "A", "forward": "1 ms"}, {"name": "B", "params": {"w": 8}, "forward": 0}]},
}


def loaded(**changes):
    return load({**MINIMAL, **changes})


def in_cluster(**changes):
    return loaded(cluster={**MINIMAL["cluster"], **changes}).cluster


def parameter(written):
    module = {"name": "A", "params": {"w": written}, "forward": "1 ms"}
    return loaded(model={"modules": [module]}).model.modules[0].params["w"]


def uses(*names):
    return tuple(UseSpec(module=name) for name in names)


def test_the_example_of_the_design_loads(changed):
    scenario = changed()
    assert scenario.name == "A, C, B against buckets A, B, C"
    assert scenario.policy == PolicyChoice(name="megatron-core-0.8")
    assert scenario.iterations == 3
    assert scenario.cluster.gpus == 4
    assert scenario.cluster.gather.latency_ns == 20_000
    assert scenario.cluster.gather.bus_bandwidth == 340 * 10**9
    assert scenario.cluster.gather.times_ns is None
    assert (scenario.cluster.host.launch_ns, scenario.cluster.host.wait_ns) == (5_000, 2_000)
    assert scenario.cluster.host.collective_ns == 30_000
    assert scenario.cluster.connections == 1
    assert scenario.cluster.compute_skew == (1, 1, Decimal("1.1"), 1)
    assert isinstance(scenario.model, ExplicitModel)
    assert [module.name for module in scenario.model.modules] == ["A", "B", "C"]
    assert scenario.model.modules[0].params == {"weight": ParameterSpec(shape=(67_000_000,))}
    assert scenario.model.modules[0].forward_ns == 1_200_000
    assert scenario.buckets == Buckets(size_elements=40_000_000)
    assert scenario.forward == Forward(orders=(uses("A", "C", "B"),))
    assert scenario.training.microbatches == 1
    assert scenario.training.recompute == "none"
    assert scenario.training.optimizer_ns == 1_000_000


def test_what_is_not_given_has_a_default():
    scenario = loaded()
    assert scenario.name == "scenario"
    assert scenario.iterations == 3
    assert scenario.cluster.reduce_scatter is None
    assert scenario.cluster.connections == 8
    assert scenario.cluster.compute_skew is None
    assert scenario.cluster.gpu is None
    host = scenario.cluster.host
    assert (host.launch_ns, host.wait_ns, host.collective_ns) == (0, 0, 0)
    assert scenario.model.dtype == "bf16"
    assert scenario.model.modules[0].params == {}
    assert scenario.model.modules[0].backward_ns is None
    assert not scenario.model.modules[0].frozen
    assert scenario.buckets == Buckets()
    assert scenario.forward is None
    training = scenario.training
    assert (training.microbatches, training.recompute, training.optimizer_ns) == (None, None, 0)
    assert (training.backward, training.gradient_sync, training.hooks_in_first_iteration) == (True, True, None)


def test_a_scenario_never_changes():
    scenario = loaded()
    with pytest.raises(ValueError, match="frozen"):
        scenario.iterations = 4


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_policy_is_known_by_its_name(name):
    assert loaded(policy=name).policy.name == name
    assert loaded(policy={"name": name}).policy == loaded(policy=name).policy


def test_only_prefetch_has_a_depth():
    assert loaded(policy="prefetch").policy.depth == 1
    assert loaded(policy={"name": "prefetch", "depth": 0}).policy.depth == 0
    assert loaded(policy="synchronous").policy.depth is None


def test_a_collective_costs_fixed_times_or_latency_and_bandwidth():
    cluster = in_cluster(reduce_scatter={"latency": "20 us", "bus_bandwidth": "400 Gb/s"})
    assert cluster.gather.times_ns == (1_000_000,)
    assert cluster.gather.latency_ns is None
    assert cluster.reduce_scatter.bus_bandwidth == 50 * 10**9


def test_a_gpu_is_named_or_given_by_its_rates():
    assert in_cluster(gpu="h100-sxm").gpu == Gpu(name="h100-sxm")
    rates = {"flops": "690 TFLOP/s", "memory_bandwidth": "3.35 TB/s"}
    assert in_cluster(gpu=rates).gpu == Gpu(flops_per_second=690 * 10**12, memory_bytes_per_second=3_350 * 10**9)


def test_a_parameter_is_elements_or_a_shape_or_a_mapping():
    assert parameter("67M") == ParameterSpec(shape=(67_000_000,))
    assert parameter(5) == ParameterSpec(shape=(5,))
    assert parameter([8192, 3]) == ParameterSpec(shape=(8192, 3))
    assert parameter({"shape": [2, 3], "frozen": True}) == ParameterSpec(shape=(2, 3), frozen=True)
    shared = ParameterSpec(shape=(6_000,), shared_embedding=True)
    assert parameter({"elements": "6k", "shared_embedding": True}) == shared


def test_a_module_may_be_frozen_and_have_its_own_backward_time():
    module = {"name": "A", "forward": "1 ms", "backward": "1.5 ms", "frozen": True}
    (spec,) = loaded(model={"dtype": "fp8", "modules": [module]}).model.modules
    assert (spec.backward_ns, spec.frozen) == (1_500_000, True)


@pytest.mark.parametrize(
    ("written", "buckets"),
    [
        ("none", Buckets(one=True)),
        ({"size": "none"}, Buckets(one=True)),
        ({}, Buckets()),
        ({"size": "64 MiB"}, Buckets(size_bytes=64 * 2**20)),
        ({"size": 40}, Buckets(size_elements=40)),
        ({"groups": [["A"], ["B.w"]]}, Buckets(groups=(("A",), ("B.w",)))),
        (
            {"size": "40M", "pad_for_high_nccl_busbw": True},
            Buckets(size_elements=40_000_000, pad_for_high_nccl_busbw=True),
        ),
    ],
)
def test_buckets_are_by_size_or_one_or_in_groups(written, buckets):
    assert loaded(buckets=written).buckets == buckets


@pytest.mark.parametrize(
    ("written", "forward"),
    [
        (["B", "A", "B"], Forward(orders=(uses("B", "A", "B"),))),
        ([["A", "B"], ["B"], ["A"]], Forward(orders=(uses("A", "B"), uses("B"), uses("A")))),
        ([["A"]], Forward(orders=(uses("A"),))),
        ({"per_rank": {1: ["B", "A"]}}, Forward(per_rank={1: (uses("B", "A"),)})),
        (
            {"per_rank": {"1": ["B"], 0: [["A"], ["B"], ["A"]]}},
            Forward(per_rank={1: (uses("B"),), 0: (uses("A"), uses("B"), uses("A"))}),
        ),
        (
            ["A", {"functional": "B", "name": "head", "forward": "2 ms", "backward": "3 ms"}],
            Forward(
                orders=(
                    (
                        UseSpec(module="A"),
                        UseSpec(module="B", functional=True, name="head", forward_ns=2_000_000, backward_ns=3_000_000),
                    ),
                )
            ),
        ),
    ],
)
def test_forward_is_one_order_or_one_per_iteration_or_by_rank(written, forward):
    assert loaded(forward=written).forward == forward


def test_training_says_what_an_iteration_has():
    written = {"microbatches": 4, "recompute": "full", "optimizer": "1 ms", "backward": False}
    training = loaded(training={**written, "gradient_sync": False, "hooks_in_first_iteration": True}).training
    assert (training.microbatches, training.recompute, training.optimizer_ns) == (4, "full", 1_000_000)
    assert (training.backward, training.gradient_sync, training.hooks_in_first_iteration) == (False, False, True)


def test_a_megatron_model_brings_its_file_along(tmp_path, monkeypatch):
    (tmp_path / "job.args").write_text("--num-layers 2\n", encoding="utf-8")
    scenario_file = tmp_path / "s.yaml"
    scenario_file.write_text(
        "policy: all-upfront\n"
        "cluster: {gpus: 4, gpu: h100-sxm, gather: {times: [1 ms]}}\n"
        "model: {megatron: job.args, spec: local}\n",
        encoding="utf-8",
    )
    model = load(scenario_file).model
    assert isinstance(model, MegatronModel)
    assert (model.megatron, model.spec, model.text) == ("job.args", "local", "--num-layers 2\n")
    assert model.source == str(tmp_path / "job.args")
    monkeypatch.chdir(tmp_path)
    assert load("s.yaml").model.source == "job.args"
    assert load("s.yaml").model == model
    assert hash(load("s.yaml").model) == hash(model)
