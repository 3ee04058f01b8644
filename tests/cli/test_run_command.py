"""``python -m simgather run``: what it prints, writes and returns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simgather.cli.main import main
from tests.scenario_files import FILES, FOLDER

ISSUE = str(FOLDER / "issue-950.yaml")
A_C_B = str(FOLDER / "a-c-b.yaml")
FIXED = str(FOLDER / "issue-950-fixed.yaml")


def test_report_answers_the_issue(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", ISSUE]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for phrase in (
        "verdict: STALE",
        "decoder.layers.0.self_attention.linear_qkv reads bucket 2",
        "handle is None",
        "25.0 % new (its own shard), 75.0 % one step old on every rank",
        "on every iteration after the first optimizer step (1-2)",
        "Its backward pass is ordered and reads this step's weights",
        "megatron-core-0.11 instead is safe: forward 10.435 ms",
    ):
        assert phrase in text


@pytest.mark.parametrize("scenario", FILES, ids=lambda path: path.stem)
def test_text_fits_80_columns(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(scenario)]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_columns_of_the_forward_table_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", ISSUE])
    lines = capsys.readouterr().out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("# forward pass"))
    for line in lines[start + 3 : start + 6]:
        forward, compute, exposed, host = (round(1000 * float(cell)) for cell in line.split()[1:5])
        assert forward == compute + exposed + host


def test_skewed_ranks_are_said_to_wait_in_rendezvous(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", A_C_B, "--set", "cluster.compute_skew=[1, 1, 1.1, 1]"]) == 0
    assert "ms in rendezvous, rank 2 the least" in capsys.readouterr().out


def test_check_exits_with_1_when_something_is_found_and_0_when_not() -> None:
    assert main(["run", ISSUE, "--check"]) == 1
    assert main(["run", FIXED, "--check"]) == 0


def test_json_to_standard_output_replaces_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", ISSUE, "--json", "-"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == "simgather.report/1"
    assert report["summary"]["verdict"] == "stale"


def test_json_file_is_written_beside_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.json"
    assert main(["run", ISSUE, "--json", str(target)]) == 0
    assert "verdict" in capsys.readouterr().out
    assert json.loads(target.read_text())["scenario"]["gpus"] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_set_overrides_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", A_C_B, "--set", "cluster.gpus=8", "--set", "policy=synchronous", "--json", "-"]) == 0
    scenario = json.loads(capsys.readouterr().out)["scenario"]
    assert (scenario["gpus"], scenario["policy"]) == (8, "synchronous")


def test_batch_that_does_not_divide_over_the_gpus_is_said_as_megatron_would(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", ISSUE, "--set", "cluster.gpus=8"]) == 2
    assert "issue-950.args:15: --global-batch-size: 4 is not a multiple of" in capsys.readouterr().err
    assert main(["run", ISSUE, "--set", "cluster.gpus=8", "--set", "training.microbatches=1"]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("policy: megatron-core-0.8\nclustr: {gpus: 4}\n", ":2: clustr: unknown key; did you mean cluster?"),
        ("policy: [\n", ":2: "),
        ("", ": is empty"),
        (None, ": there is no such file"),
    ],
)
def test_bad_scenario_is_one_line_on_standard_error_and_exit_code_2(
    text: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, target = tmp_path / "bad.yaml", tmp_path / "report.json"
    if text is not None:
        scenario.write_text(text)
    assert main(["run", str(scenario), "--json", str(target)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"simgather: {scenario}{message}")
    assert captured.err.count("\n") == 1
    assert not target.exists()


def test_contradiction_between_keys_names_file_line_and_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "times.yaml"
    scenario.write_text(
        "policy: synchronous\n"
        "cluster:\n"
        "  gpus: 4\n"
        "  gather: {times: [1 ms, 1 ms]}\n"
        "model: {modules: [{name: A, params: {w: 1M}, forward: 1 ms}]}\n"
    )
    assert main(["run", str(scenario)]) == 2
    assert capsys.readouterr().err == (
        f"simgather: {scenario}:4: cluster.gather.times: 2 times for 1 buckets; give one per bucket, in gather order\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "no/such/folder/report.json"], "--json: the folder 'no/such/folder' does not exist"),
        (["--plot", "timeline.gif"], "--plot: 'timeline.gif' must end in .png, .svg or .pdf"),
        (["--set", "cluster.gpuz=8"], "--set cluster.gpuz=8: cluster.gpuz: unknown key; did you mean gpus?"),
    ],
)
def test_unusable_option_is_said_before_any_work(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", ISSUE, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"simgather: {message}\n"
    assert captured.out == ""


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs a folder in which nothing can be made")
def test_file_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", A_C_B, "--json", "/proc/report.json"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("simgather: ")
    assert error.count("\n") == 1


def test_unknown_option_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["run", ISSUE, "--chekc"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def modules_after(*arguments: str) -> set[str]:
    """The modules imported by a whole run of the command."""
    program = (
        "import sys, contextlib, io\n"
        "from simgather.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    main({list(arguments)!r})\n"
        "print('\\n'.join(sys.modules))\n"
    )
    return set(
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    )


def test_help_imports_no_heavy_package() -> None:
    assert not {"numpy", "matplotlib", "simpy", "pydantic", "ruamel.yaml", "rich"} & modules_after("--help")


def test_run_without_pictures_imports_neither_matplotlib_nor_numpy() -> None:
    assert not {"numpy", "matplotlib"} & modules_after("run", ISSUE)


def test_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m simgather run {ISSUE} --json - | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_schema_command_prints_a_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
