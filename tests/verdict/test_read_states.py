"""What single reads see, worked out by hand. Times in milliseconds from the start of iteration 1."""

from __future__ import annotations

from typing import Any

import pytest

from simgather.report.report import Report
from simgather.verdict.reads import Read
from tests.strategies import Mapping, one_per_bucket, run

FORWARD_ONLY = {"backward": False}


def the_read(report: Report, use: str, phase: str = "forward", iteration: int = 1) -> Read:
    (read,) = (one for one in report.reads if (one.use, one.phase, one.iteration) == (use, phase, iteration))
    return read


def issue_950(gather: list[str], **keywords: Any) -> Mapping:
    """0.8 runs B before A: B reads undispatched, then A waits and dispatches B's bucket, which nobody waits for."""
    return one_per_bucket("BA", modules=2, policy="megatron-core-0.8", gather=gather, **keywords)


def test_a_read_before_any_dispatch_sees_its_own_shard_new_and_the_rest_one_step_old() -> None:
    # 1000 elements in a bucket of 1024 on 2 ranks: shards of 512, so rank 0 owns 512 of them and rank 1 488.
    read = the_read(run(issue_950(["4 ms", "4 ms"])), "B")

    assert read.order == "undispatched"
    assert read.state == ("stale", "stale")
    assert read.elements == 1000
    assert read.fresh_elements == (512, 488)
    assert read.age == (1, 1)


def test_a_read_while_its_all_gather_moves_data_is_torn() -> None:
    # B's bucket moves 5-105; its backward runs 20-30.
    read = the_read(run(issue_950(["4 ms", "100 ms"])), "B", "backward")

    assert read.order == "unordered"
    assert read.state == ("torn", "torn")
    # What has certainly arrived is only the rank's own shard.
    assert read.fresh_elements == (512, 488)
    assert read.age == (1, 1)


def test_a_read_before_its_all_gather_begins_is_stale() -> None:
    # All upfront: A's bucket moves 0-4, B's 4-8, C's 8-12. C's weight is used 0-5.
    order = [{"functional": "C"}, "A", "B", "C"]
    read = the_read(run(one_per_bucket(order, policy="all-upfront")), "C", "functional")

    assert read.order == "unordered"
    assert read.state == ("stale", "stale")


@pytest.mark.parametrize(
    ("forward", "state"),
    [
        # B's bucket moves 4-8. A runs 0-3 and its weight is not waited for; B's functional use would run 3-6.
        ("3 ms", "torn"),
        # Runs 4-8: together with the transfer.
        ("4 ms", "torn"),
        # Runs 8-16, from the very moment the transfer has ended.
        ("8 ms", "fresh"),
        # Runs 2-4 and ends in the very moment the transfer begins.
        ("2 ms", "stale"),
    ],
)
def test_touching_the_transfer_at_its_border_is_not_overlap(forward: str, state: str) -> None:
    order = [{"functional": "A"}, {"functional": "B"}, "A", "B"]
    report = run(one_per_bucket(order, modules=2, policy="all-upfront", forward=forward))
    read = the_read(report, "B", "functional")

    assert read.order == "unordered"
    assert read.state == (state, state)


def test_an_unordered_read_that_happens_to_be_fresh_is_still_reported() -> None:
    # A waits 0-4 and dispatches B's bucket, which moves 4-5 while A runs 4-9; B's weight is used 9-14 without a wait.
    report = run(one_per_bucket(["A", {"functional": "B"}], modules=2, gather=["4 ms", "1 ms"]))
    read = the_read(report, "B", "functional")

    assert read.order == "unordered"
    assert read.state == ("fresh", "fresh")
    assert read.fresh_elements == (1000, 1000)
    assert read.age == (0, 0)
    assert read in report.stale_reads
    assert report.verdict == "race"


def test_a_read_behind_a_later_all_gather_of_the_same_stream_is_ordered() -> None:
    # A, then C on demand: C's bucket queues behind B's, so waiting for C's orders B's as well.
    report = run(one_per_bucket(["A", "C", {"functional": "B"}]))
    assert the_read(report, "B", "functional").order == "ordered"
    assert the_read(report, "B", "functional").state == ("fresh", "fresh")


def test_a_bucket_that_is_never_gathered_grows_older_and_older() -> None:
    report = run(one_per_bucket("CBA", policy="megatron-core-0.8", iterations=5))

    assert [the_read(report, "C", iteration=iteration).age for iteration in range(5)] == [
        (age, age) for age in range(5)
    ]
    # B's bucket arrives after every read of it, so it is one step old for ever.
    assert [the_read(report, "B", iteration=iteration).age for iteration in range(5)] == [(0, 0), *[(1, 1)] * 4]


def test_fresh_elements_are_counted_where_parameters_cross_shard_borders() -> None:
    # On 3 ranks a bucket of 500 elements ends at 768, the next multiple of 384: shards of 256, 244 of them in rank 1's.
    read = the_read(run(issue_950(["4 ms", "4 ms"], gpus=3, size=500)), "B")
    assert read.fresh_elements == (256, 244, 0)
    assert read.age == (1, 1, 1)


def test_a_rank_that_owns_all_it_reads_is_fresh_without_any_all_gather() -> None:
    # 64 elements in a bucket of 128 on 2 ranks: all of them are rank 0's.
    report = run(issue_950(["4 ms", "4 ms"], size=64))
    read = the_read(report, "B")

    assert read.order == "undispatched"
    assert read.state == ("fresh", "stale")
    assert read.fresh_elements == (64, 0)
    assert read.age == (0, 1)
    (finding,) = (one for one in report.findings if one.kind == "undispatched-read" and one.module == "B")
    assert finding.ranks == (1,)


def test_a_module_in_two_buckets_reads_each_of_them_for_itself() -> None:
    mapping = one_per_bucket("AB", modules=2, policy="megatron-core-0.8", gather=["4 ms"] * 3, iterations=2)
    # A's weight lies in bucket 0, its bias in bucket 1, B's weight in bucket 2. B first: 0.8 gathers nothing for it.
    mapping["model"]["modules"][0]["params"]["bias"] = 10
    mapping["forward"] = ["B", "A"]
    report = run(mapping)

    orders = {read.bucket: read.order for read in report.reads if (read.iteration, read.phase) == (1, "forward")}
    assert orders == {0: "ordered", 1: "ordered", 2: "undispatched"}
    assert {read.bucket: read.elements for read in report.reads} == {0: 1000, 1: 10, 2: 1000}


def test_a_frozen_module_reads_no_bucket() -> None:
    mapping = one_per_bucket("BAC", policy="synchronous", gather=["4 ms"] * 2)
    mapping["model"]["modules"][1]["frozen"] = True
    assert {read.module for read in run(mapping).reads} == {"A", "C"}


def test_iteration_0_reads_the_initial_weights() -> None:
    report = run(one_per_bucket("CBA", policy="megatron-core-0.8", iterations=1))
    assert {read.order for read in report.reads} == {"initial"}
    assert {state for read in report.reads for state in read.state} == {"fresh"}
    assert report.verdict == "safe"


@pytest.mark.parametrize("policy", ["megatron-core-0.8", "prefetch"])
def test_a_single_rank_owns_everything_and_needs_no_all_gather(policy: str) -> None:
    report = run(one_per_bucket([{"functional": "C"}, "B", "A", "C"], policy=policy, gpus=1))
    assert {read.order for read in report.reads} <= {"initial", "ordered"}
    assert {read.state for read in report.reads} == {("fresh",)}
    assert report.stale_reads == ()


def test_states_differ_between_ranks_that_run_at_different_speed() -> None:
    # B's bucket is dispatched by A and nobody waits for it. Its functional use runs behind A's kernel, which takes
    # 5 ms on rank 0 and 50 on rank 1: the transfer, 20 ms long, is still under way on rank 0 and done on rank 1.
    order = ["A", {"functional": "B"}]
    mapping = one_per_bucket(order, modules=2, policy="prefetch", gather=["4 ms", "20 ms"], compute_skew=[1, 10],
                             training=FORWARD_ONLY)  # fmt: skip
    report = run(mapping)
    read = the_read(report, "B", "functional")

    assert read.order == "unordered"
    assert read.state == ("torn", "fresh")
    assert read.age == (1, 0)
    (finding,) = (one for one in report.findings if one.kind == "unordered-read")
    assert finding.ranks == (0,)
    assert "torn on rank 0, fresh on rank 1" in finding.message


def test_recomputed_forwards_read_again_and_run_their_hooks_again() -> None:
    # 0.8, order B, A: when B is recomputed it holds the handle that A's hook left, and waits for it.
    report = run(issue_950(["4 ms", "4 ms"], training={"recompute": "full"}))
    forwards = [read for read in report.reads if (read.iteration, read.use, read.phase) == (1, "B", "forward")]

    assert [(read.recomputed, read.order) for read in forwards] == [(False, "undispatched"), (True, "ordered")]
    assert the_read(report, "B", "backward").order == "ordered"


def test_every_microbatch_reads_for_itself() -> None:
    # The second microbatch of 0.8's B comes after its all-gather was dispatched, and its hook waits for it.
    report = run(issue_950(["4 ms", "4 ms"], training={"microbatches": 2}))
    orders = [(read.microbatch, read.order) for read in report.reads
              if (read.iteration, read.use, read.phase) == (1, "B", "forward")]  # fmt: skip
    assert orders == [(0, "undispatched"), (1, "ordered")]


def test_ranks_out_of_step_bring_each_other_old_shards() -> None:
    # N has no parameters. Rank 0 gathers A in iterations 1 and 2, rank 1 in 2 and 3: their first all-gathers meet, and
    # with them rank 0's shard of iteration 1 and rank 1's of iteration 2; their second one is an iteration later.
    orders = {0: [["A"], ["A"], ["A"], ["N"]], 1: [["N"], ["N"], ["A"], ["A"]]}
    mapping = one_per_bucket({"per_rank": orders}, policy={"name": "prefetch", "depth": 0}, modules=1, iterations=4,
                             training=FORWARD_ONLY)  # fmt: skip
    mapping["model"]["modules"].append({"name": "N", "forward": "5 ms"})
    reads = {read.iteration: read for read in run(mapping).reads}

    assert reads[1].order == "ordered"
    assert (reads[1].state, reads[1].age) == (("fresh", None), (0, None))
    assert reads[2].order == "undispatched"
    assert (reads[2].state, reads[2].age) == (("fresh", "stale"), (0, 1))
    assert reads[2].fresh_elements == (1000, 488)
    assert (reads[3].state, reads[3].age) == ((None, "stale"), (None, 1))


def test_a_second_all_gather_of_the_iteration_takes_nothing_away_from_the_first() -> None:
    # 0.10, order B, A: B gathers its bucket on demand and waits; A dispatches it once more, and nobody waits.
    training = {"hooks_in_first_iteration": False}
    mapping = one_per_bucket("BA", modules=2, policy="megatron-core-0.10", gather=["4 ms", "100 ms"], training=training)
    report = run(mapping)

    assert [finding.kind for finding in report.findings] == ["duplicate-gather"]
    assert the_read(report, "B", "backward").order == "ordered"
    assert the_read(report, "B", "backward").state == ("fresh", "fresh")
