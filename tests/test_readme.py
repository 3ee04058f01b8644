"""The README's commands run as printed, its output is the real one, and its Python and YAML work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import simgather

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


COMMANDS = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("python -m simgather")]


def test_first_two_commands_are_the_set_up() -> None:
    assert [block.strip() for block in blocks("bash")[:2]] == [
        (
            "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && "
            ".venv/bin/python -m simgather run scenarios/issue-950.yaml"
        ),
        ".venv/bin/python -m pytest",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs_as_printed(command: str, tmp_path: Path) -> None:
    words = shlex.split(command)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    done = subprocess.run([sys.executable, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == int("--check" in words), done.stderr
    assert done.stderr == ""
    for option in ("--plot", "--json", "--html", "-o"):
        if option in words:
            assert (tmp_path / words[words.index(option) + 1]).stat().st_size > 0
    if "--trace" in words:
        assert len(list((tmp_path / words[words.index("--trace") + 1] / "kineto").iterdir())) == 4


def test_printed_output_is_the_real_output(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from simgather.cli.main import main

    monkeypatch.chdir(ROOT)
    main(["run", "scenarios/issue-950.yaml"])
    (printed,) = blocks("text")
    assert printed == capsys.readouterr().out


def test_python_example_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("stale ['decoder.layers.0.self_attention.linear_qkv'")


def test_yaml_example_is_a_scenario() -> None:
    (example,) = blocks("yaml")
    report = simgather.simulate(simgather.load(YAML(typ="safe", pure=True).load(example)))
    assert report.verdict == "stale"


def test_every_linked_file_exists() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), ROOT / "plots/README.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), (page.name, target)
