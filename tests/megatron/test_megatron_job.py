"""What an argument file means: the job, its defaults, and every way to get it wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simgather.errors import InputError, LimitError
from simgather.megatron.config import Spec
from simgather.megatron.flags import CHOICES, COUNTS, FAMILIES, MUST_BE_ONE, SWITCHES, UNSUPPORTED
from simgather.megatron.ignored_flags import IGNORED
from simgather.megatron.job import MegatronJob, read_job

ISSUE_950 = Path(__file__).parents[2] / "scenarios" / "issue-950.args"
MINIMAL = """\
--num-layers 2
--hidden-size 64
--num-attention-heads 4
--seq-length 32
--max-position-embeddings 32
--micro-batch-size 2
"""


def job(extra: str = "", *, without: str = "", spec: Spec = "local", gpus: int = 4) -> MegatronJob:
    """The minimal job with lines added, and without the line that begins with a flag."""
    kept = [line for line in MINIMAL.splitlines() if not without or not line.startswith(without)]
    return read_job("\n".join([*kept, extra]), "job.args", spec=spec, gpus=gpus)


def refused(extra: str, *, without: str = "", spec: Spec = "local") -> InputError:
    with pytest.raises(InputError) as caught:
        job(extra, without=without, spec=spec)
    assert caught.value.source == "job.args"
    assert "\n" not in str(caught.value)
    return caught.value


def test_issue_950() -> None:
    read = read_job(ISSUE_950.read_text(), "issue-950.args", spec="local", gpus=4)
    config = read.config
    assert (config.num_layers, config.hidden_size, config.ffn_hidden_size) == (1, 8192, 32768)
    assert (config.num_attention_heads, config.kv_channels, config.num_query_groups) == (64, 128, None)
    assert (config.seq_length, config.micro_batch_size, config.padded_vocab_size) == (2048, 1, 50304)
    assert (config.position_embedding, config.normalization) == ("rope", "LayerNorm")
    assert (config.linear_bias, config.qkv_bias, config.tied, config.element_bytes) == (False, False, True, 2)
    assert (read.bucket_size, read.one_bucket, read.microbatches, read.recompute) == (None, False, 1, "none")
    assert read.overlap_param_gather
    assert read.distributed_optimizer
    assert read.notes == ("vocabulary 50257 padded to 50304: the file names none, GPT-2's assumed",)
    assert read.unknown == ()


def test_defaults_are_megatrons() -> None:
    read = job()
    config = read.config
    assert (config.ffn_hidden_size, config.kv_channels, config.vocab_size) == (256, 16, 50257)
    assert (config.position_embedding, config.max_position_embeddings) == ("learned_absolute", 32)
    assert (config.linear_bias, config.qkv_bias, config.qk_layernorm, config.swiglu) == (True, True, False, False)
    assert (read.dtype, read.microbatches, read.one_bucket, read.recompute) == ("fp32", 1, True, "none")
    assert not read.overlap_param_gather
    assert not read.distributed_optimizer
    assert not read.pad_for_high_nccl_busbw
    assert len(read.notes) == 3


@pytest.mark.parametrize(("hidden", "ffn"), [(4096, 10880), (5120, 13632), (8192, 21824), (64, 128)])
def test_swiglu_takes_two_thirds_of_the_default_ffn(hidden: int, ffn: int) -> None:
    config = job(f"--swiglu\n--hidden-size {hidden}").config
    assert config.ffn_hidden_size == ffn == int((4 * hidden * 2 / 3) / 64) * 64


def test_a_repeated_flag_counts_as_last_given() -> None:
    assert job("--num-layers 3\n--num-layers=5").config.num_layers == 5


@pytest.mark.parametrize(
    ("extra", "sizes", "note"),
    [
        ("", (50257, 50304), "the file names none"),
        ("--tokenizer-type GPT2BPETokenizer", (50257, 50304), "the tokenizer is GPT-2's"),
        ("--tokenizer-type Llama2Tokenizer", (50257, 50304), "the file names none"),
        ("--vocab-size 32000", (32000, 32000), None),
        ("--vocab-size 32001", (32001, 32128), None),
        ("--vocab-size 32001 --make-vocab-size-divisible-by 1", (32001, 32001), None),
        ("--vocab-size 32000 --padded-vocab-size 33000", (32000, 33000), None),
        ("--padded-vocab-size 33000", (33000, 33000), None),
        ("--tokenizer-type NullTokenizer --vocab-size 32000", (32001, 32128), "NullTokenizer adds one token"),
        ("--tokenizer-type NullTokenizer --vocab-size 31999", (32000, 32000), "NullTokenizer adds one token"),
    ],
)
def test_vocabulary(extra: str, sizes: tuple[int, int], note: str | None) -> None:
    read = job("--bf16 --overlap-grad-reduce " + extra)
    assert (read.config.vocab_size, read.config.padded_vocab_size) == sizes
    assert len(read.notes) == (note is not None)
    assert note is None or note in read.notes[0]


def test_query_groups_need_their_switch() -> None:
    assert job("--group-query-attention --num-query-groups 2").config.num_query_groups == 2
    assert job("--group-query-attention").config.num_query_groups == 1
    ignored = job("--num-query-groups 2 --vocab-size 128")
    assert ignored.config.num_query_groups is None
    assert "no effect" in ignored.notes[0]


@pytest.mark.parametrize(
    ("extra", "kind"),
    [
        ("--position-embedding-type rope", "rope"),
        ("--position-embedding-type none", "none"),
        ("--use-rotary-position-embeddings", "rope"),
        ("--use-rotary-position-embeddings --no-position-embedding", "rope"),
    ],
)
def test_position_embedding(extra: str, kind: str) -> None:
    assert job(extra, without="--max-position").config.position_embedding == kind


@pytest.mark.parametrize(
    ("extra", "recompute"),
    [
        ("--recompute-activations", "none"),
        ("--recompute-granularity selective --recompute-modules core_attn", "none"),
        ("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", "full"),
        ("--recompute-granularity full --recompute-method uniform --recompute-num-layers 2", "full"),
        ("--recompute-granularity full --recompute-method block --recompute-num-layers 2", "full"),
    ],
)
def test_recompute(extra: str, recompute: str) -> None:
    assert job(extra).recompute == recompute


def test_training_flags() -> None:
    read = job(
        "--global-batch-size 24 --ddp-bucket-size 1_000_000 --ddp-pad-buckets-for-high-nccl-busbw "
        "--overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer --fp16"
    )
    assert (read.microbatches, read.bucket_size, read.dtype) == (3, 1_000_000, "fp16")
    assert read.pad_for_high_nccl_busbw
    assert read.overlap_param_gather
    assert not read.one_bucket


@pytest.mark.parametrize("spec", ["local", "transformer_engine"])
def test_transformer_impl_may_agree_with_the_scenario(spec: Spec) -> None:
    assert job(f"--transformer-impl {spec}", spec=spec) == job(spec=spec)


def test_spec_local_may_agree_with_the_scenario() -> None:
    assert job("--spec local") == job()


def test_ignored_flags_change_nothing() -> None:
    values = {"none": "", "one": "7", "any": "7 8"}
    lines = [f"--{name} {values[takes]}" for name, takes in IGNORED.items()]
    assert job("\n".join(lines)) == job()


def test_unsupported_flags_with_a_harmless_value_change_nothing() -> None:
    lines = [f"--{name} {value}" for name, flag in UNSUPPORTED.items() for value in flag.unless]
    lines += [f"--{name} 1" for name in MUST_BE_ONE]
    assert job("\n".join(lines)) == job()


def test_unknown_flags_are_named_once_in_order() -> None:
    assert job("--my-plugin a b\n--zeta=1\n--my-plugin c\n-q").unknown == ("--my-plugin", "--zeta", "-q")


def test_tables_do_not_contradict_each_other() -> None:
    tables = [{*SWITCHES}, {*COUNTS}, {*CHOICES}, {*MUST_BE_ONE}, {*IGNORED}, {*UNSUPPORTED}]
    assert sum(len(table) for table in tables) == len(set().union(*tables))
    assert not [name for name in IGNORED if name.startswith(tuple(FAMILIES))]


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_flags_are_refused(name: str) -> None:
    error = refused(f"--{name} 1")
    assert "is not supported yet" in error.message
    assert (error.line, error.key) == (7, f"--{name}")


@pytest.mark.parametrize("name", ["moe-router-topk", "mamba-num-heads", "encoder-num-layers", "freeze-LM", "swin-x"])
def test_families_of_unsupported_flags_are_refused(name: str) -> None:
    assert "is not supported yet" in refused(f"--{name} 1").message


@pytest.mark.parametrize("name", MUST_BE_ONE)
def test_parallel_sizes_other_than_one_are_refused(name: str) -> None:
    error = refused(f"--{name} 2")
    assert "is not supported yet" in error.message
    assert (error.line, error.key) == (7, f"--{name}")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("--num-layer 2", "--num-layers"),
        ("--num_layers 2", "--num-layers"),
        ("--overlap-param-gathr", "--overlap-param-gather"),
        ("--tensor-parallel-size 2", "--tensor-model-parallel-size"),
        ("--num-expert 8", "--num-experts"),
        ("--swiglue", "--swiglu"),
    ],
)
def test_a_misspelt_flag_names_the_right_one(written: str, meant: str) -> None:
    error = refused(written)
    assert error.message.endswith(f"did you mean {meant}?")
    assert (error.line, error.key) == (7, written.split(maxsplit=1)[0])


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ("--num-layers abc", "--num-layers: must be a whole number, got 'abc'"),
        ("--num-layers 1.5", "--num-layers: must be a whole number"),
        ("--num-layers abc --num-layers 2", "--num-layers: must be a whole number"),
        ("--num-layers", "--num-layers: takes one value, got none"),
        ("--num-layers 1 2", "--num-layers: takes one value, got '1 2'"),
        ("--num-layers -1", "--num-layers: must be at least 1, got '-1'"),
        ("--num-layers 0", "--num-layers: must be at least 1"),
        ("--bf16 true", "--bf16: takes no value, got 'true'"),
        ("--bf16=true", "--bf16: takes no value"),
        ("--lr", "--lr: takes one value, got none"),
        ("--use-flash-attn 1", "--use-flash-attn: takes no value"),
        ("--normalization BatchNorm", "--normalization: must be one of LayerNorm, RMSNorm"),
        ("--position-embedding-type mrope", "--position-embedding-type: must be one of"),
        ("--tensor-model-parallel-size two", "--tensor-model-parallel-size: must be a whole number"),
        ("--bf16\n--fp16", "--fp16: cannot be given together with --bf16"),
        ("--num-attention-heads 7", "--num-attention-heads: 7 does not divide --hidden-size 64"),
        ("--group-query-attention --num-query-groups 3", "--num-query-groups: 3 does not divide"),
        ("--global-batch-size 12", "--global-batch-size: 12 is not a multiple of --micro-batch-size 2 times 4 GPUs"),
        ("--max-position-embeddings 16", "--max-position-embeddings: 16 is less than --seq-length 32"),
        ("--vocab-size 100 --padded-vocab-size 64", "--padded-vocab-size: 64 is less than the vocabulary of 100"),
        ("--no-position-embedding", "--no-position-embedding: is deprecated in Megatron"),
        ("--transformer-impl transformer_engine", "--transformer-impl: transformer_engine contradicts the scenario"),
        ("--spec a.b c", "--spec: a custom layer specification is not supported yet"),
        ("--recompute-granularity half", "--recompute-granularity: must be one of full, selective"),
        ("--recompute-granularity full", "--recompute-granularity: full needs --recompute-method"),
        (
            "--recompute-granularity full --recompute-method block",
            "--recompute-granularity: full needs --recompute-num-layers",
        ),
        (
            "--recompute-granularity full --recompute-method block --recompute-num-layers 1",
            "--recompute-num-layers: recomputing only 1 of 2 layers is not supported yet",
        ),
        (
            "--recompute-granularity full --recompute-method uniform --recompute-num-layers 3",
            "--recompute-num-layers: 3 is more than --num-layers 2",
        ),
        ("--recompute-activations --recompute-method block", "--recompute-method: goes with"),
        ("--recompute-activations --recompute-modules core_attn mlp", "--recompute-modules: recomputing 'mlp'"),
    ],
)
def test_wrong_values_and_contradictions_name_line_and_flag(extra: str, says: str) -> None:
    line = 6 + len(extra.splitlines())
    assert str(refused(extra)).startswith(f"job.args:{line}: {says}")


def test_spec_local_may_contradict_the_scenario() -> None:
    assert "contradicts the scenario" in refused("--spec local", spec="transformer_engine").message


@pytest.mark.parametrize("line", MINIMAL.splitlines())
def test_what_megatron_needs_must_be_there(line: str) -> None:
    flag = line.split(maxsplit=1)[0]
    error = refused("", without=flag)
    assert error.key == flag
    assert "which Megatron needs" in error.message


@pytest.mark.parametrize(
    "extra", ["--num-layers 100000", "--hidden-size 99999999999", " ".join(f"--x{i}" for i in range(2000))]
)
def test_absurd_sizes_are_refused(extra: str) -> None:
    with pytest.raises(LimitError):
        job(extra)


def test_transformer_impl_may_contradict_the_scenario() -> None:
    assert refused("--transformer-impl local", spec="transformer_engine").key == "--transformer-impl"


WORDS = st.sampled_from(
    [
        *MINIMAL.split(),
        *(f"--{name}" for name in [*SWITCHES, *COUNTS, *CHOICES, *UNSUPPORTED]),
        *(
            "GPT_ARGS=",
            "A=",
            "export ",
            "+=",
            "$A",
            "${GPT_ARGS[@]}",
            "$(",
            "`",
            "(",
            ")",
            '"',
            "'",
            "\\",
            "\n",
            "#",
            ";",
        ),
        *(" ", "=", "-1", "1e9", "rope", "full", "uniform", "1", "\r\n", "\x00", "é"),
    ]
)


def read_or_refused(text: str) -> InputError | None:
    try:
        read_job(text, "job.args", spec="local", gpus=4)
    except InputError as error:
        return error
    return None


@settings(max_examples=300, deadline=None)
@given(st.text() | st.lists(WORDS).map("".join) | st.lists(WORDS).map(" ".join), st.booleans())
def test_any_text_is_read_or_refused_with_an_input_error(text: str, append: bool) -> None:
    error = read_or_refused(MINIMAL + text if append else text)
    assert error is None or error.source == "job.args"
    assert error is None or len(str(error).splitlines()) == 1
