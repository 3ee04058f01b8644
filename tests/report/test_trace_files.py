"""Trace files on disk: which, where, whole or not at all, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from simgather.errors import InputError, LimitError
from simgather.report import trace
from simgather.report.report import Report
from simgather.report.trace import check_trace_target, chrome_trace, kineto_trace, write_traces
from tests.report.trace_laws import skewed


@pytest.fixture(scope="module")
def report() -> Report:
    return skewed()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_json_name_is_the_one_trace_of_all_ranks(report: Report, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    assert write_traces(report, out) == [out]
    assert json.loads(out.read_text()) == chrome_trace(report)
    assert list(tmp_path.iterdir()) == [out]


def test_a_gz_name_is_compressed_and_the_same_on_every_run(report: Report, tmp_path: Path) -> None:
    one, other = tmp_path / "one.json.gz", tmp_path / "other.json.gz"
    write_traces(report, one)
    write_traces(report, other)
    assert one.read_bytes() == other.read_bytes()
    assert json.loads(gzip.decompress(one.read_bytes())) == chrome_trace(report)


def test_any_other_name_is_a_folder_with_a_file_per_rank(report: Report, tmp_path: Path) -> None:
    out = tmp_path / "traces"
    written = write_traces(report, out)
    assert [str(path.relative_to(out)) for path in written] == [
        "perfetto.json",
        "kineto/rank-0.json",
        "kineto/rank-1.json",
        "kineto/rank-2.json",
    ]
    assert sorted(contents(out)) == sorted(str(path.relative_to(out)) for path in written)
    for rank, path in enumerate(written[1:]):
        assert json.loads(path.read_text()) == kineto_trace(report, rank)
    before = contents(out)
    write_traces(report, out)
    assert contents(out) == before


def test_one_event_a_line(report: Report, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    write_traces(report, out)
    _, opening, *events, closing = out.read_text().splitlines()
    assert (opening, closing) == ('"traceEvents": [', "]}")
    assert [json.loads(line.removesuffix(",")) for line in events] == chrome_trace(report)["traceEvents"]


def test_failure_on_the_way_leaves_nothing(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("simgather.report.trace.writing._write", fail)
    for name in ("trace.json", "traces"):
        with pytest.raises(InputError, match="No space left on device"):
            write_traces(report, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_failure_on_the_way_keeps_what_was_there(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_traces(report, tmp_path / "traces")
    before = contents(tmp_path)

    def fail(_: object, rank: int) -> None:
        raise RuntimeError(rank)

    monkeypatch.setattr(trace, "make_kineto_trace", fail)
    with pytest.raises(RuntimeError):
        write_traces(report, tmp_path / "traces")
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent/trace.json", "the folder .*absent' does not exist"),
        ("folder.json", "is a folder; name a file in it"),
        ("file", "is no folder; a trace file ends in .json or .json.gz"),
        ("trace.gz", "a trace file ends in .json or .json.gz; any other name is a folder's"),
    ],
)
def test_targets_that_cannot_be_written_are_refused_beforehand(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=message):
        check_trace_target(tmp_path / name)


def test_traces_of_other_ranks_are_not_mixed_with_these(report: Report, tmp_path: Path) -> None:
    kineto = tmp_path / "kineto"
    kineto.mkdir()
    (kineto / "rank-3.json").touch()
    with pytest.raises(InputError, match=r"kineto: holds another run's rank-3\.json; remove it"):
        write_traces(report, tmp_path)
    assert contents(tmp_path) == {"kineto/rank-3.json": b""}


def test_more_than_a_viewer_can_show_is_refused(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "MOST_OPERATIONS", 100)
    with pytest.raises(LimitError, match=r"a trace of \d+ operations \(3 ranks\) .* at most 100: lower iterations"):
        write_traces(report, tmp_path / "trace.json")
    assert list(tmp_path.iterdir()) == []
