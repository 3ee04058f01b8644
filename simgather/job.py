"""From a Scenario to a Job: names become indices, defaults become numbers, and every contradiction is found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from simgather.costs.collective import transfer_ns
from simgather.costs.costs import Costs
from simgather.costs.link import find_link, link_transfer_ns
from simgather.costs.roofline import Gpu, duration_ns, find_gpu
from simgather.errors import InputError
from simgather.megatron.gpt import build_gpt
from simgather.megatron.job import MegatronJob, read_job
from simgather.policies import POLICIES
from simgather.scenario.schema import (
    CollectiveCost,
    ExplicitModel,
    MegatronModel,
    Scenario,
    UseSpec,
    check_program_size,
)
from simgather.workload.layout import Bucket, Layout, default_bucket_size, lay_out_groups
from simgather.workload.model import Module, Parameter, Use
from simgather.workload.workload import Order, Training, Workload, make_workload

ELEMENT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A scenario with everything resolved; `notes` say what was assumed on the way.

    `layout` is how the buckets came about, `megatron` the launch script's job if there is one.
    """

    workload: Workload
    costs: Costs
    connections: int
    layout: Layout
    megatron: MegatronJob | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    modules: tuple[Module, ...]
    registered_order: Order
    dtype: str
    megatron: MegatronJob | None
    notes: tuple[str, ...]


def make_job(scenario: Scenario) -> Job:
    """Resolve a scenario.

    Raises:
        InputError: parts of the scenario contradict each other, or a launch script cannot be read.
        LimitError: the program would be absurdly large.

    """
    model = _model(scenario)
    cluster = scenario.cluster
    layout = _layout(scenario, model)
    buckets = _buckets(scenario, model, layout)
    training = _training(scenario, model)
    orders = _orders(scenario, model)
    check_program_size(scenario, max(len(order) for rank in orders for order in rank), training.microbatches)
    workload = make_workload(
        dp=cluster.gpus,
        element_bytes=ELEMENT_BYTES[model.dtype],
        modules=model.modules,
        buckets=buckets,
        orders=orders,
        training=training,
    )
    gather_ns = _collective_times(cluster.gather, workload, "cluster.gather")
    skew = cluster.compute_skew or (1,) * cluster.gpus
    costs = Costs(
        launch_ns=cluster.host.launch_ns,
        wait_ns=cluster.host.wait_ns,
        dispatch_ns=cluster.host.collective_ns,
        optimizer_ns=scenario.training.optimizer_ns,
        gather_ns=gather_ns,
        reduce_scatter_ns=gather_ns
        if cluster.reduce_scatter is None
        else _collective_times(cluster.reduce_scatter, workload, "cluster.reduce_scatter"),
        skew=tuple(Fraction(factor) for factor in skew),
    )
    return Job(
        workload=workload,
        costs=costs,
        connections=cluster.connections,
        layout=layout,
        megatron=model.megatron,
        notes=model.notes,
    )


def _model(scenario: Scenario) -> _Model:
    if isinstance(scenario.model, MegatronModel):
        return _megatron_model(scenario.model, scenario)
    return _explicit_model(scenario.model)


def _explicit_model(model: ExplicitModel) -> _Model:
    modules = tuple(
        Module(
            name=spec.name,
            parameters=tuple(
                Parameter(
                    name=name,
                    shape=parameter.shape,
                    frozen=spec.frozen or parameter.frozen,
                    shared_embedding=parameter.shared_embedding,
                )
                for name, parameter in spec.params.items()
            ),
            forward_ns=spec.forward_ns,
            backward_ns=2 * spec.forward_ns if spec.backward_ns is None else spec.backward_ns,
        )
        for spec in model.modules
    )
    order = tuple(_call(index, module) for index, module in enumerate(modules))
    return _Model(modules=modules, registered_order=order, dtype=model.dtype, megatron=None, notes=())


def _megatron_model(model: MegatronModel, scenario: Scenario) -> _Model:
    gpus = scenario.cluster.gpus if scenario.training.microbatches is None else None
    job = read_job(model.text, model.source, spec=model.spec, gpus=gpus)
    gpu = _gpu(scenario)
    gpt = build_gpt(job.config, model.spec)
    modules = tuple(
        Module(
            name=planned.name,
            parameters=planned.parameters,
            forward_ns=duration_ns(planned.forward, gpu),
            backward_ns=duration_ns(planned.backward, gpu),
        )
        for planned in gpt.modules
    )
    order = tuple(
        Use(
            module=planned.module,
            module_name=modules[planned.module].name,
            functional=planned.functional,
            name=planned.name,
            forward_ns=duration_ns(planned.forward, gpu),
            backward_ns=duration_ns(planned.backward, gpu),
        )
        for planned in gpt.order
    )
    notes = [
        f"module times: roofline of {gpu}",
        *job.notes,
    ]
    if job.unknown:
        notes.append(f"{model.source}: unknown flags, taken to change nothing here: {' '.join(job.unknown)}")
    return _Model(modules=modules, registered_order=order, dtype=job.dtype, megatron=job, notes=tuple(notes))


def _gpu(scenario: Scenario) -> Gpu:
    gpu = scenario.cluster.gpu
    if gpu is None:
        raise InputError("a megatron model needs a GPU to time its modules: gpu: h100-sxm", key="cluster.gpu")
    if gpu.name is not None:
        return find_gpu(gpu.name, key="cluster.gpu")
    return Gpu(
        name="given",
        peak_flops_per_second=gpu.flops_per_second or 0,
        memory_bytes_per_second=gpu.memory_bytes_per_second or 0,
        achieved_fraction=Fraction(1),
    )


def _call(index: int, module: Module) -> Use:
    return Use(
        module=index,
        module_name=module.name,
        functional=False,
        name=module.name,
        forward_ns=module.forward_ns,
        backward_ns=module.backward_ns,
    )


def _training(scenario: Scenario, model: _Model) -> Training:
    asked = scenario.training
    megatron = model.megatron
    return Training(
        iterations=scenario.iterations,
        microbatches=asked.microbatches or (megatron.microbatches if megatron else 1),
        recompute=asked.recompute or (megatron.recompute if megatron else "none"),
        backward=asked.backward,
        gradient_sync=asked.gradient_sync,
        hooks_in_first_iteration=asked.hooks_in_first_iteration,
    )


def _layout(scenario: Scenario, model: _Model) -> Layout:
    asked, dp, megatron = scenario.buckets, scenario.cluster.gpus, model.megatron
    size: int | None = default_bucket_size(dp)
    by_default = False
    if asked.one or asked.groups is not None:
        size = None
    elif asked.size_elements is not None:
        size = asked.size_elements
    elif asked.size_bytes is not None:
        size = max(1, asked.size_bytes // ELEMENT_BYTES[model.dtype])
    elif megatron is not None and megatron.one_bucket:
        size = None
    elif megatron is not None and megatron.bucket_size is not None:
        size = megatron.bucket_size
    else:
        by_default = True
    return Layout(
        dp=dp,
        bucket_size=size,
        by_default=by_default,
        pad_for_high_nccl_busbw=asked.pad_for_high_nccl_busbw
        or (megatron is not None and megatron.pad_for_high_nccl_busbw),
        splits_shared_embedding=POLICIES[scenario.policy.name].splits_shared_embedding,
    )


def _buckets(scenario: Scenario, model: _Model, layout: Layout) -> tuple[Bucket, ...]:
    if scenario.buckets.groups is None:
        return layout.buckets(model.modules)
    groups = _groups(scenario.buckets.groups, model.modules)
    return lay_out_groups(groups, dp=layout.dp, pad_for_high_nccl_busbw=layout.pad_for_high_nccl_busbw)


def _groups(groups: Sequence[Sequence[str]], modules: Sequence[Module]) -> list[list[tuple[int, Parameter]]]:
    """Names to parameters; every trainable parameter must be named exactly once, by itself or by its module."""
    named: dict[str, list[tuple[int, Parameter]]] = {}
    for index, module in enumerate(modules):
        for parameter in module.parameters:
            if not parameter.frozen:
                named.setdefault(module.name, []).append((index, parameter))
                named[f"{module.name}.{parameter.name}"] = [(index, parameter)]
    missing = {(index, parameter.name) for places in named.values() for index, parameter in places}
    resolved = []
    for number, group in enumerate(groups):
        places = []
        for name in group:
            if name not in named:
                raise InputError(
                    f"no module or parameter {name!r} with trainable parameters{_hint(name, named)}",
                    key=f"buckets.groups[{number}]",
                )
            for index, parameter in named[name]:
                if (index, parameter.name) not in missing:
                    raise InputError(f"{name!r} is already in a bucket", key=f"buckets.groups[{number}]")
                missing.remove((index, parameter.name))
                places.append((index, parameter))
        resolved.append(places)
    if missing:
        index, parameter_name = min(missing)
        raise InputError(f"{modules[index].name}.{parameter_name} is in no bucket", key="buckets.groups")
    return resolved


def _orders(scenario: Scenario, model: _Model) -> tuple[tuple[Order, ...], ...]:
    """Execution orders ``[rank][iteration]``; what is alike is one object."""
    iterations, gpus = scenario.iterations, scenario.cluster.gpus
    by_default = (model.registered_order,) * iterations
    forward = scenario.forward
    if forward is None:
        return (by_default,) * gpus
    index = {module.name: number for number, module in enumerate(model.modules)}

    def resolve(orders: Iterable[Iterable[UseSpec]], key: str) -> tuple[Order, ...]:
        resolved = tuple(tuple(_use(spec, index, model.modules, key) for spec in order) for order in orders)
        return resolved * iterations if len(resolved) == 1 else resolved

    if forward.per_rank is None:
        return (resolve(forward.orders, "forward"),) * gpus
    by_rank = {rank: resolve(orders, f"forward.per_rank.{rank}") for rank, orders in forward.per_rank.items()}
    return tuple(by_rank.get(rank, by_default) for rank in range(gpus))


def _use(spec: UseSpec, index: dict[str, int], modules: Sequence[Module], key: str) -> Use:
    if spec.module not in index:
        raise InputError(f"no module {spec.module!r} in the model{_hint(spec.module, index)}", key=key)
    number = index[spec.module]
    module = modules[number]
    return Use(
        module=number,
        module_name=module.name,
        functional=spec.functional,
        name=spec.name or module.name,
        forward_ns=module.forward_ns if spec.forward_ns is None else spec.forward_ns,
        backward_ns=module.backward_ns if spec.backward_ns is None else spec.backward_ns,
    )


def _hint(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _collective_times(cost: CollectiveCost, workload: Workload, key: str) -> tuple[int, ...]:
    if cost.times_ns is not None:
        if len(cost.times_ns) != len(workload.buckets):
            raise InputError(
                f"{len(cost.times_ns)} times for {len(workload.buckets)} buckets; give one per bucket, in gather order",
                key=f"{key}.times",
            )
        return cost.times_ns
    link = None if cost.link is None else find_link(cost.link, key=f"{key}.link")
    if link is not None:
        sizes = (bucket.numel * workload.element_bytes for bucket in workload.buckets)
        return tuple(link_transfer_ns(size_bytes, ranks=workload.dp, link=link) for size_bytes in sizes)
    return tuple(
        transfer_ns(
            bucket.numel * workload.element_bytes,
            ranks=workload.dp,
            latency_ns=cost.latency_ns or 0,
            bus_bandwidth=cost.bus_bandwidth or 1,
        )
        for bucket in workload.buckets
    )
