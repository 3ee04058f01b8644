"""The recorded runs of the real code, as scenarios. Provenance: tests/data/README.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
POLICIES = ("megatron-core-0.8", "megatron-core-0.10", "megatron-core-0.11", "megatron-core-0.16")


def rows(name: str) -> Iterator[dict[str, Any]]:
    """The rows of one file."""
    with (DATA / f"{name}.jsonl").open() as file:
        for line in file:
            yield json.loads(line)


def scenario_of(row: dict[str, Any]) -> dict[str, Any]:
    """The scenario that replays a recorded run; modules are named by their ids."""
    count = len(row["sizes"])
    orders = []
    for order in row["orders"]:
        steps: list[Any] = [str(module) for module in order]
        if row["skip"] == "soft":
            steps += [{"functional": str(module)} for module in range(count) if module not in order]
        orders.append(steps)
    return {
        "name": row["id"],
        "policy": row["policy"],
        "iterations": len(orders),
        "cluster": {
            "gpus": row["dp"],
            "gather": {"latency": "20 us", "bus_bandwidth": "340 GB/s"},
            "host": {"launch": "5 us", "wait": "2 us", "collective": "30 us"},
        },
        "model": {
            "modules": [
                {"name": str(module), "params": {"weight": size}, "forward": "50 us"}
                for module, size in enumerate(row["sizes"])
            ]
        },
        "buckets": {"size": row["bucket_size"]},
        "forward": orders,
        "training": {
            "microbatches": row["microbatches"],
            "recompute": "full" if row["recompute"] else "none",
            "hooks_in_first_iteration": row["hooks_in_first_iteration"],
        },
    }


def argument_file(row: dict[str, Any]) -> str:
    """The row's model as a user would write it."""
    flags = [
        f"--num-layers {row['num_layers']}",
        f"--hidden-size {row['hidden_size']}",
        f"--ffn-hidden-size {row['ffn_hidden_size']}",
        f"--num-attention-heads {row['num_attention_heads']}",
        f"--seq-length {row['seq_length']}",
        f"--max-position-embeddings {row['seq_length']}",
        f"--position-embedding-type {row['position_embedding']}",
        f"--normalization {row['normalization']}",
        f"--vocab-size {row['padded_vocab_size']}",
        f"--transformer-impl {row['spec']}",
        "--micro-batch-size 1 --bf16",
    ]
    if row["num_query_groups"] is not None:
        flags.append(f"--group-query-attention --num-query-groups {row['num_query_groups']}")
    if not row["linear_bias"]:
        flags.append("--disable-bias-linear")
    if row["swiglu"]:
        flags.append("--swiglu")
    if not row["tied"]:
        flags.append("--untie-embeddings-and-output-weights")
    return 'GPT_ARGS="\n' + " \\\n".join(flags) + '\n"\n'
