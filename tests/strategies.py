"""Valid scenarios as mappings: small ones written by hand, and Hypothesis strategies that draw them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

import simgather
from simgather.job import make_job
from simgather.report.report import Report

Mapping = dict[str, Any]

MEGATRON = ("megatron-core-0.8", "megatron-core-0.10", "megatron-core-0.11", "megatron-core-0.16")
LETTERS = "ABCDEF"


def run(mapping: Mapping) -> Report:
    """The report of a scenario."""
    return simgather.simulate(simgather.load(mapping))


def one_per_bucket(
    order: Sequence[Any] | Mapping | None = None,
    *,
    policy: str | Mapping = "megatron-core-0.11",
    modules: int = 3,
    size: int = 1000,
    forward: str = "5 ms",
    gather: str | Sequence[str] = "4 ms",
    gpus: int = 2,
    iterations: int = 2,
    training: Mapping | None = None,
    **cluster: Any,
) -> Mapping:
    """Modules A, B, C, ... with one parameter each, alone in its bucket; every all-gather takes a fixed time."""
    times = [gather] * modules if isinstance(gather, str) else list(gather)
    mapping: Mapping = {
        "policy": policy,
        "iterations": iterations,
        "cluster": {"gpus": gpus, "gather": {"times": times}, **cluster},
        "model": {
            "modules": [{"name": name, "params": {"weight": size}, "forward": forward} for name in LETTERS[:modules]]
        },
        "buckets": {"size": 1},
        "training": training or {},
    }
    if order is not None:
        mapping["forward"] = list(order) if not isinstance(order, dict) else order
    return mapping


# A few short durations among the others, so that ties are common.
times_ns = st.one_of(st.sampled_from([0, 1, 7, 100]), st.integers(0, 3000))
times = times_ns.map("{} ns".format)
up_to_six = st.integers(1, 6)
one_or_many = st.sampled_from([1, 8])
factors = st.sampled_from([1, 1.1, 0.5, 2, 1.003])
plain: st.SearchStrategy[Mapping] = st.just({})
trainings = st.fixed_dictionaries(
    {},
    optional={
        "microbatches": st.integers(1, 3),
        "recompute": st.sampled_from(["none", "full"]),
        "optimizer": times,
        "backward": st.booleans(),
        "gradient_sync": st.booleans(),
        "hooks_in_first_iteration": st.booleans(),
    },
)
prefetches = st.integers(0, 3).map(lambda depth: {"name": "prefetch", "depth": depth})
policies: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([*MEGATRON, "all-upfront", "synchronous", "prefetch"]), prefetches
)


def orders(names: Sequence[str]) -> st.SearchStrategy[list[Any]]:
    """Execution orders: permutations, and orders that repeat, skip, and use weights without calling their module."""
    module = st.sampled_from(names)
    functional = st.fixed_dictionaries(
        {"functional": module}, optional={"name": st.just("tied"), "forward": times, "backward": times}
    )
    anyhow = st.lists(st.one_of(module, module, functional), min_size=1, max_size=len(names) + 2)
    return st.one_of(st.permutations(names).map(list), anyhow, anyhow)


def registration(names: Sequence[str], iterations: int, gpus: int) -> st.SearchStrategy[Any]:  # noqa: ARG001
    """No order at all: modules run as they were registered."""
    return st.none()


def same_on_all_ranks(names: Sequence[str], iterations: int, gpus: int) -> st.SearchStrategy[Any]:  # noqa: ARG001
    """One order, or one per iteration."""
    by_iteration = st.lists(orders(names), min_size=iterations, max_size=iterations)
    return st.one_of(orders(names), by_iteration, orders(names), by_iteration, st.none())


def by_rank(names: Sequence[str], iterations: int, gpus: int) -> st.SearchStrategy[Any]:
    """Orders of their own for some ranks."""
    one = st.one_of(orders(names), st.lists(orders(names), min_size=iterations, max_size=iterations))
    by_ranks = st.dictionaries(st.integers(0, gpus - 1), one, min_size=1, max_size=gpus)
    return st.fixed_dictionaries({"per_rank": by_ranks})


@st.composite
def models(draw: st.DrawFn, shared_embeddings: bool) -> Mapping:
    """One to six modules with none to three parameters of ragged sizes, some of them frozen."""
    rarely = st.sampled_from([False, False, False, True])
    sizes = st.integers(1, 700)
    parameters = st.one_of(sizes, sizes, st.fixed_dictionaries({"elements": sizes, "frozen": rarely}))
    if shared_embeddings:
        # Larger than any padding: a smaller one may leave its bucket empty (test_shared_embeddings.py).
        shared = st.fixed_dictionaries({"elements": st.integers(1, 900), "shared_embedding": st.just(True)})
        parameters = st.one_of(parameters, parameters, shared)
    modules = []
    for index in range(draw(st.sampled_from([1, 2, 3, 3, 4, 4, 5, 6]))):
        count = draw(st.sampled_from([1, 1, 1, 2, 3, 0]))
        optional = {"backward": times, "frozen": rarely}
        module = draw(st.fixed_dictionaries({"name": st.just(f"m-{index}"), "forward": times}, optional=optional))
        modules.append({**module, "params": {f"p{number}": draw(parameters) for number in range(count)}})
    return {"modules": modules, "dtype": draw(st.sampled_from(["bf16", "fp32"]))}


@st.composite
def groups(draw: st.DrawFn, model: Mapping) -> list[list[str]] | None:
    """Buckets chosen by hand: trainable modules, or their parameters one by one, dealt out in any order."""
    names = []
    for module in model["modules"]:
        trainable = [
            f"{module['name']}.{name}"
            for name, parameter in module["params"].items()
            if not module.get("frozen") and not (isinstance(parameter, dict) and parameter.get("frozen"))
        ]
        names += trainable if draw(st.booleans()) else [module["name"]] if trainable else []
    if not names:
        return None
    dealt = draw(st.permutations(names))
    borders = sorted(draw(st.sets(st.integers(1, len(dealt)), max_size=3)) | {len(dealt)})
    return [list(dealt[start:end]) for start, end in zip([0, *borders], borders, strict=False)]


@st.composite
def divisions(draw: st.DrawFn, model: Mapping, grouped: bool) -> Any:
    """How parameters are divided into buckets."""
    dealt = draw(groups(model)) if grouped and draw(st.booleans()) else None
    if dealt:
        return {"groups": dealt}
    sizes = st.one_of(
        st.integers(1, 300), st.integers(1, 300), st.integers(1, 1500), st.sampled_from(["1 kB", "none", 40_000_000])
    )
    return {"size": draw(sizes)}


def _costs(buckets: int, fixed: bool) -> st.SearchStrategy[Mapping]:
    """A time per bucket, or latency and bandwidth; with no bucket to time only the latter."""
    modelled = st.fixed_dictionaries({"latency": times, "bus_bandwidth": st.integers(50, 5000).map("{} MB/s".format)})
    if not buckets:
        return modelled
    given_times = st.fixed_dictionaries({"times": st.lists(times, min_size=buckets, max_size=buckets)})
    return given_times if fixed else st.one_of(modelled, given_times)


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    policies: st.SearchStrategy[Any] = policies,
    forward: Callable[[Sequence[str], int, int], st.SearchStrategy[Any]] = same_on_all_ranks,
    gpus: st.SearchStrategy[int] = up_to_six,
    trainings: st.SearchStrategy[Mapping] = trainings,
    connections: st.SearchStrategy[int] = one_or_many,
    host: bool = True,
    skew: bool = True,
    grouped: bool = True,
    shared_embeddings: bool = True,
    fixed_times: bool = False,
) -> Mapping:
    """Any valid scenario; what a law must leave out is a keyword.

    `fixed_times` gives every collective a time of its own instead of a bandwidth, wherever there is a bucket.
    """
    model = draw(models(shared_embeddings))
    count, iterations = draw(gpus), draw(st.sampled_from([2, 3, 4, 1]))
    mapping: Mapping = {
        "policy": draw(policies),
        "iterations": iterations,
        "cluster": {"gpus": count, "gather": {"latency": 0, "bus_bandwidth": "1 GB/s"}},
        "model": model,
        "buckets": draw(divisions(model, grouped)),
        "training": draw(trainings),
    }
    order = draw(forward([module["name"] for module in model["modules"]], iterations, count))
    if order is not None:
        mapping["forward"] = order
    buckets = len(make_job(simgather.load(mapping)).workload.buckets)
    costs = _costs(buckets, fixed_times)
    optional: Mapping = {"reduce_scatter": costs}
    if host:
        optional["host"] = st.fixed_dictionaries({}, optional=dict.fromkeys(["launch", "wait", "collective"], times))
    if skew:
        optional["compute_skew"] = st.lists(factors, min_size=count, max_size=count)
    required = {"gpus": st.just(count), "gather": costs, "connections": connections}
    mapping["cluster"] = draw(st.fixed_dictionaries(required, optional=optional))
    return mapping


def per_rank_scenarios(**keywords: Any) -> st.SearchStrategy[Mapping]:
    """Scenarios in which ranks run different orders, and so may hang or mix up their data."""
    return scenarios(forward=by_rank, gpus=st.integers(2, 5), **keywords)


@st.composite
def permutation_scenarios(
    draw: st.DrawFn,
    *,
    policies: st.SearchStrategy[Any],
    identity: bool = True,
    trainings: st.SearchStrategy[Mapping] = plain,
) -> Mapping:
    """One module per bucket on two or more ranks; the execution order is a permutation of the buckets."""
    modules = draw(st.integers(1 if identity else 2, 6))
    order = draw(st.permutations(LETTERS[:modules]).filter(lambda order: identity or order != sorted(order)))
    return one_per_bucket(
        order,
        policy=draw(policies),
        modules=modules,
        size=draw(st.integers(1, 500)),
        forward=draw(times),
        gather=draw(st.lists(times, min_size=modules, max_size=modules)),
        gpus=draw(st.integers(2, 5)),
        iterations=draw(st.integers(2, 4)),
        training=draw(trainings),
        connections=draw(one_or_many),
    )
