"""One small scenario for each kind of finding, and one for its absence."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from simgather.report.report import Report
from simgather.verdict.findings import KINDS, Finding
from tests.strategies import Mapping, one_per_bucket, run

FORWARD_ONLY = {"backward": False}
ON_DEMAND = {"name": "prefetch", "depth": 0}


def findings(report: Report, kind: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.kind == kind]


def ranks_differ(sizes: list[int], orders: dict[int, Any], **keywords: Any) -> Mapping:
    mapping = one_per_bucket({"per_rank": orders}, modules=len(sizes), policy=ON_DEMAND, **keywords)
    for module, size in zip(mapping["model"]["modules"], sizes, strict=True):
        module["params"]["weight"] = size
    return mapping


# Ranks that run different orders.


def test_all_gathers_of_different_size_at_one_place_hang_the_job() -> None:
    report = run(ranks_differ([1000, 2000], {0: ["A", "B"], 1: ["B", "A"]}, training=FORWARD_ONLY))
    (finding,) = findings(report, "collective-mismatch")

    assert report.verdict == "hang"
    assert finding.iteration == 1
    assert finding.ranks == (0, 1)
    assert finding.message == (
        "collective number 0 of the communicator: rank 0 issues all-gather of bucket 0 (2048 bytes) before module A; "
        "rank 1 issues all-gather of bucket 1 (4096 bytes) before module B"
    )


def test_a_hang_ends_the_timeline_and_leaves_what_would_have_followed_empty() -> None:
    report = run(ranks_differ([1000, 2000], {1: ["B", "A"]}, training=FORWARD_ONLY, iterations=3))

    for rank in (0, 1):
        rows = {row.iteration: row for row in report.measures if row.rank == rank}
        # Iteration 0 is whole; iteration 1 hangs before its first kernel; iteration 2 is never begun.
        assert rows[0].forward_ns == 10_000_000
        assert rows[1].forward_ns is None
        assert 2 not in rows
    assert {read.state for read in report.reads if read.iteration} == {(None, None)}
    assert report.to_dict()["summary"]["steady_iteration"]["iteration"] == 0


def test_reduce_scatters_of_different_size_hang_in_the_first_backward() -> None:
    report = run(ranks_differ([1000, 2000], {0: ["A", "B"], 1: ["B", "A"]}))
    (finding,) = findings(report, "collective-mismatch")

    assert finding.iteration == 0
    assert "rank 0 issues reduce-scatter of bucket 1 (4096 bytes)" in finding.message
    assert "rank 1 issues reduce-scatter of bucket 0 (2048 bytes)" in finding.message


def test_an_all_gather_never_meets_a_reduce_scatter_of_the_same_size() -> None:
    # Rank 1 leaves out B, so in iteration 1 its second collective is A's reduce-scatter, and rank 0's B's all-gather.
    report = run(ranks_differ([1000, 1000], {1: [["A", "B"], ["A"]]}))
    (finding,) = findings(report, "collective-mismatch")

    assert finding.iteration == 1
    assert "rank 0 issues all-gather of bucket 1" in finding.message
    assert "rank 1 issues reduce-scatter of bucket 0" in finding.message


def test_a_rank_with_nothing_left_to_issue_leaves_the_others_hanging() -> None:
    report = run(ranks_differ([1000, 1000], {1: ["A"]}, training=FORWARD_ONLY))
    (finding,) = findings(report, "collective-mismatch")

    assert report.verdict == "hang"
    assert finding.bucket == 1
    assert finding.ranks == (0, 1)
    assert finding.message.endswith(
        "rank 0 issues all-gather of bucket 1 (2048 bytes) before module B; rank 1 has nothing left to issue"
    )


def test_the_finding_names_the_first_rank_that_differs_from_rank_0() -> None:
    report = run(ranks_differ([1000, 2000], {2: ["B", "A"]}, gpus=4, training=FORWARD_ONLY))
    (finding,) = findings(report, "collective-mismatch")
    assert finding.ranks == (0, 2)


def test_all_gathers_of_equal_size_at_one_place_swap_their_data() -> None:
    report = run(ranks_differ([1000, 1000], {0: ["A", "B"], 1: ["B", "A"]}, training=FORWARD_ONLY))
    swaps = findings(report, "collective-swap")

    assert report.verdict == "corrupt"
    assert [(swap.iteration, swap.bucket, swap.ranks) for swap in swaps] == [(1, 0, (0, 1)), (1, 1, (0, 1))]
    assert swaps[0].message == (
        "all-gather number 0: rank 0 issues bucket 0, rank 1 bucket 1, of the same size: "
        "the data lands in the wrong bucket"
    )
    # What arrived belongs to another bucket, so nothing was delivered.
    assert {read.order for read in report.reads if read.iteration} == {"undispatched"}
    assert {state for read in report.reads if read.iteration for state in read.state} == {"stale"}


def test_a_swap_is_not_a_hang_and_takes_its_time() -> None:
    report = run(ranks_differ([1000, 1000], {0: ["A", "B"], 1: ["B", "A"]}, training=FORWARD_ONLY))
    assert findings(report, "collective-mismatch") == []
    assert {row.forward_ns for row in report.measures if row.iteration == 1} == {18_000_000}


@pytest.mark.parametrize("order", list(itertools.permutations("ABC")))
def test_ranks_with_orders_of_their_own_that_are_alike_are_as_one(order: tuple[str, ...]) -> None:
    alike = run(ranks_differ([1000] * 3, {0: list(order), 1: list(order)})).to_dict()
    one = run(one_per_bucket(order, policy=ON_DEMAND)).to_dict()
    assert alike == one


def test_ranks_that_run_different_orders_may_still_meet_if_everything_is_gathered_upfront() -> None:
    mapping = ranks_differ([1000, 2000], {0: ["A", "B"], 1: ["B", "A"]}, training=FORWARD_ONLY)
    report = run({**mapping, "policy": "all-upfront"})
    assert report.verdict == "safe"
    assert {read.state for read in report.reads} == {("fresh", "fresh")}


# Races and versions.


def test_the_optimizer_races_with_an_all_gather_that_nothing_waits_for() -> None:
    # 0.8, order B, A: B's bucket is dispatched by A and never waited for.
    training = {"gradient_sync": False}
    report = run(one_per_bucket("BA", modules=2, policy="megatron-core-0.8", iterations=3, training=training))
    races = findings(report, "optimizer-race")
    assert [(race.iteration, race.bucket, race.ranks) for race in races] == [(1, 1, (0, 1)), (2, 1, (0, 1))]


def test_waiting_for_a_reduce_scatter_behind_it_saves_the_optimizer_from_the_race() -> None:
    report = run(one_per_bucket("BA", modules=2, policy="megatron-core-0.8", iterations=3))
    assert findings(report, "optimizer-race") == []


def test_an_optimizer_race_alone_is_a_race() -> None:
    # Everything is gathered upfront, and nothing that runs needs B.
    training = {"gradient_sync": False}
    report = run(one_per_bucket("A", modules=2, policy="all-upfront", training=training))
    assert {finding.kind for finding in report.findings} == {"optimizer-race"}
    assert report.verdict == "race"


def test_forward_and_backward_with_different_weights_are_a_version_mismatch() -> None:
    # 0.8, order B, A: B's forward runs 0-5, its bucket moves 5-6, its backward runs 20-30.
    report = run(one_per_bucket("BA", modules=2, policy="megatron-core-0.8", gather=["4 ms", "1 ms"]))
    (finding,) = findings(report, "version-mismatch")

    assert (finding.iteration, finding.module, finding.bucket, finding.ranks) == (1, "B", 1, (0, 1))
    assert "1 step(s) old in its forward and 0 step(s) old in its backward" in finding.message


def test_forward_and_backward_with_the_same_old_weights_are_no_version_mismatch() -> None:
    report = run(one_per_bucket("CBA", policy="megatron-core-0.8"))
    assert [finding.module for finding in findings(report, "version-mismatch")] == ["B"]


@pytest.mark.parametrize(
    "order",
    [
        # B's weight is used one step old, then gathered on demand and used fresh. All backwards are fresh, so the
        # backward of the first use fits another forward than its own.
        [{"functional": "B"}, "A", "B"],
        ["A", {"functional": "B"}, "B"],
    ],
)
def test_every_use_of_a_weight_is_compared_with_its_own_backward(order: list[Any]) -> None:
    report = run(one_per_bucket(order, modules=2, policy=ON_DEMAND))
    (finding,) = findings(report, "version-mismatch")
    assert (finding.iteration, finding.module, finding.bucket) == (1, "B", 1)


# Wasted and missing gathers.


def test_a_bucket_that_is_not_gathered_in_an_iteration_is_named_once_each_time() -> None:
    report = run(one_per_bucket("CBA", policy="megatron-core-0.8", iterations=4))
    never = findings(report, "never-gathered")

    assert [(finding.iteration, finding.bucket) for finding in never] == [(1, 2), (2, 2), (3, 2)]
    assert "up to 1 step old" in never[0].message
    assert "up to 3 steps old" in never[2].message


def test_a_bucket_gathered_too_late_is_not_never_gathered() -> None:
    report = run(one_per_bucket("BA", modules=2, policy="megatron-core-0.8"))
    assert findings(report, "never-gathered") == []
    assert [finding.module for finding in findings(report, "undispatched-read")] == ["B"]


def test_a_bucket_that_nothing_reads_may_go_without_a_gather() -> None:
    report = run(one_per_bucket("A", modules=2, policy=ON_DEMAND))
    assert report.findings == ()


def test_release_0_10_gathers_a_bucket_twice() -> None:
    report = run(one_per_bucket("BA", modules=2, policy="megatron-core-0.10", iterations=1))
    (finding,) = findings(report, "duplicate-gather")

    assert (finding.iteration, finding.bucket) == (0, 1)
    assert report.verdict == "safe"


# The framework's own errors.


def test_release_0_10_dies_in_the_iteration_after() -> None:
    report = run(one_per_bucket("BA", modules=2, policy="megatron-core-0.10"))
    (finding,) = findings(report, "framework-error")

    assert report.verdict == "error"
    assert (finding.iteration, finding.ranks) == (1, (0, 1))
    assert finding.message == "AssertionError('') in forward: the job dies here"


def test_a_module_left_out_fails_the_gradient_sync_of_release_0_11() -> None:
    report = run(one_per_bucket("AC")).to_dict()
    assert report["error"] == {
        "iteration": 0,
        "phase": "finish_grad_sync",
        "type": "AssertionError",
        "text": "Communication call has not been issued for this bucket (0/1 params have grad available)",
    }


def test_findings_come_worst_kind_first_then_by_iteration() -> None:
    report = run(one_per_bucket("CBA", policy="megatron-core-0.8", iterations=4, training={"gradient_sync": False}))
    places = [(list(KINDS).index(finding.kind), finding.iteration) for finding in report.findings]
    assert places == sorted(places)
    assert len({kind for kind, _ in places}) == 5
