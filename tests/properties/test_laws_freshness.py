"""What a read sees: the order that the Program gives it, and the versions that the Timeline brings it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hypothesis import assume, given
from hypothesis import strategies as st

from simgather.program.operations import Kernel
from simgather.report.report import Report
from simgather.verdict.reads import Read
from tests.strategies import MEGATRON, Mapping, per_rank_scenarios, registration, run, scenarios

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
    other = {"gpus": cluster["gpus"], "gather": {"latency": "1 ms", "bus_bandwidth": "1 MB/s"}, "host": {"wait": "1 us"}}
    orders = [[(read.module, read.bucket, read.order) for read in run(one).reads] for one in
              (mapping, {**mapping, "cluster": other})]  # fmt: skip
    assert orders[0] == orders[1]


@given(anything)
def test_every_read_sees_exactly_the_versions_that_had_arrived(mapping: Mapping) -> None:
    report = run(mapping)
    places = elements_by_owner(report)
    found = {(rank, read_key(read, 0)): read for read in numbered(report.reads) for rank in range(report.workload.dp)}
    for rank, start_ns, kernel, repeat in started_kernels(report):
        for bucket, owners in places[kernel.use.module].items():
            read = found[rank, (kernel, repeat, bucket)]
            versions = {owner: version_at(report, rank, owner, bucket, kernel.iteration, start_ns) for owner in owners}
            fresh = sum(count for owner, count in owners.items() if versions[owner] >= kernel.iteration)
            assert read.fresh_elements[rank] == fresh
            assert read.age[rank] == max(0, kernel.iteration - min(versions.values()))
            assert (read.state[rank] == "fresh") == (fresh == read.elements)


@given(scenarios(policies=st.just("synchronous")))
def test_synchronous_is_never_stale(mapping: Mapping) -> None:
    report = run(mapping)
    assert report.stale_reads == ()
    assert report.failure is None


@given(
    scenarios(
        policies=st.sampled_from(MEGATRON), forward=registration, grouped=False, shared_embeddings=False
    )
)
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


def version_at(report: Report, rank: int, owner: int, bucket: int, iteration: int, time_ns: int) -> int:
    """The version of the owner's shard that the rank holds: the last one that had arrived."""
    if owner == rank:
        return iteration
    timeline = report.timeline
    version = 0
    for item in timeline.matching.collectives:
        end_ns = timeline.transfer_end_ns[item.sequence]
        delivers = item.kind == "all-gather" and set(item.buckets) == {bucket}
        if delivers and end_ns is not None and end_ns <= time_ns:
            version = item.iterations[owner]
    return version


def started_kernels(report: Report) -> Iterator[tuple[int, int, Kernel, int]]:
    """Every kernel that ran to its end: rank, start, kernel, and how many equal ones ran before on that rank."""
    for rank, program in enumerate(report.timeline.program.ranks):
        times = report.timeline.ranks[rank]
        repeats: Counter[Kernel] = Counter()
        for index, operation in enumerate(program.operations):
            if isinstance(operation, Kernel):
                start_ns = times.started_ns[index]
                if start_ns is not None:
                    yield rank, start_ns, operation, repeats[operation]
                repeats[operation] += 1
