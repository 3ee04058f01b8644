"""How an argument file becomes flags with values and lines."""

from __future__ import annotations

import pytest

from simgather.errors import InputError
from simgather.megatron.arguments import Argument, read_arguments


def read(text: str) -> tuple[Argument, ...]:
    return read_arguments(text, "job.args")


def flags(text: str) -> list[tuple[str, ...]]:
    return [(argument.flag, *argument.values) for argument in read(text)]


def refused(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.source == "job.args"
    assert caught.value.key is None
    assert "\n" not in str(caught.value)
    return caught.value


def test_quoted_assignment_over_several_lines_keeps_line_numbers() -> None:
    text = '#!/bin/bash\n\nGPT_ARGS="\n    --num-layers 1 \\\n    --lr 5.0e-7 --bf16 \\\n    --data-path a b\n"\n'
    assert read(text) == (
        Argument("--num-layers", ("1",), 4),
        Argument("--lr", ("5.0e-7",), 5),
        Argument("--bf16", (), 5),
        Argument("--data-path", ("a", "b"), 6),
    )


@pytest.mark.parametrize(
    "text",
    [
        'GPT_ARGS="--num-layers 2 --bf16"',
        "GPT_ARGS='--num-layers 2 --bf16'",
        "GPT_ARGS='--num-layers 2 \\\n --bf16'",
        'GPT_ARGS="--num-layers 2\n--bf16"',
        'export GPT_ARGS="--num-layers 2 --bf16"',
        'GPT_ARGS="--num-layers=2 --bf16"',
        'GPT_ARGS="--num-layers 2"; GPT_ARGS+=" --bf16"',
        'GPT_ARGS="--num-layers 2"\nGPT_ARGS="$GPT_ARGS --bf16"',
        'GPT_ARGS="--num-layers 2"\nDATA_ARGS="--bf16"',
        "ARGS=(\n  --num-layers 2  # two\n  --bf16\n)",
        "ARGS=(--num-layers 2)\nARGS+=(--bf16)",
        'A_ARGS=(--num-layers 2)\nB_ARGS=("${A_ARGS[@]}" --bf16)',
        'A_ARGS=(--num-layers 2)\nB_ARGS="${A_ARGS[*]} --bf16"',
        'LAYERS=2\nGPT_ARGS="--num-layers $LAYERS --bf16"',
        'LAYERS="2"\nGPT_ARGS="--num-layers ${LAYERS} --bf16"',
        'TAIL="2 --bf16"\nARGS=(--num-layers $TAIL)',
        'MODEL_ARGS="--num-layers 2"\nALL_ARGS="$MODEL_ARGS --bf16"',
        'DTYPE="--bf16"\nGPT_ARGS="--num-layers 2 ${DTYPE}"',
        "--num-layers 2\n--bf16\n",
        "# a comment\n--num-layers 2 # two\n\n--bf16",
        "--num-layers 2 \\\n--bf16",
        "LAYERS=2\n--num-layers $LAYERS --bf16",
        '--num-layers "2"\n--bf16',
        '\ufeffGPT_ARGS="\r\n  --num-layers 2 \\\r\n  --bf16\r\n"\r\n',
    ],
)
def test_every_way_to_write_the_same_arguments(text: str) -> None:
    assert flags(text) == [("--num-layers", "2"), ("--bf16",)]


def test_variables_that_arguments_do_not_use_may_be_anything() -> None:
    text = (
        "export CUDA_DEVICE_MAX_CONNECTIONS=1\nexport PATH\nGPUS_PER_NODE=8 NNODES=1\nNAME='x y'\n"
        'HOST=`hostname`\nDIR=$(cd "$(dirname "$0")" && pwd)\nWORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))\n'
        'CHECKPOINT=${1:-none}\nGPT_ARGS="--bf16"\n'
    )
    assert read(text) == (Argument("--bf16", (), 9),)


def test_arguments_that_come_through_a_variable_keep_the_line_they_stand_on() -> None:
    assert read('SIZE=(\n--hidden-size\n8)\nGPT_ARGS=(\n"${SIZE[@]}"\n--bf16)') == (
        Argument("--hidden-size", ("8",), 2),
        Argument("--bf16", (), 6),
    )


def test_array_elements_may_hold_blanks_and_be_empty() -> None:
    assert flags("A_ARGS=(--name 'a b' --empty \"\" --split 9\\ 1)") == [
        ("--name", "a b"),
        ("--empty", ""),
        ("--split", "9 1"),
    ]


def test_an_empty_array_or_variable_adds_no_argument() -> None:
    assert flags('NONE=()\nEMPTY=\nA_ARGS=(--a "${NONE[@]}" $EMPTY --b)') == [("--a",), ("--b",)]


def test_quotes_inside_quotes_are_plain_characters_as_in_bash() -> None:
    assert flags('GPT_ARGS="--name \'a b\' --x \\"c\\" --y \\$1"') == [
        ("--name", "'a", "b'"),
        ("--x", '"c"'),
        ("--y", "$1"),
    ]


def test_negative_numbers_are_values() -> None:
    assert flags("--a -1 -.5\n--b -") == [("--a", "-1", "-.5"), ("--b", "-")]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "has no arguments"),
        ("GPUS=8\n", None, "has no arguments"),
        ('A=1\nGPT_ARGS="--num-layers 1', 2, "is never closed"),
        ("GPT_ARGS='--num-layers 1", 1, "is never closed"),
        ("GPT_ARGS=(--num-layers 1", 1, "is never closed"),
        ("X=$(ls\nGPT_ARGS=--a", 1, "is never closed"),
        ("X=`ls", 1, "is never closed"),
        ("X=${Y", 1, "is never closed"),
        ('GPT_ARGS="\n--num-layers $(nproc)"', 2, "command substitution $(...) is not executed"),
        ('N=$(nproc)\nGPT_ARGS="\n--num-layers $N"', 1, "command substitution $(...) is not executed"),
        ('GPT_ARGS="\n--num-layers `nproc`"', 2, "command substitution `...` is not executed"),
        ('GPT_ARGS="\n--num-layers $((1+1))"', 2, "arithmetic $((...)) is not computed"),
        ('GPT_ARGS="\n--num-layers ${N:-2}"', 2, "of expansions only"),
        ('GPT_ARGS="--bf16 \\\n --num-layers $N"', 2, "$N is not set in this file"),
        ('GPT_ARGS="--save $1"', 1, "$1 is not set in this file"),
        ('GPT_ARGS="--bf16 \\\n  # --swiglu \\\n"', 2, "a comment inside quotes"),
        ('GPT_ARGS="--bf16 # half\n"', 1, "a comment inside quotes"),
        ('GPT_ARGS="--bf16 \\ \n --swiglu"', 1, "only as its very last character"),
        ("--bf16 \\ \n--swiglu", 1, "only as its very last character"),
        ('GPT_ARGS="--bf16"\ntorchrun pretrain_gpt.py $GPT_ARGS', 2, "commands are not read"),
        ("CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun", 1, "follows an assignment"),
        ("GPT_ARGS=--num-layers 2", 1, "put the whole value in quotes"),
        ("--num-layers\n2", 2, "is neither a --flag nor an assignment"),
        ("--a | tee", 1, "shell operator | is not understood"),
        ("A_ARGS=(--a; --b)", 1, "shell operator ; is not understood"),
        ('GPT_ARGS="2 --num-layers"', 1, "expected a --flag, got '2'"),
        ('A_ARGS=("--a\nb")', 1, "expected a --flag, got '--a\\nb'"),
        ('GPT_ARGS="--a -- b"', 1, "expected a --flag, got '--'"),
        ("--a\n--b \x00", 2, "is not a text file"),
        ("--a\x7fELF", 1, "is not a text file"),
        ("--a " * 300_000, None, "larger than 1 MiB"),
        ("A=--aaaa\n" + 'A="$A$A"\n' * 60, None, "expand to more than"),
    ],
)
def test_what_cannot_be_read_is_one_error_with_its_line(text: str, line: int | None, says: str) -> None:
    error = refused(text)
    assert says in error.message
    if "expand" not in says:
        assert error.line == line
