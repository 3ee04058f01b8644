"""A training job as its Megatron argument file describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simgather.megatron.arguments import read_arguments, shown
from simgather.megatron.config import Dtype, GptConfig, Spec, read_config
from simgather.megatron.flags import Flags, sort_arguments

__all__ = ["GptConfig", "MegatronJob", "read_job"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MegatronJob:
    """What simgather takes from an argument file.

    `bucket_size` is in elements, None if the file gives none; `one_bucket` overrides it, as Megatron does without
    ``--overlap-grad-reduce``. `microbatches` are per iteration. `notes` say what was assumed, one sentence each;
    `unknown` are flags, dashes included, that are taken to change nothing.
    """

    config: GptConfig
    bucket_size: int | None
    one_bucket: bool
    pad_for_high_nccl_busbw: bool
    microbatches: int
    recompute: Literal["none", "full"]
    dtype: Dtype
    overlap_param_gather: bool
    overlap_grad_reduce: bool
    distributed_optimizer: bool
    notes: tuple[str, ...]
    unknown: tuple[str, ...]


def read_job(text: str, source: str, *, spec: Spec, gpus: int | None) -> MegatronJob:
    """The job in the text of an argument file named `source`, on `gpus` data-parallel ranks.

    With `gpus` None the microbatches are somebody else's to say, and come out as 1.

    Raises:
        InputError: the file cannot be read, is incomplete, contradicts itself or `spec`, or asks for what is not
            supported yet.

    """
    flags = sort_arguments(read_arguments(text, source), source)
    _check_spec(flags, spec)
    dtype = _dtype(flags)
    config, notes = read_config(flags, dtype)
    recompute = _recompute(flags, config.num_layers)
    return MegatronJob(
        config=config,
        bucket_size=flags.count("ddp-bucket-size"),
        one_bucket=not flags.has("overlap-grad-reduce"),
        pad_for_high_nccl_busbw=flags.has("ddp-pad-buckets-for-high-nccl-busbw"),
        microbatches=_microbatches(flags, config.micro_batch_size, gpus),
        recompute=recompute,
        dtype=dtype,
        overlap_param_gather=flags.has("overlap-param-gather"),
        overlap_grad_reduce=flags.has("overlap-grad-reduce"),
        distributed_optimizer=flags.has("use-distributed-optimizer"),
        notes=notes + _notes(flags, dtype, recompute),
        unknown=flags.unknown,
    )


def _check_spec(flags: Flags, spec: Spec) -> None:
    """A file that names no implementation leaves the choice to the scenario."""
    named = flags.text("transformer-impl")
    if named is not None and named != spec:
        raise flags.error("transformer-impl", f"{named} contradicts the scenario, which has spec: {spec}")
    custom = flags.texts("spec")
    if custom == ("local",) and spec != "local":
        raise flags.error("spec", f"local contradicts the scenario, which has spec: {spec}")
    if flags.has("spec") and custom != ("local",):
        raise flags.error("spec", f"a custom layer specification is not supported yet, got {shown(' '.join(custom))}")


def _dtype(flags: Flags) -> Dtype:
    if flags.has("bf16") and flags.has("fp16"):
        raise flags.error("fp16", "cannot be given together with --bf16")
    return "bf16" if flags.has("bf16") else "fp16" if flags.has("fp16") else "fp32"


def _microbatches(flags: Flags, micro_batch_size: int, gpus: int | None) -> int:
    if gpus is None:
        return 1
    at_once = micro_batch_size * gpus
    global_batch_size = flags.count("global-batch-size") or at_once
    if global_batch_size % at_once:
        raise flags.error(
            "global-batch-size",
            f"{global_batch_size} is not a multiple of --micro-batch-size {micro_batch_size} times {gpus} GPUs; "
            "correct it, or give training.microbatches in the scenario",
        )
    return global_batch_size // at_once


def _recompute(flags: Flags, num_layers: int) -> Literal["none", "full"]:
    """Selective recomputation of the core attention reads no weight, so it counts as none."""
    method, layers = flags.text("recompute-method"), flags.count("recompute-num-layers")
    granularity = "selective" if flags.has("recompute-activations") else flags.text("recompute-granularity")
    if granularity == "selective":
        if method is not None:
            raise flags.error("recompute-method", "goes with --recompute-granularity full only")
        if other := [module for module in flags.texts("recompute-modules") if module != "core_attn"]:
            raise flags.error(
                "recompute-modules", f"recomputing {shown(other[0])} is not supported yet: only core_attn"
            )
    if granularity != "full":
        return "none"
    if method is None:
        raise flags.error("recompute-granularity", "full needs --recompute-method")
    if layers is None:
        raise flags.error("recompute-granularity", "full needs --recompute-num-layers")
    if layers > num_layers:
        raise flags.error("recompute-num-layers", f"{layers} is more than --num-layers {num_layers}")
    if method == "block" and layers < num_layers:
        raise flags.error(
            "recompute-num-layers", f"recomputing only {layers} of {num_layers} layers is not supported yet"
        )
    return "full"


def _notes(flags: Flags, dtype: Dtype, recompute: str) -> tuple[str, ...]:
    notes = []
    if dtype == "fp32":
        notes.append("neither --bf16 nor --fp16: parameters are fp32, kernels are timed at the GPU's bf16 rate")
    if not flags.has("overlap-grad-reduce"):
        notes.append("without --overlap-grad-reduce Megatron puts all parameters into one bucket")
    if recompute == "full" and flags.text("recompute-method") == "uniform" and flags.count("recompute-num-layers") != 1:
        notes.append("recomputed module by module, not in chunks of --recompute-num-layers")
    return tuple(notes)
