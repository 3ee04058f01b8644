"""What a GPT registers and runs, against Megatron-core's own classes, and how much work its modules are."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from simgather.costs.roofline import Gpu, duration_ns, find_gpu
from simgather.megatron.config import GptConfig, Spec
from simgather.megatron.gpt import GptModel, build_gpt
from simgather.megatron.job import read_job
from simgather.workload.model import Work
from tests.recorded import argument_file, rows

TESTS = Path(__file__).parents[1]

ROWS = list(rows("megatron-models"))
ISSUE_950 = (TESTS.parent / "scenarios" / "issue-950.args").read_text()


def parameter_names(gpt: GptModel) -> list[str]:
    return [f"{module.name}.{parameter.name}" for module in gpt.modules for parameter in module.parameters]


def first_uses(gpt: GptModel) -> list[str]:
    """Parameters in the order in which modules that hold them are first called."""
    called = dict.fromkeys(use.module for use in gpt.order if not use.functional)
    return [f"{gpt.modules[i].name}.{parameter.name}" for i in called for parameter in gpt.modules[i].parameters]


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_registration_and_execution_are_megatrons(row: dict[str, Any]) -> None:
    """Recorded by running Megatron-core's own classes on CPU (torch 2.13.0, gloo); see tests/data/README.md."""
    job = read_job(argument_file(row), row["id"], spec=row["spec"], gpus=row["dp"])
    gpt = build_gpt(job.config, row["spec"])
    assert job.config.padded_vocab_size == row["padded_vocab_size"]
    assert parameter_names(gpt) == row["registration_order"]
    assert first_uses(gpt) == row["forward_first_use_order"]
    numel = sum(parameter.numel for module in gpt.modules for parameter in module.parameters)
    assert numel == row["num_params"]


def config(extra: str = "", spec: Spec = "local") -> GptConfig:
    text = (
        "--num-layers 1 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 48 "
        "--micro-batch-size 2 --bf16 --vocab-size 128 "
    )
    return read_job(text + extra, "job.args", spec=spec, gpus=2).config


def shapes(gpt: GptModel, module: str) -> dict[str, tuple[int, ...]]:
    (found,) = [planned for planned in gpt.modules if planned.name.endswith(module)]
    return {parameter.name: parameter.shape for parameter in found.parameters}


def work(gpt: GptModel, name: str) -> Work:
    (found,) = [use.forward for use in gpt.order if use.name.endswith(name)]
    return found


def test_modules_run_query_key_value_attention_projection_in_this_order() -> None:
    gpt = build_gpt(config("--qk-layernorm"), "local")
    attention = "decoder.layers.0.self_attention."
    registered = [module.name for module in gpt.modules if attention in module.name]
    executed = [use.name for use in gpt.order if attention in use.name]
    parts = ("core_attention", "linear_proj", "linear_qkv", "q_layernorm", "k_layernorm")
    assert registered == [attention + part for part in parts]
    parts = ("linear_qkv", "q_layernorm", "k_layernorm", "core_attention", "linear_proj")
    assert executed == [attention + part for part in parts]


def test_biases_come_last_in_their_module() -> None:
    local, fused = build_gpt(config(), "local"), build_gpt(config(), "transformer_engine")
    assert shapes(local, "linear_qkv") == {"weight": (192, 64), "bias": (192,)}
    assert shapes(local, "linear_fc2") == {"weight": (64, 256), "bias": (64,)}
    assert [*shapes(fused, "linear_fc1")] == ["layer_norm_weight", "layer_norm_bias", "weight", "bias"]
    assert [*shapes(fused, "linear_proj")] == ["weight", "bias"]


def test_query_key_value_bias_alone() -> None:
    gpt = build_gpt(config("--disable-bias-linear --add-qkv-bias"), "local")
    assert [*shapes(gpt, "linear_qkv")] == ["weight", "bias"]
    assert [*shapes(gpt, "linear_proj")] == ["weight"]


def test_the_untied_output_layer_never_has_a_bias() -> None:
    gpt = build_gpt(config("--untie-embeddings-and-output-weights"), "local")
    assert shapes(gpt, "output_layer") == {"weight": (128, 64)}
    assert not any(use.functional for use in gpt.order)


def test_the_tied_output_layer_uses_the_embedding_without_calling_it() -> None:
    gpt = build_gpt(config(), "local")
    last = gpt.order[-1]
    assert (last.name, last.functional, gpt.modules[last.module].name) == (
        "output_layer",
        True,
        "embedding.word_embeddings",
    )
    assert last.forward == Work(flops=2 * 64 * 64 * 128, bytes=2 * (64 * 64 + 64 * 128 + 64 * 128))
    assert not gpt.modules[last.module].forward.flops


def test_shapes_follow_heads_groups_and_head_size() -> None:
    gpt = build_gpt(config("--group-query-attention --num-query-groups 2 --kv-channels 8 --swiglu"), "local")
    assert shapes(gpt, "linear_qkv")["weight"] == ((4 + 2 * 2) * 8, 64)
    assert shapes(gpt, "linear_proj")["weight"] == (64, 32)
    assert shapes(gpt, "linear_fc1")["weight"] == (2 * 128, 64)
    assert shapes(gpt, "linear_fc2")["weight"] == (64, 128)
    assert shapes(gpt, "position_embeddings") == {"weight": (48, 64)}
    assert shapes(gpt, "core_attention") == {}


def test_query_and_key_norms_are_as_wide_as_a_head() -> None:
    gpt = build_gpt(config("--qk-layernorm --normalization RMSNorm --kv-channels 8"), "transformer_engine")
    assert shapes(gpt, "q_layernorm") == {"weight": (8,)}
    assert shapes(gpt, "linear_qkv").keys() == {"layer_norm_weight", "weight", "bias"}


def test_work_is_that_of_the_published_formulas() -> None:
    """Narayanan et al. 2021, appendix: 2Bsh² for each h x h product, 4Bs²h for attention, half of it when causal."""
    b, s, h = 2, 32, 64
    gpt = build_gpt(config(), "local")
    assert work(gpt, "linear_qkv").flops == 6 * b * s * h * h
    assert work(gpt, "core_attention").flops == 4 * b * s * s * h // 2
    assert work(gpt, "linear_proj").flops == 2 * b * s * h * h
    assert work(gpt, "linear_fc1").flops + work(gpt, "linear_fc2").flops == 16 * b * s * h * h
    assert work(gpt, "linear_proj").bytes == 2 * (2 * b * s * h + h * h)
    assert work(gpt, "core_attention").bytes == 2 * 4 * b * s * h
    assert work(gpt, "input_layernorm") == Work(bytes=2 * (2 * b * s * h + 2 * h))
    assert work(gpt, "word_embeddings") == Work(bytes=2 * 2 * b * s * h)


def test_backward_is_twice_forward_everywhere() -> None:
    gpt = build_gpt(config("--qk-layernorm"), "transformer_engine")
    for planned in (*gpt.modules, *gpt.order):
        assert planned.backward == Work(flops=2 * planned.forward.flops, bytes=2 * planned.forward.bytes)


def test_a_fused_norm_adds_its_traffic_to_the_linear_layer() -> None:
    local, fused = build_gpt(config(), "local"), build_gpt(config(), "transformer_engine")
    for linear, norm in (("linear_qkv", "input_layernorm"), ("linear_fc1", "pre_mlp_layernorm")):
        assert work(fused, linear).flops == work(local, linear).flops
        assert work(fused, linear).bytes == work(local, linear).bytes + work(local, norm).bytes


def test_traffic_follows_the_element_size() -> None:
    half = config()
    gpts = [build_gpt(replace(half, element_bytes=size), "local") for size in (2, 4)]
    for narrow, wide in zip(gpts[0].order, gpts[1].order, strict=True):
        assert 2 * narrow.forward.bytes == wide.forward.bytes


@pytest.mark.parametrize("spec", ["local", "transformer_engine"])
def test_issue_950_module_times(spec: Spec) -> None:
    """Arithmetic alone at 690 TFLOP/s, in ms, to the two decimals they were worked out to."""
    job = read_job(ISSUE_950, "issue-950.args", spec=spec, gpus=4)
    gpt = build_gpt(job.config, spec)
    h100 = find_gpu("h100-sxm")
    h100_690 = Gpu("h100", 690 * 10**12, h100.memory_bytes_per_second, Fraction(1))
    for module, milliseconds in (
        ("linear_qkv", 1.20),
        ("linear_proj", 0.40),
        ("linear_fc1", 1.59),
        ("linear_fc2", 1.59),
        ("output_layer", 2.45),
    ):
        assert round(duration_ns(work(gpt, module), h100_690) / 1e6, 2) == milliseconds
        assert duration_ns(work(gpt, module), h100) / 1e6 == pytest.approx(milliseconds, rel=0.01)
    assert 0.1 <= round(duration_ns(work(gpt, "core_attention"), h100) / 1e6, 2) <= 0.2
