"""What a module's hook looks at and what its kernel reads, from where its parameters lie."""

from __future__ import annotations

from simgather.workload.model import Module
from simgather.workload.workload import Training, Workload, make_workload
from tests.workload.layouts import laid_out, module


def workload(*modules: Module, dp: int = 2, bucket_size: int | None = 1) -> Workload:
    return make_workload(
        dp=dp,
        element_bytes=2,
        modules=modules,
        buckets=laid_out(*modules, dp=dp, bucket_size=bucket_size),
        orders=(),
        training=Training(iterations=1),
    )


def test_a_hook_looks_at_its_own_parameters_in_registration_order() -> None:
    assert workload(module("A", 10, 10), module("B", 10)).hook_buckets == ((0, 1), (2,))


def test_a_hook_looks_at_a_bucket_of_several_of_its_parameters_once() -> None:
    assert workload(module("A", 10, 10, 10), bucket_size=None).hook_buckets == ((0,),)


def test_modules_may_share_a_bucket_and_span_several() -> None:
    # From the end of the model: C and B's second parameter fill a bucket, then B's first and A the other.
    made = workload(module("A", 60), module("B", 60, 60), module("C", 60), bucket_size=100)
    assert made.hook_buckets == ((0,), (0, 1), (1,))


def test_a_module_without_trainable_parameters_reads_nothing() -> None:
    made = workload(module("A"), module("B", 10, frozen=True), module("C", 10))
    assert made.hook_buckets == ((), (), (0,))
    assert made.reads[0] == made.reads[1] == ()


def test_elements_are_counted_per_bucket_without_gaps_and_padding() -> None:
    # p1 at 0-100, p0 at 128-228, bucket 0-256: rank 0 owns all of p1, rank 1 all of p0.
    (read,) = workload(module("A", 100, 100), bucket_size=None).reads[0]
    assert (read.bucket, read.elements, read.own_elements) == (0, 200, (100, 100))


def test_elements_are_counted_per_shard_where_a_parameter_crosses_it() -> None:
    # 300 elements in a bucket of 384: shards of 128.
    (read,) = workload(module("A", 300), dp=3).reads[0]
    assert read.own_elements == (128, 128, 44)


def test_own_elements_of_all_ranks_are_all_elements() -> None:
    made = workload(module("A", 700, 3, 129), module("B", 64, 65), dp=5, bucket_size=200)
    for read in (read for reads in made.reads for read in reads):
        assert sum(read.own_elements) == read.elements


def test_a_single_rank_owns_everything() -> None:
    assert [read.own_elements for read in workload(module("A", 700, 3), dp=1).reads[0]] == [(700,), (3,)]
