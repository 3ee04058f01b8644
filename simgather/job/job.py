"""From a Scenario to a Job: names become indices, defaults become numbers, and every contradiction is found."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from simgather.costs.costs import Costs
from simgather.job.buckets import resolve_buckets, resolve_layout
from simgather.job.collectives import collective_times
from simgather.job.model import JobModel, resolve_model
from simgather.job.orders import resolve_orders
from simgather.megatron.job import MegatronJob
from simgather.scenario.schema import Scenario, check_program_size
from simgather.workload.dtypes import ELEMENT_BYTES
from simgather.workload.layout import Layout
from simgather.workload.workload import Training, Workload, make_workload


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


def make_job(scenario: Scenario) -> Job:
    """Resolve a scenario.

    Raises:
        InputError: parts of the scenario contradict each other, or a launch script cannot be read.
        LimitError: the program would be absurdly large.

    """
    model = resolve_model(scenario)
    cluster = scenario.cluster
    layout = resolve_layout(scenario, model)
    buckets = resolve_buckets(scenario, model, layout)
    training = _training(scenario, model)
    orders = resolve_orders(scenario, model)
    check_program_size(scenario, max(len(order) for rank in orders for order in rank), training.microbatches)
    workload = make_workload(
        dp=cluster.gpus,
        element_bytes=ELEMENT_BYTES[model.dtype],
        modules=model.modules,
        buckets=buckets,
        orders=orders,
        training=training,
    )
    gather_ns = collective_times(cluster.gather, workload, "cluster.gather")
    skew = cluster.compute_skew or (1,) * cluster.gpus
    costs = Costs(
        launch_ns=cluster.host.launch_ns,
        wait_ns=cluster.host.wait_ns,
        dispatch_ns=cluster.host.collective_ns,
        optimizer_ns=scenario.training.optimizer_ns,
        gather_ns=gather_ns,
        reduce_scatter_ns=gather_ns
        if cluster.reduce_scatter is None
        else collective_times(cluster.reduce_scatter, workload, "cluster.reduce_scatter"),
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


def _training(scenario: Scenario, model: JobModel) -> Training:
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
