"""What Megatron's flags mean here: those that are used, those that change nothing, those not supported yet.

`sort_arguments` checks them as Megatron's argparse would (no abbreviations, the last of a repeated flag wins). Names
are those of Megatron-LM's ``megatron/training/arguments.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from simgather.errors import InputError, LimitError
from simgather.megatron.arguments import Argument, shown
from simgather.megatron.ignored_flags import IGNORED, Takes

SWITCHES = frozenset(
    {
        "add-qkv-bias",
        "bf16",
        "ddp-pad-buckets-for-high-nccl-busbw",
        "disable-bias-linear",
        "fp16",
        "group-query-attention",
        "no-position-embedding",
        "overlap-grad-reduce",
        "overlap-param-gather",
        "qk-layernorm",
        "recompute-activations",
        "swiglu",
        "untie-embeddings-and-output-weights",
        "use-distributed-optimizer",
        "use-rotary-position-embeddings",
    }
)

COUNTS: Mapping[str, int] = {
    "ddp-bucket-size": 10**15,
    "ffn-hidden-size": 2**24,
    "global-batch-size": 2**31,
    "hidden-size": 2**20,
    "kv-channels": 2**16,
    "make-vocab-size-divisible-by": 2**26,
    "max-position-embeddings": 2**30,
    "micro-batch-size": 2**20,
    "num-attention-heads": 2**16,
    "num-layers": 10_000,
    "num-query-groups": 2**16,
    "padded-vocab-size": 2**26,
    "recompute-num-layers": 10_000,
    "seq-length": 2**30,
    "vocab-size": 2**26,
}
"""Flags with a whole number of at least 1, and the most that is not absurd."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "normalization": ("LayerNorm", "RMSNorm"),
    "position-embedding-type": ("learned_absolute", "rope", "none"),
    "recompute-granularity": ("full", "selective"),
    "recompute-method": ("uniform", "block"),
    "transformer-impl": ("local", "transformer_engine"),
}

TEXTS = frozenset({"tokenizer-type"})
LISTS = frozenset({"recompute-modules", "spec"})

MUST_BE_ONE: Mapping[str, str] = {
    "context-parallel-size": "context parallelism",
    "expert-model-parallel-size": "expert parallelism",
    "expert-tensor-parallel-size": "expert tensor parallelism",
    "num-distributed-optimizer-instances": "more than one distributed optimizer instance",
    "num-virtual-stages-per-pipeline-rank": "virtual pipeline parallelism",
    "pipeline-model-parallel-size": "pipeline parallelism",
    "tensor-model-parallel-size": "tensor parallelism",
}


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A flag that would change the answer, except with one of the values `unless`."""

    what: str
    unless: tuple[str, ...] = ()


_VIRTUAL_PIPELINE = Unsupported("virtual pipeline parallelism")
_FSDP = Unsupported("fully sharded data parallelism by a Megatron flag")
_CUDA_GRAPH = Unsupported("a forward pass captured in a CUDA graph, which runs no hooks,")
_LOW_PRECISION = Unsupported("fp8 or fp4 matrix multiplication")
_LOW_PRECISION_GATHER = Unsupported("a parameter all-gather in fp8 or fp4")
_ATTENTION = Unsupported("windowed attention")
_ENCODER = Unsupported("a model with an encoder of its own")
_FROM_CHECKPOINT = Unsupported("taking arguments from a checkpoint")

UNSUPPORTED: Mapping[str, Unsupported] = {
    "account-for-embedding-in-pipeline-split": Unsupported("an uneven pipeline"),
    "account-for-loss-in-pipeline-split": Unsupported("an uneven pipeline"),
    "align-param-gather": Unsupported("an aligned parameter all-gather"),
    "cpu-offloading-num-layers": Unsupported("offloading activations to the CPU", ("0",)),
    "cuda-graph-impl": Unsupported(_CUDA_GRAPH.what, ("none",)),
    "data-parallel-sharding-strategy": Unsupported(_FSDP.what, ("no_shard",)),
    "ddp-num-buckets": Unsupported("a number of buckets instead of --ddp-bucket-size"),
    "defer-embedding-wgrad-compute": Unsupported("deferring weight gradients"),
    "delay-param-gather": Unsupported("an aligned parameter all-gather"),
    "delay-wgrad-compute": Unsupported("deferring weight gradients"),
    "enable-cuda-graph": _CUDA_GRAPH,
    "external-cuda-graph": _CUDA_GRAPH,
    "fp4-format": _LOW_PRECISION,
    "fp4-param-gather": _LOW_PRECISION_GATHER,
    "fp8-e4m3": _LOW_PRECISION,
    "fp8-format": _LOW_PRECISION,
    "fp8-hybrid": _LOW_PRECISION,
    "fp8-param-gather": _LOW_PRECISION_GATHER,
    "is-hybrid-model": Unsupported("a hybrid model"),
    "mtp-num-layers": Unsupported("multi-token prediction", ("0",)),
    "multi-latent-attention": Unsupported("multi-latent attention"),
    "num-experts": Unsupported("a mixture of experts", ("0",)),
    "num-layers-per-virtual-pipeline-stage": _VIRTUAL_PIPELINE,
    "optimizer": Unsupported("an optimizer other than adam and sgd", ("adam", "sgd")),
    "overlap-param-gather-with-optimizer-step": Unsupported("a parameter all-gather within the optimizer step"),
    "perform-rl-step": Unsupported("reinforcement learning"),
    "pipeline-model-parallel-layout": Unsupported("an uneven pipeline"),
    "quick-geglu": Unsupported("quick-geglu (only --swiglu is)"),
    "rampup-batch-size": Unsupported("a batch size that grows"),
    "reuse-grad-buf-for-mxfp8-param-ag": _LOW_PRECISION_GATHER,
    "skip-train": Unsupported("a run without training"),
    "softmax-type": Unsupported("a softmax with parameters", ("vanilla",)),
    "use-checkpoint-args": _FROM_CHECKPOINT,
    "use-custom-fsdp": _FSDP,
    "use-legacy-models": Unsupported("a model that is not of Megatron-core"),
    "use-megatron-fsdp": _FSDP,
    "use-mp-args-from-checkpoint-args": _FROM_CHECKPOINT,
    "use-torch-fsdp2": _FSDP,
    "vocab-extra-ids": Unsupported("a vocabulary with extra ids", ("0",)),
    "window-attn-skip-freq": _ATTENTION,
    "window-size": _ATTENTION,
    "yaml-cfg": Unsupported("a YAML file of further arguments"),
}

FAMILIES: Mapping[str, Unsupported] = {
    "bert-": Unsupported("BERT"),
    "biencoder-": Unsupported("a biencoder"),
    "decoder-": _ENCODER,
    "dino-": Unsupported("a vision model"),
    "encoder-": _ENCODER,
    "freeze-": Unsupported("freezing parameters by a Megatron flag"),
    "grpo-": Unsupported("reinforcement learning"),
    "heterogeneous-": Unsupported("a model whose layers differ"),
    "hybrid-": Unsupported("a hybrid model"),
    "ict-": Unsupported("a biencoder"),
    "kitchen-": _LOW_PRECISION,
    "mamba-": Unsupported("a hybrid model"),
    "moe-": Unsupported("a mixture of experts"),
    "mtp-": Unsupported("multi-token prediction"),
    "retriever-": Unsupported("a retrieval model"),
    "retro-": Unsupported("a retrieval model"),
    "rl-": Unsupported("reinforcement learning"),
    "swin-": Unsupported("a vision model"),
    "vision-": Unsupported("a vision model"),
}
"""Flags that begin with these."""

_USED = SWITCHES | TEXTS | LISTS | {*COUNTS} | {*CHOICES} | {*MUST_BE_ONE}
_RESEMBLED = sorted(_USED | {*UNSUPPORTED})
_MOST_UNKNOWN = 1000
_WHOLE = re.compile(r"[+-]?[0-9]+(?:_[0-9]+)*")


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of a file that are used, checked one by one; flags without dashes. `unknown` keep theirs."""

    source: str
    given: Mapping[str, Argument]
    unknown: tuple[str, ...]

    def has(self, flag: str) -> bool:
        """Whether the flag was given."""
        return flag in self.given

    def count(self, flag: str) -> int | None:
        """The whole number a flag of `COUNTS` was given."""
        return int(self.given[flag].values[0]) if flag in self.given else None

    def needed_count(self, flag: str) -> int:
        """The number of a flag that Megatron needs."""
        if flag not in self.given:
            raise InputError(f"the file gives no --{flag}, which Megatron needs", self.source, key=f"--{flag}")
        return int(self.given[flag].values[0])

    def text(self, flag: str) -> str | None:
        """The value of a flag of `CHOICES` or `TEXTS`."""
        return self.given[flag].values[0] if flag in self.given else None

    def texts(self, flag: str) -> tuple[str, ...]:
        """The values of a flag of `LISTS`; none if it was not given."""
        return self.given[flag].values if flag in self.given else ()

    def error(self, flag: str, message: str) -> InputError:
        """An error that points at a flag of the file."""
        line = self.given[flag].line if flag in self.given else None
        return InputError(message, self.source, line, f"--{flag}")


def sort_arguments(arguments: Iterable[Argument], source: str) -> Flags:
    """Check every argument and keep those that are used.

    Raises:
        InputError: a flag is not supported yet or misspelt, or has a wrong value; names file, line and flag.
        LimitError: a number is absurdly large.

    """
    given: dict[str, Argument] = {}
    unknown: dict[str, None] = {}
    for argument in arguments:
        name = argument.flag.removeprefix("--")
        try:
            if name in _USED:
                _check_used(name, argument.values)
                given[name] = argument
            elif name in IGNORED:
                _check_number_of_values(IGNORED[name], argument.values)
            elif argument.flag not in unknown and not _is_harmless(name, argument.values):
                near = get_close_matches(name, _RESEMBLED, n=1, cutoff=0.85)
                if near:
                    raise InputError(f"Megatron has no such flag; did you mean --{near[0]}?")
                unknown[argument.flag] = None
                if len(unknown) > _MOST_UNKNOWN:
                    raise LimitError("has too many unknown flags for a Megatron argument file")
        except InputError as error:
            raise type(error)(error.message, source, argument.line, argument.flag) from None
    return Flags(source, given, tuple(unknown))


def _check_used(name: str, values: tuple[str, ...]) -> None:
    if name in LISTS:
        return
    _check_number_of_values("none" if name in SWITCHES else "one", values)
    if name in COUNTS:
        number = _whole(values[0])
        if number < 1:
            raise InputError(f"must be at least 1, got {shown(values[0])}")
        if number > COUNTS[name]:
            raise LimitError(f"{shown(values[0])} is absurdly large: the most is {COUNTS[name]}")
    elif name in MUST_BE_ONE and _whole(values[0]) != 1:
        raise InputError(f"{MUST_BE_ONE[name]} is not supported yet: only a value of 1, got {shown(values[0])}")
    elif name in CHOICES and values[0] not in CHOICES[name]:
        raise InputError(f"must be one of {', '.join(CHOICES[name])} to be supported, got {shown(values[0])}")


def _is_harmless(name: str, values: tuple[str, ...]) -> bool:
    """Whether a flag that is neither used nor ignored is known to change nothing with these values."""
    unsupported = UNSUPPORTED.get(name) or next(
        (family for prefix, family in FAMILIES.items() if name.startswith(prefix)), None
    )
    if unsupported is None:
        return False
    if unsupported.unless and " ".join(values) in unsupported.unless:
        return True
    hint = f" (only {' or '.join(unsupported.unless)})" if unsupported.unless else ""
    raise InputError(f"{unsupported.what} is not supported yet{hint}")


def _check_number_of_values(takes: Takes, values: tuple[str, ...]) -> None:
    if takes == "none" and values:
        raise InputError(f"takes no value, got {shown(' '.join(values))}")
    if takes == "one" and len(values) != 1:
        raise InputError(f"takes one value, got {shown(' '.join(values)) if values else 'none'}")


def _whole(text: str) -> int:
    if len(text) > 20 or not _WHOLE.fullmatch(text):
        raise InputError(f"must be a whole number, got {shown(text)}")
    return int(text)
