"""Which bucket every parameter lies in."""

from __future__ import annotations

from collections.abc import Sequence

from simgather.errors import InputError
from simgather.job.model import JobModel
from simgather.job.names import hint
from simgather.policies import POLICIES
from simgather.scenario.schema import Scenario
from simgather.workload.dtypes import ELEMENT_BYTES
from simgather.workload.layout import Bucket, Layout, default_bucket_size, lay_out_groups
from simgather.workload.model import Module, Parameter


def resolve_layout(scenario: Scenario, model: JobModel) -> Layout:
    """How parameters are put into buckets: what the scenario says, else the launch script, else Megatron's default."""
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


def resolve_buckets(scenario: Scenario, model: JobModel, layout: Layout) -> tuple[Bucket, ...]:
    """The buckets, by the layout's rules or as the scenario groups them.

    Raises:
        InputError: the groups name what is not there, or leave something out.

    """
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
                    f"no module or parameter {name!r} with trainable parameters{hint(name, named)}",
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
