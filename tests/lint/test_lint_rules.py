"""Remarks: combinations known to break or to bring nothing, each with its reason and where it was reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simgather.lint.inversions import clean_from
from simgather.lint.remark import Remark
from simgather.scenario.loader import load
from simgather.simulation import simulate

ARGUMENTS = """
--num-layers 1 --hidden-size 8192 --num-attention-heads 32 --seq-length 1024 --max-position-embeddings 1024
--micro-batch-size 1 --bf16 --vocab-size 50257 --disable-bias-linear
"""
GATHER = {"latency": "20 us", "bus_bandwidth": "340 GB/s"}


def explicit(**changes: Any) -> dict[str, Any]:
    modules = [{"name": name, "params": {"weight": "67M"}, "forward": "1 ms"} for name in "ABC"]
    return {
        "policy": "megatron-core-0.11",
        "iterations": 2,
        "cluster": {"gpus": 4, "gather": GATHER},
        "model": {"modules": modules},
        "buckets": {"size": "40M"},
        **changes,
    }


def megatron(folder: Path, flags: str, **changes: Any) -> dict[str, Any]:
    (folder / "job.args").write_text(ARGUMENTS + flags)
    return {
        "policy": "megatron-core-0.8",
        "iterations": 2,
        "cluster": {"gpus": 4, "gpu": "h100-sxm", "gather": GATHER},
        "model": {"megatron": str(folder / "job.args"), "spec": "local"},
        **changes,
    }


def remarks(scenario: dict[str, Any]) -> dict[str, Remark]:
    return {remark.rule: remark for remark in simulate(load(scenario)).remarks}


def test_an_inversion_names_both_modules_and_the_size_that_removes_it() -> None:
    said = remarks(explicit(forward=["A", "C", "B"]))["order-inversion"]
    assert "C runs before B but its bucket 2 is gathered after bucket 1" in said.text
    assert "from a bucket size of 67000001 elements on" in said.text
    assert said.see.endswith("issue 950")
    assert "order-inversion" not in remarks(
        explicit(forward=["A", "C", "B"], buckets={"size": "67000001"}, policy="megatron-core-0.8")
    )


def test_no_inversion_is_said_of_matching_orders_or_of_a_policy_without_a_chain() -> None:
    assert "order-inversion" not in remarks(explicit())
    assert "order-inversion" not in remarks(explicit(forward=["A", "C", "B"], policy="all-upfront"))


def test_the_published_job_is_clean_above_67_ranks_at_the_default_size(tmp_path: Path) -> None:
    # facts: linear_proj fills a bucket of its own as long as h*h >= bucket size; h = 8192 and 1M elements a rank.
    said = remarks(megatron(tmp_path, "--overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer"))
    assert "from a bucket size of 67108865 elements on" in said["order-inversion"].text
    assert "above 67 data-parallel ranks" in said["order-inversion"].text
    assert said["weight-without-hook"].text.startswith("output_layer uses the weight of embedding.word_embeddings")


@pytest.mark.parametrize(("gpus", "inverted"), [(67, True), (68, False)])
def test_the_border_of_67_ranks_is_real(tmp_path: Path, gpus: int, inverted: bool) -> None:
    flags = "--overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer"
    scenario = megatron(tmp_path, flags)
    scenario["cluster"]["gpus"] = gpus
    report = simulate(load(scenario))
    assert ("order-inversion" in {remark.rule for remark in report.remarks}) is inverted
    assert (report.verdict == "stale") is inverted


def test_fused_norms_spread_one_hook_over_two_buckets(tmp_path: Path) -> None:
    flags = "--overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer"
    scenario = megatron(tmp_path, flags)
    scenario["model"]["spec"] = "transformer_engine"
    said = remarks(scenario)
    assert "linear_qkv lie in buckets 1 to 2" in said["one-hook-several-buckets"].text
    assert "order-inversion" not in said


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        ("", "no-overlap-param-gather"),
        ("--overlap-param-gather --overlap-grad-reduce", "overlap-without-distributed-optimizer"),
        ("--overlap-param-gather --use-distributed-optimizer", "overlap-without-grad-reduce"),
        ("--overlap-param-gather --use-distributed-optimizer", "one-bucket"),
    ],
)
def test_flags_that_megatron_refuses_or_that_bring_nothing(tmp_path: Path, flags: str, rule: str) -> None:
    assert rule in remarks(megatron(tmp_path, flags))


def test_a_trained_module_that_never_runs() -> None:
    said = remarks(explicit(forward=["A", "B"]))["unused-parameters"]
    assert said.text.startswith("C is trained but never runs")


def test_one_connection_serialises_what_is_dispatched_early() -> None:
    shared = {"gpus": 4, "gather": GATHER, "connections": 1}
    assert "one-connection" in remarks(explicit(policy="all-upfront", cluster=shared))
    assert "one-connection" not in remarks(explicit(policy="all-upfront"))


def test_one_rank_has_nothing_to_gather() -> None:
    assert set(remarks(explicit(cluster={"gpus": 1, "gather": GATHER}, forward=["A", "C", "B"]))) == {"one-rank"}


def test_the_first_gather_has_nothing_to_hide_behind() -> None:
    said = remarks(explicit())["first-gather-exposed"]
    assert "A needs bucket 0 (67M elements)" in said.text
    report = simulate(load(explicit()))
    assert report.steady is not None
    assert report.steady.exposed_ns >= report.costs.gather_ns[0]


def test_every_remark_points_somewhere() -> None:
    for scenario in (explicit(), explicit(forward=["A", "C", "B"]), explicit(buckets={"size": "none"})):
        assert all(remark.see and remark.text.endswith(".") for remark in remarks(scenario).values())


@given(border=st.integers(2, 10**9), size=st.integers(1, 10**6))
def test_the_least_clean_size_is_exact_when_there_is_one_border(border: int, size: int) -> None:
    found = clean_from(lambda one: one < border, size, 10**10)
    assert found == max(border, size)


def test_no_size_is_named_when_even_one_bucket_is_inverted() -> None:
    assert clean_from(lambda _: True, 10, 1000) is None
