"""The GPT model that a set of Megatron flags describes, with Megatron's own defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from simgather.megatron.flags import Flags

Spec = Literal["local", "transformer_engine"]
"""Which of Megatron-core's layer specifications builds the model; the second fuses norms into linear layers."""

Normalization = Literal["LayerNorm", "RMSNorm"]
PositionEmbedding = Literal["learned_absolute", "rope", "none"]
Dtype = Literal["bf16", "fp16", "fp32"]

ELEMENT_BYTES: dict[Dtype, int] = {"bf16": 2, "fp16": 2, "fp32": 4}
GPT2_VOCABULARY = 50257
_NULL_TOKENIZERS = ("NullTokenizer", "NullMultimodalTokenizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class GptConfig:
    """Shape of a GPT model and of one microbatch.

    `kv_channels` is the size of one attention head; keys and values have `num_query_groups` heads, or as many as
    queries if that is None. With `swiglu` the first MLP layer has twice `ffn_hidden_size` outputs. `linear_bias` is for
    every linear layer but the output, `qkv_bias` for the query-key-value one. `tied`: the output layer uses the word
    embedding's weight.
    """

    num_layers: int
    hidden_size: int
    ffn_hidden_size: int
    num_attention_heads: int
    num_query_groups: int | None
    kv_channels: int
    seq_length: int
    max_position_embeddings: int
    micro_batch_size: int
    vocab_size: int
    padded_vocab_size: int
    swiglu: bool
    normalization: Normalization
    position_embedding: PositionEmbedding
    linear_bias: bool
    qkv_bias: bool
    qk_layernorm: bool
    tied: bool
    element_bytes: int

    @property
    def tokens(self) -> int:
        """Tokens of one microbatch."""
        return self.micro_batch_size * self.seq_length

    @property
    def query_size(self) -> int:
        """Width of the queries of one token, over all heads."""
        return self.num_attention_heads * self.kv_channels

    @property
    def key_size(self) -> int:
        """Width of the keys of one token, over all groups; values have the same."""
        return (self.num_query_groups or self.num_attention_heads) * self.kv_channels


def read_config(flags: Flags, dtype: Dtype) -> tuple[GptConfig, tuple[str, ...]]:
    """The model, and notes on what was assumed.

    Raises:
        InputError: a flag is missing or contradicts another.

    """
    notes: list[str] = []
    heads = flags.needed_count("num-attention-heads")
    hidden = flags.needed_count("hidden-size")
    seq_length = flags.needed_count("seq-length")
    kv_channels = flags.count("kv-channels")
    if kv_channels is None:
        if hidden % heads:
            raise flags.error("num-attention-heads", f"{heads} does not divide --hidden-size {hidden}")
        kv_channels = hidden // heads
    position_embedding = _position_embedding(flags)
    vocab_size, padded_vocab_size = _vocabulary(flags, notes)
    return GptConfig(
        num_layers=flags.needed_count("num-layers"),
        hidden_size=hidden,
        ffn_hidden_size=flags.count("ffn-hidden-size") or _default_ffn(hidden, swiglu=flags.has("swiglu")),
        num_attention_heads=heads,
        num_query_groups=_query_groups(flags, heads, notes),
        kv_channels=kv_channels,
        seq_length=seq_length,
        max_position_embeddings=_max_positions(flags, seq_length, position_embedding),
        micro_batch_size=flags.needed_count("micro-batch-size"),
        vocab_size=vocab_size,
        padded_vocab_size=padded_vocab_size,
        swiglu=flags.has("swiglu"),
        normalization=cast(Normalization, flags.text("normalization") or "LayerNorm"),
        position_embedding=position_embedding,
        linear_bias=not flags.has("disable-bias-linear"),
        qkv_bias=flags.has("add-qkv-bias") or not flags.has("disable-bias-linear"),
        qk_layernorm=flags.has("qk-layernorm"),
        tied=not flags.has("untie-embeddings-and-output-weights"),
        element_bytes=ELEMENT_BYTES[dtype],
    ), tuple(notes)


def _default_ffn(hidden: int, *, swiglu: bool) -> int:
    """Four times the hidden size; with swiglu two thirds of that, down to a multiple of 64, as Megatron has it."""
    return 8 * hidden // 192 * 64 if swiglu else 4 * hidden


def _query_groups(flags: Flags, heads: int, notes: list[str]) -> int | None:
    if not flags.has("group-query-attention"):
        if flags.has("num-query-groups"):
            notes.append("--num-query-groups has no effect without --group-query-attention")
        return None
    groups = flags.count("num-query-groups") or 1
    if heads % groups:
        raise flags.error("num-query-groups", f"{groups} does not divide --num-attention-heads {heads}")
    return groups


def _position_embedding(flags: Flags) -> PositionEmbedding:
    kind = flags.text("position-embedding-type") or "learned_absolute"
    if flags.has("use-rotary-position-embeddings"):
        kind = "rope"
    if flags.has("no-position-embedding") and kind != "rope":
        raise flags.error("no-position-embedding", "is deprecated in Megatron: use --position-embedding-type none")
    return cast(PositionEmbedding, kind)


def _max_positions(flags: Flags, seq_length: int, kind: PositionEmbedding) -> int:
    """Only a learned embedding has as many rows; Megatron checks the number all the same."""
    if kind != "learned_absolute" and not flags.has("max-position-embeddings"):
        return seq_length
    positions = flags.needed_count("max-position-embeddings")
    if positions < seq_length:
        raise flags.error("max-position-embeddings", f"{positions} is less than --seq-length {seq_length}")
    return positions


def _vocabulary(flags: Flags, notes: list[str]) -> tuple[int, int]:
    """Vocabulary before and after padding to a multiple."""
    tokenizer = flags.text("tokenizer-type")
    size, given = flags.count("vocab-size"), flags.count("padded-vocab-size")
    if size is None and given is not None:
        return given, given
    assumed = ""
    if size is None:
        size = GPT2_VOCABULARY
        whose = (
            "the tokenizer is GPT-2's" if tokenizer == "GPT2BPETokenizer" else "the file names none, GPT-2's assumed"
        )
        assumed = f": {whose}"
    elif tokenizer in _NULL_TOKENIZERS:
        size += 1
        assumed = f": {tokenizer} adds one token"
    if given is not None:
        if given < size:
            raise flags.error("padded-vocab-size", f"{given} is less than the vocabulary of {size}")
        return size, given
    multiple = flags.count("make-vocab-size-divisible-by") or 128
    padded = -(-size // multiple) * multiple
    if assumed:
        notes.append(f"vocabulary {size} padded to {padded}{assumed}")
    return size, padded
