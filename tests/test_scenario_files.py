"""Every scenario file says what its comment promises, and gives the summary that stands beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

import simgather
from simgather.report.report import Report
from tests.scenario_files import FILES, FOLDER, summary_file, summary_text

QKV = "decoder.layers.0.self_attention.linear_qkv"


@pytest.mark.parametrize("scenario", FILES, ids=lambda path: path.stem)
def test_summary_is_the_expected_one(scenario: Path) -> None:
    assert summary_text(scenario) == summary_file(scenario).read_text()


@pytest.mark.parametrize("scenario", FILES, ids=lambda path: path.stem)
def test_file_begins_with_a_comment_that_says_what_it_shows(scenario: Path) -> None:
    assert scenario.read_text().startswith("# ")


def simulated(name: str) -> Report:
    return simgather.simulate(simgather.load(FOLDER / f"{name}.yaml"))


def test_issue_950_reads_last_steps_qkv_weights_on_every_iteration_but_for_the_own_quarter() -> None:
    report = simulated("issue-950")
    assert report.verdict == "stale"
    assert [(read.iteration, read.module, read.bucket, read.phase) for read in report.stale_reads] == [
        (1, QKV, 2, "forward"),
        (2, QKV, 2, "forward"),
    ]
    for read in report.stale_reads:
        assert read.order == "undispatched"
        assert [fresh / read.elements for fresh in read.fresh_elements if fresh is not None] == pytest.approx(
            [0.25] * 4, abs=1e-4
        )
        assert read.age == (1, 1, 1, 1)
        assert read.state == ("stale",) * 4


def test_issue_950_buckets_have_the_sizes_of_the_real_job() -> None:
    megabytes = [round(bucket["bytes"] / 1e6, 1) for bucket in simulated("issue-950").to_dict()["buckets"]]
    assert megabytes == [824.2, 134.2, 402.7, 536.9, 536.9]


def test_issue_950_dispatches_and_waits_as_the_facts_say() -> None:
    events = [event for event in simulated("issue-950").to_dict()["events"] if event[0] == 1]
    chain = [(event, argument) for _, event, argument in events if event in ("dispatch", "wait")]
    assert chain == [
        ("dispatch", 0),
        ("wait", 0),
        ("dispatch", 1),
        ("wait", 1),
        ("dispatch", 2),
        ("wait", 2),
        ("dispatch", 3),
        ("wait", 3),
        ("dispatch", 4),
        ("wait", 4),
    ]
    stale_read = events.index([1, "forward", QKV])
    assert [1, "dispatch", 2] in events[stale_read:]


def test_transformer_engine_spec_is_in_order_and_exposes_gather_2_fully() -> None:
    report = simulated("issue-950-transformer-engine")
    assert report.verdict == "safe"
    assert not report.warnings
    from simgather.verdict.exposure import exposures

    (exposed,) = [
        one for one in exposures(report.timeline, 0) if one.iteration == 2 and one.use == QKV and one.bucket == 2
    ]
    assert exposed.exposed_ns >= report.costs.gather_ns[2]


def test_fixed_policy_reads_nothing_stale_and_warns_in_every_iteration() -> None:
    for name in ("issue-950-fixed", "a-c-b-fixed"):
        report = simulated(name)
        assert report.verdict == "safe"
        assert [iteration for iteration, _ in report.warnings] == [1, 2]


def test_a_c_b_computes_c_with_three_quarters_of_last_steps_weights() -> None:
    report = simulated("a-c-b")
    assert {(read.module, read.phase, read.order) for read in report.stale_reads} == {
        ("C", "forward", "undispatched"),
        ("C", "backward", "unordered"),
    }


@pytest.mark.parametrize(("dp", "stale"), [(67, True), (68, False)])
def test_inversion_of_issue_950_is_gone_above_67_ranks(dp: int, *, stale: bool) -> None:
    overrides = [f"cluster.gpus={dp}", "iterations=2", "training.microbatches=1"]
    report = simgather.simulate(simgather.load(FOLDER / "issue-950.yaml", overrides))
    assert bool(report.stale_reads) == stale
