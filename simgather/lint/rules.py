"""The rules: each looks at a job and says what is known to break there or to bring nothing.

Every remark gives the reason and points to where it was reported or to the code that decides it. They are not the
verdict: a job with remarks may be safe, and one without may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from simgather.job import Job
from simgather.lint.inversions import clean_from, hooks_of, inversions
from simgather.lint.remark import Remark
from simgather.scenario.schema import Scenario
from simgather.units import format_count, format_time
from simgather.workload.layout import DEFAULT_BUCKET_SIZE_PER_RANK

CHAINS = ("megatron-core-0.8", "megatron-core-0.10", "megatron-core-0.11", "megatron-core-0.16")
_ISSUE = "NVIDIA/Megatron-LM issue "
_MEGATRON_ARGUMENTS = "Megatron-LM megatron/training/arguments.py, validate_args"
_MEGATRON_DDP = "Megatron-LM megatron/core/distributed/distributed_data_parallel.py"

Rule = Callable[[Scenario, Job], Iterator[Remark]]


def remarks(scenario: Scenario, job: Job) -> tuple[Remark, ...]:
    """What all rules have to say, in their order."""
    return tuple(remark for rule in RULES for remark in rule(scenario, job))


def _megatron_refuses(_: Scenario, job: Job) -> Iterator[Remark]:
    if job.megatron is None:
        return
    if not job.megatron.overlap_param_gather:
        yield Remark(
            rule="no-overlap-param-gather",
            text="the launch script does not give --overlap-param-gather: Megatron then gathers every bucket before "
            "the forward pass and waits (policy synchronous); this run shows what the flag would do.",
            see=_MEGATRON_ARGUMENTS,
        )
        return
    if not job.megatron.distributed_optimizer:
        yield Remark(
            rule="overlap-without-distributed-optimizer",
            text="Megatron refuses --overlap-param-gather without --use-distributed-optimizer: without sharded "
            "optimizer state every rank updates all weights itself and there is nothing to gather.",
            see=_MEGATRON_ARGUMENTS,
        )
    if not job.megatron.overlap_grad_reduce:
        yield Remark(
            rule="overlap-without-grad-reduce",
            text="Megatron refuses --overlap-param-gather without --overlap-grad-reduce: without it all parameters lie "
            "in one bucket, so nothing could overlap.",
            see="NVIDIA/Megatron-LM pull request 646",
        )


def _nothing_to_gather(_: Scenario, job: Job) -> Iterator[Remark]:
    if job.workload.dp == 1:
        yield Remark(
            rule="one-rank",
            text="with one data-parallel rank every weight is local: no all-gather, nothing to overlap.",
            see=_MEGATRON_DDP,
        )


def _one_bucket(_: Scenario, job: Job) -> Iterator[Remark]:
    if job.workload.dp > 1 and len(job.workload.buckets) == 1:
        yield Remark(
            rule="one-bucket",
            text="all parameters lie in one bucket, which the first module waits for: nothing can overlap, whatever "
            "the policy. Use smaller buckets.",
            see=f"{_MEGATRON_DDP}: one bucket when gradients are not overlapped or the pipeline stage is not the first",
        )


def _first_gather_exposed(_: Scenario, job: Job) -> Iterator[Remark]:
    workload = job.workload
    if workload.dp == 1 or len(workload.buckets) < 2:
        return
    first = next((use for use in workload.orders[0][-1] if workload.hook_buckets[use.module]), None)
    if first is None or first.functional:
        return
    bucket = workload.hook_buckets[first.module][0]
    cost = job.costs.gather_ns[bucket]
    if cost:
        elements = workload.buckets[bucket].numel
        yield Remark(
            rule="first-gather-exposed",
            text=f"the first gather is always exposed: {first.name} needs bucket {bucket} ({format_count(elements)} "
            f"elements) before there is compute to hide it behind, {format_time(cost)} in every iteration under any "
            "policy that gathers within the iteration. A smaller first bucket is the only cure.",
            see=f"{_ISSUE}827",
        )


def _order_inversion(scenario: Scenario, job: Job) -> Iterator[Remark]:
    workload = job.workload
    if scenario.policy.name not in CHAINS or workload.dp == 1:
        return
    found = inversions(workload.orders[0][-1], workload.hook_buckets, [0] * len(workload.buckets))
    if not found:
        return
    first = found[0]
    more = f" ({len(found) - 1} more like it)" if len(found) > 1 else ""
    text = (
        f"{first.early} runs before {first.late} but its bucket {first.bucket} is gathered after bucket "
        f"{first.overtaken}{more}: up to Megatron-core 0.8 it reads stale weights, 0.9 and 0.10 stop with an "
        "AssertionError, from 0.11 on its gather is dispatched on demand, with a warning, and is exposed."
    )
    yield Remark(rule="order-inversion", text=text + _where_it_vanishes(job), see=f"{_ISSUE}950")


def _where_it_vanishes(job: Job) -> str:
    workload, layout = job.workload, job.layout
    if layout.bucket_size is None:
        return ""

    def inverted(size: int) -> bool:
        buckets = replace(layout, bucket_size=size).buckets(workload.modules)
        hooks = hooks_of(buckets, len(workload.modules))
        return bool(inversions(workload.orders[0][-1], hooks, [0] * len(buckets)))

    size = clean_from(inverted, layout.bucket_size, max(bucket.end for bucket in workload.buckets))
    if size is None:
        return " No bucket size removes it: register the parameters in execution order."
    text = f" It vanishes from a bucket size of {size} elements on"
    if layout.by_default:
        text += (
            f", so at Megatron's default size above {(size - 1) // DEFAULT_BUCKET_SIZE_PER_RANK} data-parallel ranks"
        )
    return text + "."


def _one_hook_several_buckets(scenario: Scenario, job: Job) -> Iterator[Remark]:
    workload = job.workload
    if scenario.policy.name not in CHAINS or workload.dp == 1:
        return
    spread: list[tuple[str, int, int]] = []
    needed: set[int] = set()
    for use in workload.orders[0][-1]:
        buckets = () if use.functional else workload.hook_buckets[use.module]
        new = [bucket for bucket in buckets if bucket not in needed]
        needed.update(new)
        if len(buckets) > 1 and len(new) > len(buckets) - len(new):
            spread.append((use.name, buckets[0], buckets[-1]))
    if spread:
        name, low, high = spread[0]
        more = f" ({len(spread) - 1} more like it)" if len(spread) > 1 else ""
        yield Remark(
            rule="one-hook-several-buckets",
            text=f"the parameters of {name} lie in buckets {low} to {high}{more}: its one hook waits for bucket {low}, "
            f"dispatches the next and waits for that at once, so the gather of bucket {high} is fully exposed.",
            see=f"{_MEGATRON_DDP}, _make_forward_pre_hook",
        )


def _unhooked_weight(_: Scenario, job: Job) -> Iterator[Remark]:
    workload = job.workload
    functional = next((use for use in workload.orders[0][-1] if use.functional), None)
    if functional is not None and workload.dp > 1:
        yield Remark(
            rule="weight-without-hook",
            text=f"{functional.name} uses the weight of {functional.module_name} without calling it, so no hook waits "
            "for its bucket: it is right only as long as that module ran before in the same forward pass.",
            see=f"{_ISSUE}728",
        )


def _unused_parameters(_: Scenario, job: Job) -> Iterator[Remark]:
    workload = job.workload
    if not (workload.training.backward and workload.training.gradient_sync):
        return
    used = {use.module for orders in workload.orders for order in orders for use in order}
    placed = {parameter.module for bucket in workload.buckets for parameter in bucket.parameters}
    unused = [workload.modules[index].name for index in sorted(placed - used)]
    if unused:
        yield Remark(
            rule="unused-parameters",
            text=f"{unused[0]}{f' and {len(unused) - 1} more' if len(unused) > 1 else ''} is trained but never runs: "
            "its bucket never has all gradients, and Megatron stops with 'Communication call has not been issued for "
            "this bucket'.",
            see=f"{_ISSUE}1150",
        )


def _shared_queue(scenario: Scenario, job: Job) -> Iterator[Remark]:
    if scenario.cluster.connections == 1 and job.workload.dp > 1 and scenario.policy.name not in CHAINS:
        yield Remark(
            rule="one-connection",
            text="with CUDA_DEVICE_MAX_CONNECTIONS=1 all streams share one queue: kernels launched after a queued "
            f"all-gather start after it, so {scenario.policy.name} cannot overlap what it dispatched early.",
            see="pytorch/torchtitan issue 1147",
        )


RULES: tuple[Rule, ...] = (
    _nothing_to_gather,
    _megatron_refuses,
    _one_bucket,
    _order_inversion,
    _one_hook_several_buckets,
    _unhooked_weight,
    _unused_parameters,
    _shared_queue,
    _first_gather_exposed,
)
