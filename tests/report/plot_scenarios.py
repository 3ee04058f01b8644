"""Reports that pictures must cope with: the usual, the wrong, the empty and the large."""

from __future__ import annotations

from functools import cache

from simgather.report.report import Report
from tests.strategies import Mapping, one_per_bucket, run

HOST = {"host": {"launch": "5 us", "wait": "2 us", "collective": "30 us"}}
CROSSED = {"per_rank": {0: ["A", "B", "C"], 1: ["A", "C", "B"]}}

SCENARIOS: dict[str, Mapping] = {
    "safe": one_per_bucket(gpus=4, **HOST),
    "stale": one_per_bucket(["A", "C", "B"], policy="megatron-core-0.8", size=1024, gpus=4, **HOST),
    "torn": one_per_bucket(["A", "C", "B"], policy="megatron-core-0.8", forward="2 ms", gather="20 ms"),
    "drift": one_per_bucket(["B", "A", "C"], policy="megatron-core-0.8", size=1024, gpus=4, iterations=10),
    "error": one_per_bucket(["A", "C", "B"], policy="megatron-core-0.10"),
    "hang": {
        **one_per_bucket(CROSSED),
        "model": {
            "modules": [
                {"name": name, "params": {"weight": size}, "forward": "5 ms"}
                for name, size in zip("ABC", (1000, 2000, 3000), strict=True)
            ]
        },
    },
    "swap": one_per_bucket(CROSSED),
    "skew": one_per_bucket(gpus=3, compute_skew=[1, 1.5, 1.1]),
    "one module": one_per_bucket(modules=1),
    "one rank": one_per_bucket(gpus=1),
    "no time at all": one_per_bucket(forward="0 ns", gather="0 ns", training={"optimizer": "0 ns"}),
    "no gathers": {
        **one_per_bucket(),
        "cluster": {"gpus": 2, "gather": {"latency": 0, "bus_bandwidth": "1 GB/s"}},
        "model": {"modules": [{"name": "A", "params": {}, "forward": "5 ms"}]},
    },
    "forward only": one_per_bucket(training={"backward": False, "gradient_sync": False}),
    "microbatches": one_per_bucket(["C", "A", "B"], training={"microbatches": 2, "recompute": "full"}),
    "odd names": {
        **one_per_bucket(),
        "name": "$x^2$ <&> {name} 模型",
        "model": {
            "modules": [
                {"name": name, "params": {"weight": 10}, "forward": "5 ms"}
                for name in ("a.$b$", "a.0", "layers.1.<linear_&>")
            ]
        },
    },
}


@cache
def report(name: str) -> Report:
    """The report of a scenario above; simulated once."""
    return run({"name": name, **SCENARIOS[name]})


@cache
def large(modules: int = 200, gpus: int = 8, policy: str = "megatron-core-0.8", bucket: str = "900k") -> Report:
    """Many modules on ranks that all do the same."""
    names = [f"decoder.layers.{index}.mlp" for index in range(modules)]
    return run(
        {
            "name": "large",
            "policy": policy,
            "iterations": 2,
            "cluster": {"gpus": gpus, "gather": {"latency": "20 us", "bus_bandwidth": "300 GB/s"}},
            "model": {"modules": [{"name": name, "params": {"weight": "1M"}, "forward": "1 ms"} for name in names]},
            "buckets": {"size": bucket},
            "forward": names[::-1],
        }
    )
