"""The scenario's model: modules with their times, and the order they run in by default."""

from __future__ import annotations

from dataclasses import dataclass

from simgather.costs.roofline import duration_ns
from simgather.job.gpu import find_scenario_gpu
from simgather.megatron.gpt import build_gpt
from simgather.megatron.job import MegatronJob, read_job
from simgather.scenario.schema import ExplicitModel, MegatronModel, Scenario
from simgather.workload.model import Module, Parameter, Use
from simgather.workload.workload import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class JobModel:
    """Modules in registration order, `dtype` that of the gathered parameters; `notes` say what was assumed."""

    modules: tuple[Module, ...]
    registered_order: Order
    dtype: str
    megatron: MegatronJob | None
    notes: tuple[str, ...]


def resolve_model(scenario: Scenario) -> JobModel:
    """The model of whichever kind the scenario gives.

    Raises:
        InputError: a launch script cannot be read, or the GPU that times its modules is not known.

    """
    if isinstance(scenario.model, MegatronModel):
        return _megatron_model(scenario.model, scenario)
    return _explicit_model(scenario.model)


def _explicit_model(model: ExplicitModel) -> JobModel:
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
    return JobModel(modules=modules, registered_order=order, dtype=model.dtype, megatron=None, notes=())


def _megatron_model(model: MegatronModel, scenario: Scenario) -> JobModel:
    gpus = scenario.cluster.gpus if scenario.training.microbatches is None else None
    job = read_job(model.text, model.source, spec=model.spec, gpus=gpus)
    gpu = find_scenario_gpu(scenario)
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
    return JobModel(modules=modules, registered_order=order, dtype=job.dtype, megatron=job, notes=tuple(notes))


def _call(index: int, module: Module) -> Use:
    return Use(
        module=index,
        module_name=module.name,
        functional=False,
        name=module.name,
        forward_ns=module.forward_ns,
        backward_ns=module.backward_ns,
    )
