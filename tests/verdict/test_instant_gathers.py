"""An all-gather that takes no time, at the same moment as a read that takes no time."""

from __future__ import annotations

from tests.strategies import one_per_bucket, run


def test_an_all_gather_dispatched_after_a_read_cannot_have_delivered_before_it() -> None:
    # 0.8, order B, A: B's bucket is dispatched by A, after B has run. All of it happens at time 0.
    mapping = one_per_bucket("BA", modules=2, policy="megatron-core-0.8", forward="0 ns", gather="0 ns")
    (read,) = (read for read in run(mapping).reads if read.module == "B" and read.iteration and read.phase == "forward")

    assert read.order == "undispatched"
    assert read.state == ("stale", "stale")
    assert read.age == (1, 1)
