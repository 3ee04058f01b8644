"""``compare`` and ``plot``, the timeline in characters, and tables on a terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

import simgather
from simgather.cli.main import main
from simgather.report.plain import render
from simgather.report.terminal import print_report
from tests.scenario_files import FOLDER
from tests.strategies import one_per_bucket, run

ISSUE = str(FOLDER / "issue-950.yaml")
A_C_B = str(FOLDER / "a-c-b.yaml")


def test_compare_puts_the_verdict_beside_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", ISSUE]) == 0
    lines = capsys.readouterr().out.splitlines()
    verdicts = {line.split()[0]: line.split()[1] for line in lines if line.startswith(" ")}
    assert verdicts["megatron-core-0.8"] == "stale"
    assert verdicts["megatron-core-0.10"] == "error"
    assert verdicts["megatron-core-0.11"] == "safe"
    assert max(map(len, lines)) <= 80
    assert "megatron-core-0.11 is the fastest safe policy: forward 10.435 ms" in " ".join(lines)


def test_compare_never_recommends_what_is_not_safe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", A_C_B, "--policies", "megatron-core-0.8,synchronous"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "synchronous is the fastest safe policy" in text
    assert "faster, but wrong: megatron-core-0.8 (stale)" in text
    assert main(["compare", A_C_B, "--policies", "megatron-core-0.8"]) == 0
    assert "None of these policies is safe" in capsys.readouterr().out


def test_compare_writes_json_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "policies.svg"
    chosen = "prefetch,synchronous"
    assert main(["compare", A_C_B, "--policies", chosen, "--json", "-", "--plot", str(picture)]) == 0
    comparison = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in comparison["policies"]] == ["prefetch", "synchronous"]
    assert picture.read_text().startswith("<?xml")


@pytest.mark.parametrize("kind", ["timeline", "overlap", "versions", "forward", "policies"])
def test_plot_draws_every_kind(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "picture.png"
    assert main(["plot", kind, A_C_B, "-o", str(target)]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["timeline", A_C_B, "-o", "x.gif"], "--output: 'x.gif' must end in .png, .svg or .pdf"),
        (
            ["overlap", A_C_B, "-o", "x.svg", "--policies", "prefetch"],
            "--policies: the picture overlap shows one policy",
        ),
        (["timeline", A_C_B, "-o", "x.svg", "--iterations", "7"], "iterations 7:7: there are iterations 0 to 2"),
        (["timeline", A_C_B, "-o", "x.svg", "--ranks", "9"], "rank 9: there are ranks 0 to 3"),
    ],
)
def test_plot_refuses_on_one_line(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plot", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", [["--iterations", "two"], ["--ranks", "0,x"], ["--ranks", "0-99"]])
def test_malformed_selection_is_one_line(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["run", A_C_B, *option])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_ascii_timeline_marks_the_stale_read_under_its_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", A_C_B, "--ascii"]) == 0
    lines = capsys.readouterr().out.splitlines()
    lanes = {line.split()[2]: line for line in lines if line.startswith("rank 0 ")}
    marked = [column for column, mark in enumerate(lanes["reads"]) if mark == "!"]
    assert marked
    assert {lanes["compute"][column] for column in marked} == {"2"}
    assert max(map(len, lines)) <= 80


def test_ascii_timeline_draws_a_job_that_hangs() -> None:
    from simgather.report.ascii import ascii_timeline
    from simgather.report.plot.selection import Selection

    per_rank = {"per_rank": {1: ["A", "C", "B"]}}
    report = run(one_per_bucket(per_rank, gpus=2) | {"buckets": {"size": 1}})
    assert "rank 0 compute" in ascii_timeline(report, Selection())


def shown_on_terminal(width: int, color: str | None) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=color is not None, color_system=color, highlight=False)
    print_report(simgather.simulate(simgather.load(ISSUE)), console=console)
    return file.getvalue()


def test_terminal_says_the_same_words_as_plain_text_in_80_columns() -> None:
    shown = shown_on_terminal(200, None)
    assert max(map(len, shown.splitlines())) <= 80
    plain = render(simgather.simulate(simgather.load(ISSUE)))
    assert [word for word in plain.replace("#", " ").split() if word not in shown.split()] == []


def test_terminal_is_coloured_and_no_color_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[1;31m" in shown_on_terminal(80, "standard")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;31m" not in shown_on_terminal(80, "standard")
