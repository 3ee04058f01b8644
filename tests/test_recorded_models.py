"""GPT models built by the real classes: buckets, and who reads stale weights under 0.8. See tests/data/README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simgather
from tests.recorded import argument_file, rows

ROWS = list(rows("megatron-models"))


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_buckets_and_stale_modules_are_the_recorded_ones(row: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "job.args").write_text(argument_file(row))
    (tmp_path / "job.yaml").write_text(
        "policy: megatron-core-0.8\n"
        "iterations: 2\n"
        f"cluster: {{gpus: {row['dp']}, gpu: h100-sxm, gather: {{latency: 20 us, bus_bandwidth: 340 GB/s}}}}\n"
        f"model: {{megatron: job.args, spec: {row['spec']}}}\n"
        f"buckets: {{size: {row['bucket_size']}}}\n"
    )
    report = simgather.simulate(simgather.load(tmp_path / "job.yaml"))
    buckets = report.to_dict()["buckets"]

    assert [[param["name"] for param in bucket["params"]] for bucket in buckets] == [
        bucket["params"] for bucket in row["buckets"]
    ]
    assert [bucket["end"] - bucket["start"] for bucket in buckets] == [bucket["numel"] for bucket in row["buckets"]]
    assert sum(bucket["end"] - bucket["start"] for bucket in buckets) == row["buffer_numel"]

    forward = [read for read in report.reads if read.iteration == 1 and read.phase in ("forward", "functional")]
    assert list(dict.fromkeys(read.bucket for read in forward)) == row["first_touch_order_of_gather_index"]
    assert [(read.module, read.bucket) for read in forward if read.order == "undispatched"] == [
        (stale["module"], stale["ag_index"]) for stale in row["stale_reads_0.8"]
    ]
    assert all(read.order in ("ordered", "undispatched") for read in forward)
