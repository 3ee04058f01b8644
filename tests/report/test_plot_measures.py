"""What the other pictures read from the report."""

from __future__ import annotations

import pytest

from simgather.report.plot import Selection, draw
from simgather.report.plot.bars import forward_segments
from simgather.report.plot.names import bucket_modules, cut, distinct_names, percent, short_name
from simgather.report.wording import runs
from tests.report.plot_scenarios import SCENARIOS, large, report
from tests.report.test_plot_pictures import ids, svg, words


def test_overlap_has_a_bar_per_all_gather_of_the_steady_iteration() -> None:
    picture = svg("overlap", "safe")
    assert [one for one in ids(picture) if one.startswith("bucket-") and one.count(".") == 1] == [
        "bucket-0.gather-0",
        "bucket-1.gather-1",
        "bucket-2.gather-2",
    ]
    steady = report("safe").steady
    assert steady is not None
    assert f"{100 * (steady.overlap_efficiency or 0):.1f} % of 12 ms hidden" in words(picture)
    assert "bucket-0.gather-0.exposed" in ids(picture)
    assert "bucket-1.gather-1.hidden" in ids(picture)


def test_overlap_of_an_iteration_without_gathers_says_so() -> None:
    assert "no all-gather in iteration" in words(svg("overlap", "no gathers"))


def test_overlap_keeps_the_most_exposed_of_many() -> None:
    text = words(draw("overlap", [large(60, 2, "synchronous")], "svg").decode())
    assert "those 24 that are exposed the most" in text


def test_versions_of_the_drift_age_by_a_step_per_iteration() -> None:
    text = words(svg("versions", "drift")).splitlines()
    assert [line for line in text if line.startswith("75 %")] == [
        *["75 %: 1 old"] * 9,
        *(f"75 %: {age} old" for age in range(1, 10)),
    ]


def test_versions_of_a_safe_run_are_all_new() -> None:
    picture = svg("versions", "safe")
    assert "old" not in [line.split()[-1] for line in words(picture).splitlines()]
    assert "cell-2-1" in ids(picture)


def test_versions_of_many_ranks_stay_small() -> None:
    assert len(draw("versions", [large(20, 128)], "svg")) < 500_000


def test_versions_show_the_oldest_of_many_modules() -> None:
    assert "Of 60 modules the 10 with the oldest weights" in words(draw("versions", [large(60, 2)], "svg").decode())


@pytest.mark.parametrize("name", ["safe", "stale", "skew", "forward only"])
def test_the_parts_of_a_forward_bar_add_up_to_the_forward_time(name: str) -> None:
    for row in report(name).measures:
        assert sum(ns for _, ns in forward_segments(row)) == row.forward_ns


def test_forward_has_a_bar_and_a_bound_per_iteration_and_counts_stale_reads() -> None:
    picture = svg("forward", "stale")
    assert {"iteration-0.bound", "iteration-1.bound", "iteration-1.compute"} <= set(ids(picture))
    assert "2 stale or unordered reads" in words(picture)


def test_forward_of_a_job_that_dies_says_what_was_not_finished() -> None:
    assert "not finished" in words(svg("forward", "error"))


def test_forward_draws_only_the_iterations_asked_for() -> None:
    picture = draw("forward", [report("drift")], "svg", Selection(iterations=(3, 4))).decode()
    assert [one for one in ids(picture) if one.endswith(".compute")] == ["iteration-3.compute", "iteration-4.compute"]


def test_policies_write_the_verdict_on_each_bar() -> None:
    names = ["safe", "stale", "error", "hang"]
    picture = draw("policies", [report(name) for name in names], "svg").decode()
    assert [one for one in ids(picture) if one.startswith("verdict-")] == [
        "verdict-SAFE",
        "verdict-STALE",
        "verdict-ERROR",
        "verdict-HANG",
    ]
    assert "4 reports compared" in words(picture)
    assert "megatron-core-0.8, stale" in words(picture)


def test_policies_of_one_scenario_are_named_by_policy_alone() -> None:
    assert "megatron-core-0.11\n" in words(draw("policies", [report("safe")], "svg").decode())


def test_names_are_short_and_yet_distinct() -> None:
    assert [short_name(name) for name in ("a.b.linear", "a.0", "x", "a.")] == ["linear", "a.0", "x", "a"]
    assert distinct_names(["l.0.qkv", "l.1.qkv", "proj"]) == {"l.0.qkv": "0.qkv", "l.1.qkv": "1.qkv", "proj": "proj"}
    assert cut("abcdefghij", 5) == "ab…ij"
    assert runs([1, 2, 3, 7]) == "1-3, 7"
    assert [percent(share) for share in (0, 0.75, 0.996, 0.99999, 1)] == ["0 %", "75 %", "99.6 %", "99.9 %", "100 %"]
    assert bucket_modules(report("no time at all").workload, 1) == "B"


def test_every_scenario_here_ends_as_its_name_says() -> None:
    verdicts = {name: report(name).verdict for name in SCENARIOS}
    assert verdicts["safe"] == "safe"
    assert verdicts["stale"] == verdicts["torn"] == verdicts["drift"] == "stale"
    assert (verdicts["error"], verdicts["hang"], verdicts["swap"]) == ("error", "hang", "corrupt")
