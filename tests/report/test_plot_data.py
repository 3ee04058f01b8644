"""The data behind the pictures agree with the measures and the reads they stand for."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from simgather.report.report import Report
from simgather.verdict.gather_overlap import gather_overlaps
from simgather.verdict.versions import mixtures
from tests.report.plot_scenarios import report
from tests.strategies import by_rank, run, scenarios

reports = st.one_of(scenarios(), scenarios(forward=by_rank)).map(run)


@settings(max_examples=15)
@given(reports)
def test_gathers_one_by_one_sum_up_to_the_measures(report: Report) -> None:
    for rank in range(report.workload.dp):
        sums: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for gather in gather_overlaps(report.timeline, rank):
            assert 0 <= gather.overlapped_ns <= gather.transfer_ns
            parts = (gather.transfer_ns, gather.overlapped_ns, gather.rendezvous_ns)
            sums[gather.iteration] = [one + other for one, other in zip(sums[gather.iteration], parts, strict=True)]
        for row in report.measures:
            if row.rank == rank:
                assert sums[row.iteration] == [row.gather_ns, row.overlapped_ns, row.rendezvous_ns]


@settings(max_examples=15)
@given(reports)
def test_a_mixture_has_as_many_new_elements_and_the_age_of_its_read(report: Report) -> None:
    for one in mixtures(report.timeline, report.workload, report.reads):
        pieces = list(zip(one.elements, one.ages, strict=True))
        assert sum(one.elements) == one.read.elements
        assert sum(elements for elements, age in pieces if not age) == one.read.fresh_elements[one.rank]
        assert max((age for elements, age in pieces if elements), default=0) == one.read.age[one.rank]
        assert one.ages[one.rank] == 0


def test_under_the_drift_every_rank_keeps_its_own_shard_new() -> None:
    last = [
        one
        for one in mixtures(report("drift").timeline, report("drift").workload, report("drift").reads)
        if one.read.iteration == 9 and one.read.module == "C"
    ]
    assert [one.ages for one in last] == [(0, 9, 9, 9), (9, 0, 9, 9), (9, 9, 0, 9), (9, 9, 9, 0)]
