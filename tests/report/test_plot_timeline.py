"""What the timeline says: marks on what is wrong, the part shown, and what was merged or left out."""

from __future__ import annotations

import re

import pytest

from simgather.report.plot import timeline_bytes
from simgather.report.plot.builder import make_band
from simgather.report.plot.selection import Selection, choose_iterations, choose_ranks, representatives, window
from tests.report.plot_scenarios import large, report
from tests.report.test_plot_pictures import ids, svg, words
from tests.strategies import one_per_bucket, run


def timeline(name: str, **options: object) -> str:
    if not options:
        return svg("timeline", name)
    return timeline_bytes(report(name), "svg", **options).decode()  # type: ignore[arg-type]


def test_title_names_scenario_policy_and_verdict() -> None:
    text = words(timeline("stale")).splitlines()
    start = text.index("stale")
    assert text[start : start + 3] == ["stale", "megatron-core-0.8", "STALE"]


@pytest.mark.parametrize(
    ("name", "kind", "sentence"),
    [
        (
            "stale",
            "stale",
            "C reads bucket 2 before the all-gather is dispatched: STALE weights, 75 % of them 1 step",
        ),
        ("torn", "torn", "C in backward reads bucket 2 without waiting for the all-gather, which is moving the data"),
        ("stale", "unordered", "C in backward reads bucket 2 without waiting for the all-gather: fresh only by luck"),
        ("drift", "stale", "C reads bucket 2 although nothing gathers it in this iteration"),
        ("error", "error", "AssertionError in forward"),
        ("hang", "hang", "they never meet, the job hangs"),
        ("swap", "swap", "the data lands in the wrong bucket"),
    ],
)
def test_what_is_wrong_has_a_mark_a_letter_and_a_sentence(name: str, kind: str, sentence: str) -> None:
    picture = timeline(name)
    assert sentence in words(picture)
    assert any(re.fullmatch(rf"rank-\d+\.mark-{kind}-\d+", one) for one in ids(picture))
    assert f"legend-{kind}" in ids(picture)
    assert {"stale": "S", "torn": "T", "unordered": "U"}.get(kind, kind[0].upper().replace("S", "X")) in words(picture)


def test_marks_have_a_shape_and_an_outline_of_their_own() -> None:
    from simgather.report.plot.style import MARKS

    assert len({look.letter for look in MARKS.values()}) == len(MARKS)
    reads = [MARKS[kind] for kind in ("stale", "torn", "unordered")]
    assert len({look.shape for look in reads}) == len({look.outline for look in reads}) == 3


def test_a_safe_run_has_no_marks() -> None:
    assert not [one for one in ids(timeline("safe")) if "mark-" in one or "outline" in one]


def test_every_rank_has_a_band_and_a_gather_the_colour_of_its_modules() -> None:
    picture = timeline("stale")
    for rank in range(4):
        assert f"rank {rank}" in words(picture)
        for bucket in range(3):
            gather = _fill(picture, f"rank-{rank}.gather.bucket-{bucket}")
            assert gather == _fill(picture, f"rank-{rank}.kernel.bucket-{bucket}")


def _fill(picture: str, gid: str) -> str:
    found = re.search(rf'id="{re.escape(gid)}".*?fill: (#\w+)', picture, re.DOTALL)
    assert found
    return found[1]


def test_by_default_the_iteration_of_the_worst_finding_is_shown() -> None:
    assert choose_iterations([report("stale")], Selection()) == (1, 1)
    assert choose_iterations([report("safe")], Selection()) == (1, 1)
    assert choose_iterations([report("hang")], Selection()) == (0, 0)
    assert "Shown: iteration 1 of 0 to 1, which starts at" in words(timeline("stale"))


def test_chosen_iterations_have_borders_and_labels() -> None:
    picture = timeline("stale", iterations=(0, 1))
    assert {"iteration-0", "iteration-1"} <= set(ids(picture))
    assert "Shown: iterations 0 to 1 of 0 to 1." in words(picture)
    assert "iteration 1: forward" in words(picture)


def test_only_chosen_ranks_are_drawn() -> None:
    picture = timeline("stale", ranks=(3, 1, 3))
    assert [one for one in ids(picture) if one.endswith(".name")] == ["rank-3.name", "rank-1.name"]
    assert "2 of 4 ranks drawn, 2 others are not shown." in words(picture)


def test_two_reports_share_scale_and_start() -> None:
    picture = timeline_bytes(report("stale"), "svg", compare=report("safe")).decode()
    text = words(picture)
    assert "stale / safe" in text
    policies = {"policy-megatron-core-0.8", "policy-megatron-core-0.11"}
    assert {"verdict-STALE", "verdict-SAFE"} | policies <= set(ids(picture))
    assert "both runs aligned at its start" in text
    ticks = [line for line in text.splitlines() if re.fullmatch(r"\d+", line)]
    assert any(ticks.count(tick) >= 2 for tick in ("20", "40"))


def test_a_report_that_never_gets_there_says_so_beside_one_that_does() -> None:
    text = words(timeline_bytes(report("safe"), "svg", compare=report("hang"), iterations=(1, 1)).decode())
    assert "never gets to iteration 1" in text


def test_many_ranks_that_do_the_same_are_drawn_once() -> None:
    crowd = large(3, 64)
    assert choose_ranks(crowd, Selection()) == [(0, tuple(range(1, 64)))]
    text = words(timeline_bytes(crowd, "svg").decode())
    assert "= 1-63" in text
    assert "1 of 64 ranks drawn, 63 more do exactly the same (=)." in text


def test_at_most_eight_kinds_of_ranks_are_drawn_the_slowest_among_them() -> None:
    skewed = run(one_per_bucket(gpus=12, compute_skew=[1 + rank / 20 for rank in range(12)]))
    ranks = [rank for rank, _ in choose_ranks(skewed, Selection())]
    assert len(ranks) == 8
    assert 11 in ranks
    assert representatives(report("skew")) == [(0, ()), (1, ()), (2, ())]


def test_narrow_kernels_of_one_bucket_are_one_block_that_counts_them() -> None:
    crowd = large(40, 2, bucket="3M")
    shown = window(crowd, 1, 1)
    apart = make_band(crowd, 0, (), shown, 0)
    merged = make_band(crowd, 0, (), shown, 10**12)
    assert all(block.count == 1 for block in apart.blocks)
    assert len(merged.blocks) < len(apart.blocks)
    assert sum(block.count for block in merged.blocks) == len(apart.blocks)


def test_two_hundred_stale_modules_get_one_sentence_and_marks_that_do_not_overlap() -> None:
    picture = timeline_bytes(large(), "svg").decode()
    assert re.search(r"\d+ reads by mlp", words(picture))
    assert len([one for one in ids(picture) if ".mark-" in one]) < 60


def test_exposed_and_host_bound_time_are_told_apart() -> None:
    picture = timeline("safe")
    assert {"rank-0.exposed", "rank-0.host-bound"} <= set(ids(picture))
    assert "exposed: kernel waits for its all-gather" in words(picture)
    assert "host-bound: not launched yet" in words(picture)


def test_early_ranks_show_their_rendezvous() -> None:
    assert "rank-0.rendezvous" in ids(timeline("skew"))


def test_a_hang_shows_what_never_starts() -> None:
    text = words(timeline("hang"))
    assert "never starts" in text
    assert "The job stops in this iteration." in text
