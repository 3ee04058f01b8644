"""The execution orders of every rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simgather.errors import InputError
from simgather.job.model import JobModel
from simgather.job.names import hint
from simgather.scenario.schema import Scenario, UseSpec
from simgather.workload.model import Module, Use
from simgather.workload.workload import Order


def resolve_orders(scenario: Scenario, model: JobModel) -> tuple[tuple[Order, ...], ...]:
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
        raise InputError(f"no module {spec.module!r} in the model{hint(spec.module, index)}", key=key)
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
