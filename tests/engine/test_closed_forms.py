"""Times that can be worked out by hand; all in milliseconds, with the arithmetic beside them."""

from __future__ import annotations

from typing import Any

import pytest

from simgather.program.operations import Dispatch, Kernel, OptimizerKernel
from simgather.report.report import Report
from simgather.verdict.measures import Measures
from tests.strategies import one_per_bucket, run

MS = 1_000_000
FORWARD_ONLY = {"backward": False}


def row(report: Report, iteration: int = 1, rank: int = 0) -> Measures:
    (found,) = (one for one in report.measures if (one.iteration, one.rank) == (iteration, rank))
    return found


def kernels(report: Report, iteration: int, rank: int = 0) -> list[tuple[str, str, float, float]]:
    """Module, phase, start and end of every kernel, from the beginning of the iteration."""
    times = report.timeline.ranks[rank]
    operations = report.timeline.program.ranks[rank].operations
    first = next(index for index, item in enumerate(operations) if item.iteration == iteration)
    begin = times.enqueued_ns[first] or 0
    return [
        (item.use.name, item.phase, (times.started_ns[index] - begin) / MS, (times.ended_ns[index] - begin) / MS)
        for index, item in enumerate(operations)
        if isinstance(item, Kernel) and item.iteration == iteration
    ]


def transfers(report: Report, kind: str) -> list[tuple[int, int, float, float]]:
    """Iteration, bucket, start and end of every collective of a kind."""
    timeline = report.timeline
    return [
        (item.iteration, item.bucket, *(time / MS for time in timeline.transfer(item.sequence) or ()))
        for item in timeline.matching.collectives
        if item.kind == kind
    ]


@pytest.mark.parametrize(
    ("gather", "order", "times_ms"),
    [
        # Times of the forward pass, and of it exposed.
        ("4 ms", "ABC", (19, 4)),
        ("4 ms", "ACB", (23, 8)),
        ("4 ms", "CBA", (27, 12)),
        ("8 ms", "ABC", (29, 14)),
        ("8 ms", "ACB", (34, 19)),
    ],
)
@pytest.mark.parametrize("hooks_first", [False, True])
@pytest.mark.parametrize("gpus", [2, 4])
def test_release_0_11_takes_the_times_of_the_closed_forms(
    gather: str, order: str, times_ms: tuple[int, int], hooks_first: bool, gpus: int
) -> None:
    forward_ms, exposed_ms = times_ms
    training = {"hooks_in_first_iteration": hooks_first}
    report = run(one_per_bucket(order, gather=gather, gpus=gpus, training=training))

    for rank in range(gpus):
        assert row(report, 1, rank).forward_ns == forward_ms * MS
        assert row(report, 1, rank).exposed_ns == exposed_ms * MS
        assert row(report, 1, rank).compute_ns == 15 * MS
        assert row(report, 1, rank).host_bound_ns == 0


@pytest.mark.parametrize(
    ("gather", "connections", "forward_ms"),
    [
        # All-gathers end at 4, 8, 12; A 4-9, B 9-14, C 14-19.
        ("4 ms", 8, 19),
        # A is enqueued behind the last all-gather, which starts at 8: A 8-13, B 13-18, C 18-23.
        ("4 ms", 1, 23),
        # All-gathers end at 8, 16, 24; A 8-13, B 16-21, C 24-29.
        ("8 ms", 8, 29),
        # The last all-gather starts at 16: A 16-21, B 21-26, C 26-31.
        ("8 ms", 1, 31),
    ],
)
def test_all_upfront_on_one_connection_holds_back_the_kernels_behind(
    gather: str, connections: int, forward_ms: int
) -> None:
    report = run(one_per_bucket("ABC", policy="all-upfront", gather=gather, connections=connections))

    assert row(report).forward_ns == forward_ms * MS
    assert row(report).exposed_ns == (forward_ms - 15) * MS
    assert row(report).gather_ns == 3 * int(gather[0]) * MS


def test_the_chain_of_release_0_11_is_not_held_back_by_one_connection() -> None:
    # Bucket k+1 is dispatched before the kernel of bucket k and starts when that kernel may: nothing waits for longer.
    one, many = (run(one_per_bucket("ABC", connections=connections)) for connections in (1, 8))
    assert row(one).forward_ns == row(many).forward_ns == 19 * MS


@pytest.mark.parametrize("order", ["ABC", "CAB"])
def test_synchronous_takes_all_gathers_and_then_all_compute(order: str) -> None:
    # 3 x 4 exposed before the first module, then 3 x 5 of compute, in whatever order.
    report = run(one_per_bucket(order, policy="synchronous"))

    assert row(report).forward_ns == 27 * MS
    assert row(report).exposed_ns == 12 * MS
    assert row(report).overlapped_ns == 0
    assert row(report).overlap_efficiency == 0.0


@pytest.mark.parametrize(
    ("depth", "forward_ms"),
    [
        # On demand, each all-gather starts when the kernel before it ended: 3 x (4 + 5).
        (0, 27),
        # A waits 0-4, then B and C are gathered behind each other while A and B run: 4 + 15.
        (1, 19),
        (2, 19),
    ],
)
def test_prefetch_hides_more_the_deeper_it_looks(depth: int, forward_ms: int) -> None:
    report = run(one_per_bucket("ABC", policy={"name": "prefetch", "depth": depth}))
    assert row(report).forward_ns == forward_ms * MS


def test_depth_one_cannot_hide_a_long_gather_behind_one_short_kernel_but_depth_two_can() -> None:
    # C takes 12 to gather, B and A 1. Depth 1: A waits 0-1 and runs 1-6; B gathered 1-2, C from 6 (B's wait comes
    # after A) to 18; B 6-11; C 18-23. Depth 2: C right behind B, 2-14; C 14-19.
    gathers = ["1 ms", "1 ms", "12 ms"]
    reports = [run(one_per_bucket(policy={"name": "prefetch", "depth": depth}, gather=gathers)) for depth in (1, 2)]
    assert [(row(report).forward_ns or 0) / MS for report in reports] == [23, 19]


def test_host_bound_is_the_time_until_a_kernel_is_enqueued_and_exposed_the_time_after() -> None:
    # Host: dispatch 0-3, wait 3-4, launch 4-6. The all-gather runs 3-7, so A is enqueued at 6 and runs 7-12.
    host = {"launch": "2 ms", "wait": "1 ms", "collective": "3 ms"}
    report = run(one_per_bucket(policy="all-upfront", modules=1, host=host, training=FORWARD_ONLY))
    found = row(report)

    assert found.host_bound_ns == 6 * MS
    assert found.exposed_ns == 1 * MS
    assert found.compute_ns == 5 * MS
    assert found.forward_ns == 12 * MS
    assert found.lower_bound_ns == (4 + 5) * MS
    assert found.schedule_efficiency == 9 / 12


def test_a_slow_host_starves_the_compute_stream() -> None:
    # Iteration 0 gathers nothing. Launches end at 6, 12, 18: A 6-11, B 12-17, C 18-23.
    report = run(one_per_bucket("ABC", host={"launch": "6 ms"}, training=FORWARD_ONLY))
    found = row(report, 0)

    assert found.forward_ns == 23 * MS
    assert found.host_bound_ns == (6 + 1 + 1) * MS
    assert found.exposed_ns == 0
    # The optimizer's launch ends at 24; the host syncs with its end, and iteration 1 begins there.
    assert kernels(report, 0) == [("A", "forward", 6, 11), ("B", "forward", 12, 17), ("C", "forward", 18, 23)]
    assert transfers(report, "all-gather")[0][2] == 24


def test_the_early_rank_spins_until_the_late_one_is_ready() -> None:
    # Iteration 0 ends at 10 on rank 0 and, twice as slow, at 20 on rank 1. Bucket A: ready at 10 and 20, moves 20-24.
    # Bucket B: ready at 24 on both, moves 24-28. Rank 0: A 24-29, B 29-34. Rank 1: A 24-34, B 34-44.
    report = run(one_per_bucket("AB", modules=2, compute_skew=[1, 2], training=FORWARD_ONLY))
    early, late = row(report, 1, 0), row(report, 1, 1)

    assert transfers(report, "all-gather") == [(1, 0, 20, 24), (1, 1, 24, 28)]
    assert (early.rendezvous_ns, late.rendezvous_ns) == (10 * MS, 0)
    assert (early.forward_ns, late.forward_ns) == (24 * MS, 24 * MS)
    assert (early.exposed_ns, late.exposed_ns) == (14 * MS, 4 * MS)
    # Bucket A moves while nothing runs, bucket B while A does.
    assert (early.overlapped_ns, early.gather_ns) == (4 * MS, 8 * MS)
    assert early.overlap_efficiency == late.overlap_efficiency == 0.5


def test_reduce_scatters_queue_and_the_optimizer_waits_for_all_of_them() -> None:
    # A 0-5, B 5-10, backward of B 10-20 and of A 20-30. Bucket 1 reduces 20-40, bucket 0 is ready at 30 but queues:
    # 40-60. Then the optimizer, 60-61.
    report = run(
        one_per_bucket("AB", modules=2, reduce_scatter={"times": ["20 ms"] * 2}, training={"optimizer": "1 ms"})
    )
    times = report.timeline.ranks[0]
    operations = report.timeline.program.ranks[0].operations

    assert transfers(report, "reduce-scatter")[:2] == [(0, 1, 20, 40), (0, 0, 40, 60)]
    (optimizer,) = (i for i, item in enumerate(operations) if isinstance(item, OptimizerKernel) and not item.iteration)
    assert (times.started_ns[optimizer], times.ended_ns[optimizer]) == (60 * MS, 61 * MS)
    # Bucket 0's all-gather of iteration 1 is dispatched when the host has seen the optimizer's end.
    assert transfers(report, "all-gather")[0][:3] == (1, 0, 61)


def test_a_reduce_scatter_takes_the_time_of_the_all_gather_unless_told_otherwise() -> None:
    report = run(one_per_bucket("AB", modules=2, gather=["3 ms", "7 ms"]))
    assert transfers(report, "reduce-scatter")[:2] == [(0, 1, 20, 27), (0, 0, 30, 33)]


def test_an_all_gather_that_nobody_waits_for_delays_the_reduce_scatters_behind_it() -> None:
    # 0.8, order B, A. Iteration 1: bucket 0 moves 0-4; B reads stale weights 0-5; A waits, bucket 1 is dispatched and
    # moves 5-105; A 5-10. A's backward ends at 20, but its reduce-scatter of 4 is ready at 105: 105-109. B's backward
    # ends at 30, and its reduce-scatter of 100 follows: 109-209.
    report = run(one_per_bucket("BA", modules=2, policy="megatron-core-0.8", gather=["4 ms", "100 ms"]))
    begin = transfers(report, "all-gather")[0][2]
    moved = [(bucket, start - begin, end - begin) for iteration, bucket, start, end in
             sorted(transfers(report, "all-gather") + transfers(report, "reduce-scatter"), key=lambda one: one[2])
             if iteration == 1]  # fmt: skip

    assert moved == [(0, 0, 4), (1, 5, 105), (0, 105, 109), (1, 109, 209)]


def test_backward_kernels_of_earlier_microbatches_are_in_the_window_but_not_in_compute() -> None:
    # A 0-5, its backward 5-15, A again 15-20.
    report = run(one_per_bucket("A", modules=1, training={"microbatches": 2}))
    found = row(report, 0)

    assert found.forward_ns == 20 * MS
    assert found.compute_ns == 10 * MS
    assert (found.exposed_ns, found.host_bound_ns) == (0, 0)


def test_full_recompute_runs_every_forward_again_right_before_its_backward() -> None:
    report = run(one_per_bucket("AB", modules=2, training={"recompute": "full"}))
    assert kernels(report, 0) == [
        ("A", "forward", 0, 5),
        ("B", "forward", 5, 10),
        ("B", "forward", 10, 15),
        ("B", "backward", 15, 25),
        ("A", "forward", 25, 30),
        ("A", "backward", 30, 40),
    ]
    assert row(report, 0).forward_ns == 10 * MS


def test_a_functional_use_is_not_recomputed() -> None:
    order = ["A", {"functional": "A", "name": "tied", "forward": "1 ms", "backward": "3 ms"}]
    report = run(one_per_bucket(order, modules=1, policy="prefetch", training={"recompute": "full"}))
    assert kernels(report, 0) == [
        ("A", "forward", 0, 5),
        ("tied", "functional", 5, 6),
        ("tied", "backward_functional", 6, 9),
        ("A", "forward", 9, 14),
        ("A", "backward", 14, 24),
    ]


def test_skew_is_a_factor_on_module_times_rounded_once_and_not_on_the_optimizer() -> None:
    # 5 ns x 1.5 is 7.5, which rounds to the even 8; backward 10 ns x 1.5 is 15.
    mapping = one_per_bucket("A", modules=1, forward="5 ns", gather="0 ns", training={"optimizer": "10 ns"},
                             compute_skew=[1, 1.5])  # fmt: skip
    report = run(mapping)
    ended = [[time for time in rank.ended_ns if time is not None] for rank in report.timeline.ranks]
    assert [times[:2] for times in ended] == [[5, 15], [8, 23]]
    # The optimizers start at 23 on both, when the slower rank has joined the reduce-scatter.
    assert [row(report, 0, rank).forward_ns for rank in (0, 1)] == [5, 8]
    assert transfers(report, "all-gather")[0][2] * MS == pytest.approx(33)


def test_host_calls_on_the_way_of_a_hook_add_up() -> None:
    # 0.11, iteration 1: dispatch 0 ends at 3, wait 4, dispatch 1 at 7, launch A 9; wait 10, launch B 12. Bucket 0 moves
    # 3-7. Bucket 1 is enqueued at 7 and moves 7-11. A is enqueued at 9, 9-14; B at 12, 14-19.
    host = {"launch": "2 ms", "wait": "1 ms", "collective": "3 ms"}
    report = run(one_per_bucket("AB", modules=2, host=host, training=FORWARD_ONLY))

    assert kernels(report, 1) == [("A", "forward", 9, 14), ("B", "forward", 14, 19)]
    assert row(report).host_bound_ns == 9 * MS
    assert row(report).exposed_ns == 0
    assert row(report).overlapped_ns == 2 * MS


@pytest.mark.parametrize(
    ("order", "gather", "bound_ms"),
    [
        # The first module's bucket and all compute: 4 + 15.
        ("ABC", ["4 ms"] * 3, 19),
        # All buckets and the last module: 3 x 8 + 5.
        ("ABC", ["8 ms"] * 3, 29),
        # In this order 9 + 15 = 24, 9 + 1 + 10 = 20, 11 + 5 = 16.
        ("BAC", ["1 ms", "9 ms", "1 ms"], 24),
        # In this one 1 + 15 = 16, 1 + 9 + 10 = 20.
        ("ABC", ["1 ms", "9 ms", "1 ms"], 20),
        # A bucket counts at its first use only: 8 + 20, 16 + 5.
        ("AAAB", ["8 ms"] * 3, 28),
    ],
)
def test_lower_bound_is_the_worst_of_transfers_needed_and_compute_left(
    order: str, gather: list[str], bound_ms: int
) -> None:
    report = run(one_per_bucket(order, gather=gather, policy="all-upfront"))
    assert row(report).lower_bound_ns == bound_ms * MS


def test_no_collective_is_slowed_down_by_which_rank_arrives_last() -> None:
    ends: list[Any] = []
    for skew in ([1, 3], [3, 1]):
        report = run(one_per_bucket("ABC", compute_skew=skew))
        ends.append([transfers(report, kind) for kind in ("all-gather", "reduce-scatter")])
        late = skew.index(3)
        dispatches = [item for item in report.timeline.program.ranks[0].operations if isinstance(item, Dispatch)]
        assert len(dispatches) == len(report.timeline.matching.collectives)
        assert row(report, 1, late).rendezvous_ns == 0
    assert ends[0] == ends[1]
