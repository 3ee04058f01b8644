"""What users rely on is frozen here: a change to it must be meant, and goes into the CHANGELOG."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import simgather
from simgather.cli.main import make_parser
from simgather.report.report import VERDICTS
from simgather.scenario.jsonschema import json_schema
from simgather.scenario.schema import POLICY_NAMES
from simgather.verdict.findings import KINDS
from tests.scenario_files import FOLDER


def test_command_line_options() -> None:
    (commands,) = (action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    options = {
        name: sorted(
            "/".join(action.option_strings) or action.dest for action in parser._actions if action.dest != "help"
        )
        for name, parser in commands.choices.items()
    }
    assert options == {
        "run": [
            *("--ascii", "--check", "--compare", "--html", "--iterations", "--json", "--plot", "--ranks", "--set"),
            *("--trace", "scenario"),
        ],
        "compare": ["--json", "--plot", "--policies", "--set", "scenario"],
        "plot": ["--iterations", "--policies", "--ranks", "--set", "-o/--output", "kind", "scenario"],
        "schema": [],
    }


def test_scenario_keys() -> None:
    keys = {key for key, section in sections(json_schema()) for key in section}
    assert keys == {
        *("name", "policy", "iterations", "cluster", "model", "buckets", "forward", "training"),
        *("depth",),
        *("gpus", "gather", "reduce_scatter", "host", "connections", "compute_skew", "gpu"),
        *("latency", "bus_bandwidth", "link", "times", "launch", "wait", "collective", "flops", "memory_bandwidth"),
        *("dtype", "modules", "megatron", "spec", "params", "backward", "frozen"),
        *("shape", "elements", "shared_embedding"),
        *("size", "groups", "pad_for_high_nccl_busbw"),
        *("functional", "per_rank"),
        *("microbatches", "recompute", "optimizer", "gradient_sync", "hooks_in_first_iteration"),
    }


def sections(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every mapping of keys in a JSON Schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("additionalProperties") is False:
            yield "", schema["properties"]
        for value in schema.values():
            yield from sections(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from sections(value)


def test_policies_verdicts_and_kinds_of_findings() -> None:
    assert POLICY_NAMES == (
        "megatron-core-0.8",
        "megatron-core-0.10",
        "megatron-core-0.11",
        "megatron-core-0.16",
        "all-upfront",
        "synchronous",
        "prefetch",
    )
    assert list(VERDICTS) == ["safe", "race", "stale", "corrupt", "hang", "error"]
    assert list(KINDS) == [
        "framework-error",
        "collective-mismatch",
        "collective-swap",
        "undispatched-read",
        "unordered-read",
        "version-mismatch",
        "never-gathered",
        "optimizer-race",
        "duplicate-gather",
    ]


def test_report_fields() -> None:
    report = simgather.simulate(simgather.load(FOLDER / "a-c-b.yaml")).to_dict()
    lists = {key: value for key, value in report.items() if isinstance(value, list) and value}
    first = {key: sorted(value[0]) for key, value in lists.items() if isinstance(value[0], dict)}
    assert sorted(report) == [
        *(
            "buckets",
            "error",
            "events",
            "findings",
            "gathers",
            "iterations",
            "notes",
            "reads",
            "remarks",
            "scenario",
            "schema",
        ),
        *("stale_reads", "summary", "warnings"),
    ]
    assert sorted(report["scenario"]) == ["gpus", "iterations", "name", "policy"]
    assert first["buckets"] == ["bytes", "end", "index", "params", "start"]
    assert first["gathers"] == ["bucket", "dispatch_ns", "end_ns", "iteration", "ready_ns", "start_ns", "waited"]
    assert first["reads"] == first["stale_reads"]
    assert first["reads"] == [
        *("age", "bucket", "elements", "fresh_elements", "iteration", "microbatch", "module", "order", "phase"),
        *("recomputed", "start_ns", "state", "use"),
    ]
    assert first["findings"] == ["bucket", "iteration", "kind", "message", "module", "ranks"]
    assert first["iterations"] == [
        *("compute_ns", "exposed_ns", "forward_ns", "gather_ns", "host_bound_ns", "iteration", "lower_bound_ns"),
        *("overlap_efficiency", "overlapped_ns", "rank", "rendezvous_ns", "schedule_efficiency"),
    ]
    assert sorted(report["summary"]) == [
        *("error", "findings", "modules_with_stale_reads", "stale_reads", "steady_iteration", "undispatched_reads"),
        *("unordered_reads", "verdict", "warnings"),
    ]
