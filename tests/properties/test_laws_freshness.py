"""What a read sees: the order that the Program gives it, and the versions that the Timeline brings it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hypothesis import assume, given
from hypothesis import strategies as st

from simgather.program.operations import Dispatch, Kernel
from simgather.report.report import Report
from tests.strategies import MEGATRON, Mapping, per_rank_scenarios, registration, run, scenarios

Sight = tuple[object, ...]

anything = st.one_of(scenarios(), per_rank_scenarios())


@given(anything)
def test_ordered_reads_are_fresh_on_every_rank(mapping: Mapping) -> None:
    for read in run(mapping).reads:
        if read.order in ("initial", "ordered"):
            assert set(read.state) <= {"fresh", None}
            assert set(read.age) <= {0, None}
            assert set(read.fresh_elements) <= {read.elements, None}


@given(scenarios(gpus=st.integers(2, 6)))
def test_undispatched_reads_see_their_own_shard_new_and_all_else_old(mapping: Mapping) -> None:
    report = run(mapping)
    own = own_elements(report)
    for read in report.reads:
        if read.order == "undispatched":
            for rank, state in enumerate(read.state):
                owned = own[read.module, read.bucket][rank]
                assert read.fresh_elements[rank] == owned
                assert (state == "fresh") == (owned == read.elements)
                assert (read.age[rank] == 0) == (owned == read.elements)


@given(scenarios(gpus=st.integers(2, 6), connections=st.just(8), fixed_times=True))
def test_unordered_reads_are_not_fresh_once_all_gathers_are_slow(mapping: Mapping) -> None:
    gather = mapping["cluster"]["gather"]
    assume("times" in gather)
    # Longer than everything else in the largest scenario together.
    slow = {"times": ["1 s"] * len(gather["times"])}
    report = run({**mapping, "cluster": {**mapping["cluster"], "gather": slow}})
    own = own_elements(report)
    for read in report.reads:
        if read.order == "unordered":
            for rank, state in enumerate(read.state):
                assert (state == "fresh") == (own[read.module, read.bucket][rank] == read.elements)


@given(scenarios())
def test_the_order_of_reads_does_not_depend_on_costs(mapping: Mapping) -> None:
    cluster = mapping["cluster"]
    other = {
        "gpus": cluster["gpus"],
        "gather": {"latency": "1 ms", "bus_bandwidth": "1 MB/s"},
        "host": {"wait": "1 us"},
    }
    orders = [[(read.module, read.bucket, read.order) for read in run(one).reads] for one in
              (mapping, {**mapping, "cluster": other})]  # fmt: skip
    assert orders[0] == orders[1]


@given(anything)
def test_every_kernel_reads_exactly_the_versions_that_had_arrived(mapping: Mapping) -> None:
    report = run(mapping)
    assert Counter(seen_reads(report)) == Counter(expected_reads(report))


@given(scenarios(policies=st.just("synchronous")))
def test_synchronous_is_never_stale(mapping: Mapping) -> None:
    report = run(mapping)
    assert report.stale_reads == ()
    assert report.failure is None


@given(scenarios(policies=st.sampled_from(MEGATRON), forward=registration, grouped=False, shared_embeddings=False))
def test_modules_that_run_in_registration_order_are_safe_under_every_release(mapping: Mapping) -> None:
    report = run(mapping)
    assert report.stale_reads == ()
    assert report.warnings == ()
    assert report.failure is None


def own_elements(report: Report) -> dict[tuple[str, int], list[int]]:
    """By module and bucket, how many of the elements read lie in each rank's own shard."""
    modules, dp = report.workload.modules, report.workload.dp
    return {
        (modules[module].name, bucket): [owners[rank] for rank in range(dp)]
        for module, buckets in elements_by_owner(report).items()
        for bucket, owners in buckets.items()
    }


def elements_by_owner(report: Report) -> dict[int, dict[int, Counter[int]]]:
    """By module and bucket, how many of the elements read each rank owns, counted one by one."""
    workload = report.workload
    places: dict[int, dict[int, Counter[int]]] = {module: {} for module in range(len(workload.modules))}
    for placed in (placed for bucket in workload.buckets for placed in bucket.parameters):
        for element in range(placed.start, placed.end):
            home = next(bucket for bucket in workload.buckets if bucket.start <= element < bucket.end)
            owner = (element - home.start) * workload.dp // (home.end - home.start)
            places[placed.module].setdefault(home.index, Counter())[owner] += 1
    return places


def arrived(report: Report, bucket: int, dispatched: int, time_ns: int) -> tuple[int, ...]:
    """The version of every owner's shard that the last of the rank's first `dispatched` collectives had brought."""
    timeline = report.timeline
    versions = (0,) * report.workload.dp
    for item in timeline.matching.collectives[:dispatched]:
        end_ns = timeline.transfer_end_ns[item.sequence]
        if item.kind == "all-gather" and set(item.buckets) == {bucket} and end_ns is not None and end_ns <= time_ns:
            versions = item.iterations
    return versions


def seen_reads(report: Report) -> Iterator[Sight]:
    """What the report says that every rank saw."""
    for read in report.reads:
        for rank, start_ns in enumerate(read.start_ns):
            if start_ns is not None:
                place = (rank, read.iteration, read.microbatch, read.phase, read.recomputed, read.use, read.bucket)
                fresh, state = read.fresh_elements[rank], read.state[rank]
                yield (*place, start_ns, fresh, read.age[rank], state == "fresh")


def expected_reads(report: Report) -> Iterator[Sight]:
    """What every kernel that ran must have seen, from the arrivals before its start."""
    places = elements_by_owner(report)
    for rank, program in enumerate(report.timeline.program.ranks):
        dispatched = 0
        for kernel, start_ns in zip(program.operations, report.timeline.ranks[rank].started_ns, strict=True):
            dispatched += isinstance(kernel, Dispatch)
            if not isinstance(kernel, Kernel) or start_ns is None:
                continue
            place = (rank, kernel.iteration, kernel.microbatch, kernel.phase, kernel.recomputed, kernel.use.name)
            for bucket, owners in places[kernel.use.module].items():
                versions = arrived(report, bucket, dispatched, start_ns)
                lags = {owner: 0 if owner == rank else kernel.iteration - versions[owner] for owner in owners}
                fresh = sum(count for owner, count in owners.items() if lags[owner] <= 0)
                yield (*place, bucket, start_ns, fresh, max(0, *lags.values()), fresh == owners.total())
