"""Parameter buffers lie as Megatron-core laid them out, row by row. Provenance: tests/data/README.md."""

from __future__ import annotations

from typing import Any

import pytest

from simgather.workload.layout import Bucket, lay_out
from simgather.workload.model import Module, Parameter
from tests.recorded import rows

CASES = [pytest.param(row, id=f"{number}-{row['era']}") for number, row in enumerate(rows("layout"))]


def laid_out(row: dict[str, Any]) -> list[Bucket]:
    """Buckets in buffer order; parameter i is the only one of module i."""
    case = row["case"]
    modules = [
        Module(
            name=str(index),
            parameters=(Parameter(name="weight", shape=(size,), shared_embedding=index in case["shared_embedding"]),),
            forward_ns=0,
            backward_ns=0,
        )
        for index, size in enumerate(case["sizes"])
    ]
    buckets = lay_out(
        modules,
        dp=case["dp"],
        bucket_size=case["bucket_size"],
        pad_for_high_nccl_busbw=case["pad_for_high_nccl_busbw"],
        distributed_optimizer=case["use_distributed_optimizer"],
        splits_shared_embedding=row["era"] != "head",
    )
    assert [bucket.index for bucket in buckets] == list(range(len(buckets)))
    return list(reversed(buckets))


@pytest.mark.parametrize("row", CASES)
def test_parameters_and_buckets_lie_as_recorded(row: dict[str, Any]) -> None:
    buckets = laid_out(row)

    assert [[bucket.start, bucket.end] for bucket in buckets] == row["bucket_ranges"]
    assert [bucket.numel for bucket in buckets] == row["bucket_numel"]
    assert [bucket.numel_unpadded for bucket in buckets] == row["bucket_numel_unpadded"]
    assert [[placed.module for placed in bucket.parameters] for bucket in buckets] == row["bucket_params"]
    placed = {
        one.module: [one.start, one.end, number] for number, bucket in enumerate(buckets) for one in bucket.parameters
    }
    assert [placed[index] for index in range(len(placed))] == row["param_index"]


@pytest.mark.parametrize("row", [case for case in CASES if "shards" in case.values[0]])
def test_every_rank_owns_the_recorded_shards(row: dict[str, Any]) -> None:
    dp = row["case"]["dp"]
    buckets = laid_out(row)
    # Up to 0.11 a shared embedding may begin in the padding of another bucket, and is in that one's shards too.
    parameters = [placed for bucket in buckets for placed in bucket.parameters]

    for rank, recorded in row["shards"].items():
        owned = [
            {
                str(placed.module): [max(placed.start, start), min(placed.end, end)]
                for placed in parameters
                if max(placed.start, start) < min(placed.end, end)
            }
            for bucket in buckets
            for start, end in [bucket.shard(int(rank), dp)]
        ]
        assert owned == [{module: ranges["world"] for module, ranges in bucket.items()} for bucket in recorded]
