"""A shared embedding is alone in its bucket; up to Megatron-core 0.11 it may begin in the padding before it."""

from __future__ import annotations

import pytest

from simgather.workload.workload import Training, make_workload
from tests.workload.layouts import laid_out, module, places, ranges

EMBEDDING = {"shared_embedding": True}


def test_a_shared_embedding_is_alone_in_its_bucket() -> None:
    buckets = laid_out(module("A", 50), module("E", 300, **EMBEDDING), module("B", 50), dp=4, bucket_size=None)
    assert places(buckets) == [[(0, "p0", 512, 562)], [(1, "p0", 128, 428)], [(2, "p0", 0, 50)]]
    assert ranges(buckets) == [(512, 640), (128, 512), (0, 128)]


def test_it_is_alone_even_if_it_comes_first_or_last() -> None:
    assert len(laid_out(module("E", 300, **EMBEDDING), module("A", 50), bucket_size=None)) == 2
    assert len(laid_out(module("A", 50), module("E", 300, **EMBEDDING), bucket_size=None)) == 2
    assert len(laid_out(module("E", 300, **EMBEDDING), bucket_size=None)) == 1


def test_without_the_distributed_optimizer_it_is_a_parameter_like_any_other() -> None:
    buckets = laid_out(module("A", 50), module("E", 300, **EMBEDDING), bucket_size=None, distributed_optimizer=False)
    assert len(buckets) == 1


@pytest.mark.parametrize(
    ("dp", "start"),
    [
        # B ends at 50; 64 is divisible by 4 ranks, so the embedding begins there, although its bucket begins at 128.
        (4, 64),
        # It is not by 3 ranks: the embedding begins where the bucket before it ends.
        (3, 384),
    ],
)
def test_up_to_0_11_it_may_begin_in_the_padding_of_the_bucket_before(dp: int, start: int) -> None:
    modules = module("E", 900, **EMBEDDING), module("B", 50)
    embedding, before = laid_out(*modules, dp=dp, bucket_size=None, splits_shared_embedding=True)

    assert embedding.parameters[0].start == start
    assert embedding.start == before.end


def test_one_that_begins_in_the_padding_before_is_read_from_both_buckets() -> None:
    modules = module("E", 900, **EMBEDDING), module("B", 50)
    buckets = laid_out(*modules, dp=4, bucket_size=None, splits_shared_embedding=True)
    workload = make_workload(
        dp=4, element_bytes=2, modules=modules, buckets=buckets, orders=(), training=Training(iterations=1)
    )

    # 64 to 128 lies in B's bucket, in the shards of ranks 2 and 3; 128 to 964 in the embedding's own, of 896 elements.
    reads = [(read.bucket, read.elements, read.own_elements) for read in workload.reads[0]]
    assert reads == [(0, 836, (224, 224, 224, 164)), (1, 64, (0, 0, 32, 32))]
    # The hook knows of its own bucket only.
    assert workload.hook_buckets[0] == (0,)


def test_no_module_reads_from_an_empty_bucket() -> None:
    # B ends at 1, the embedding lies at 64-65, in B's bucket 0-128; its own bucket is 128-128, and A's begins there.
    modules = module("A", 1), module("E", 1, **EMBEDDING), module("B", 1)
    buckets = laid_out(*modules, bucket_size=2, splits_shared_embedding=True)
    workload = make_workload(
        dp=2, element_bytes=2, modules=modules, buckets=buckets, orders=(), training=Training(iterations=1)
    )

    assert [[read.bucket for read in reads] for reads in workload.reads] == [[0], [2], [2]]


def test_numel_unpadded_is_never_negative() -> None:
    buckets = laid_out(
        module("A", 1), module("E", 1, **EMBEDDING), module("B", 1), bucket_size=2, splits_shared_embedding=True
    )
    assert min(bucket.numel_unpadded for bucket in buckets) >= 0
