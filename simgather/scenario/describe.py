"""A scenario back in the form of its file: plain data, with units, that loads as an equal scenario."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from simgather.scenario.schema import (
    Buckets,
    Cluster,
    CollectiveCost,
    ExplicitModel,
    Forward,
    Gpu,
    MegatronModel,
    ModuleSpec,
    ParameterSpec,
    PolicyChoice,
    Scenario,
    Training,
    UseSpec,
)
from simgather.units import BANDWIDTH, BYTES, COUNT, FLOPS, TIME


def describe(scenario: Scenario) -> dict[str, Any]:
    """The resolved scenario as dicts, lists, text and numbers: defaults filled in, each quantity in its handiest unit.

    ``load(describe(scenario)) == scenario``, for a Megatron model as long as its file is where it was.
    """
    return _given(
        name=scenario.name,
        policy=_policy(scenario.policy),
        iterations=scenario.iterations,
        cluster=_cluster(scenario.cluster),
        model=_explicit(scenario.model) if isinstance(scenario.model, ExplicitModel) else _megatron(scenario.model),
        buckets=_buckets(scenario.buckets),
        forward=None if scenario.forward is None else _forward(scenario.forward),
        training=_training(scenario.training),
    )


def _given(**items: Any) -> dict[str, Any]:
    return {key: value for key, value in items.items() if value is not None}


def _time(ns: int | None) -> str | None:
    return None if ns is None else TIME.exact(ns)


def _policy(policy: PolicyChoice) -> str | dict[str, Any]:
    return policy.name if policy.depth is None else {"name": policy.name, "depth": policy.depth}


def _cluster(cluster: Cluster) -> dict[str, Any]:
    host = cluster.host
    return _given(
        gpus=cluster.gpus,
        gather=_cost(cluster.gather),
        reduce_scatter=None if cluster.reduce_scatter is None else _cost(cluster.reduce_scatter),
        host=_given(launch=_time(host.launch_ns), wait=_time(host.wait_ns), collective=_time(host.collective_ns)),
        connections=cluster.connections,
        compute_skew=None if cluster.compute_skew is None else [_number(factor) for factor in cluster.compute_skew],
        gpu=None if cluster.gpu is None else _gpu(cluster.gpu),
    )


def _cost(cost: CollectiveCost) -> dict[str, Any]:
    bandwidth = cost.bus_bandwidth
    return _given(
        latency=_time(cost.latency_ns),
        bus_bandwidth=None if bandwidth is None else BANDWIDTH.exact(bandwidth),
        link=cost.link,
        times=None if cost.times_ns is None else [TIME.exact(ns) for ns in cost.times_ns],
    )


def _number(factor: Decimal) -> int | float:
    return int(factor) if factor == factor.to_integral_value() else float(factor)


def _gpu(gpu: Gpu) -> str | dict[str, Any]:
    if gpu.name is not None:
        return gpu.name
    flops, memory = gpu.flops_per_second, gpu.memory_bytes_per_second
    return _given(
        flops=None if flops is None else FLOPS.exact(flops),
        memory_bandwidth=None if memory is None else BANDWIDTH.exact(memory),
    )


def _explicit(model: ExplicitModel) -> dict[str, Any]:
    return {"dtype": model.dtype, "modules": [_module(module) for module in model.modules]}


def _megatron(model: MegatronModel) -> dict[str, Any]:
    return {"megatron": model.source, "spec": model.spec}


def _module(module: ModuleSpec) -> dict[str, Any]:
    return _given(
        name=module.name,
        params={name: _parameter(parameter) for name, parameter in module.params.items()},
        forward=_time(module.forward_ns),
        backward=_time(module.backward_ns),
        frozen=module.frozen or None,
    )


def _parameter(parameter: ParameterSpec) -> str | list[int] | dict[str, Any]:
    flat = len(parameter.shape) == 1
    extent = COUNT.exact(parameter.shape[0]) if flat else [*parameter.shape]
    if not parameter.frozen and not parameter.shared_embedding:
        return extent
    return _given(
        **{"elements" if flat else "shape": extent},
        frozen=parameter.frozen or None,
        shared_embedding=parameter.shared_embedding or None,
    )


def _buckets(buckets: Buckets) -> dict[str, Any]:
    size = "none" if buckets.one else None
    if buckets.size_elements is not None:
        size = COUNT.exact(buckets.size_elements).replace("B", "G")  # a B could be bytes here
    if buckets.size_bytes is not None:
        size = BYTES.exact(buckets.size_bytes)
    return _given(
        size=size,
        groups=None if buckets.groups is None else [[*group] for group in buckets.groups],
        pad_for_high_nccl_busbw=buckets.pad_for_high_nccl_busbw,
    )


def _forward(forward: Forward) -> list[Any] | dict[str, Any]:
    if forward.per_rank is None:
        return _orders(forward.orders)
    return {"per_rank": {rank: _orders(orders) for rank, orders in forward.per_rank.items()}}


def _orders(orders: tuple[tuple[UseSpec, ...], ...]) -> list[Any]:
    written = [[_use(use) for use in order] for order in orders]
    return written[0] if len(written) == 1 else written


def _use(use: UseSpec) -> str | dict[str, Any]:
    if not use.functional:
        return use.module
    return _given(functional=use.module, name=use.name, forward=_time(use.forward_ns), backward=_time(use.backward_ns))


def _training(training: Training) -> dict[str, Any]:
    return _given(
        microbatches=training.microbatches,
        recompute=training.recompute,
        optimizer=_time(training.optimizer_ns),
        backward=training.backward,
        gradient_sync=training.gradient_sync,
        hooks_in_first_iteration=training.hooks_in_first_iteration,
    )
