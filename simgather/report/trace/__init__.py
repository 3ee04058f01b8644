"""Traces of a report: one of all ranks for Perfetto and chrome://tracing, and one per rank as PyTorch's profiler's.

Nothing in a trace is computed here: every time is the timeline's, every state and finding the verdict's.
"""

from __future__ import annotations

from pathlib import Path

from simgather.errors import InputError, LimitError
from simgather.report.report import Report
from simgather.report.trace.chrome import chrome_trace, make_chrome_trace
from simgather.report.trace.kineto import kineto_trace, make_kineto_trace
from simgather.report.trace.writing import write_all

__all__ = ["MOST_OPERATIONS", "check_trace_target", "chrome_trace", "kineto_trace", "write_traces"]

MOST_OPERATIONS = 400_000
"""Host operations of all ranks together: 600 bytes each in the one trace, 750 in the others: half a gigabyte."""

ONE_FILE = (".json", ".json.gz")
CHROME_NAME = "perfetto.json"
KINETO_FOLDER = "kineto"


def check_trace_target(out: Path) -> None:
    """Say before the simulation what `write_traces` could not write to.

    Raises:
        InputError: the folder around `out` does not exist, a file is where a folder is needed or the other way round.

    """
    if not out.parent.is_dir():
        raise InputError(f"the folder {str(out.parent)!r} does not exist", str(out))
    if _is_one_file(out):
        if out.is_dir():
            raise InputError("is a folder; name a file in it, or a folder whose name does not end in .json", str(out))
        return
    if out.suffix == ".gz":
        raise InputError("a trace file ends in .json or .json.gz; any other name is a folder's", str(out))
    for folder in (out, out / KINETO_FOLDER):
        if folder.exists() and not folder.is_dir():
            raise InputError("is no folder; a trace file ends in .json or .json.gz", str(folder))


def write_traces(report: Report, out: Path) -> list[Path]:
    """Write the traces and return what was written, whole or not at all.

    If `out` ends in ``.json`` or ``.json.gz`` it is the one trace of all ranks. Otherwise it is a folder, made if need
    be, that gets ``perfetto.json`` (the same trace) and ``kineto/rank-N.json`` for every rank.

    Raises:
        InputError: as `check_trace_target`, or a file cannot be written, or the folder holds traces of more ranks
            than these, which would be loaded together with them.
        LimitError: the report has more operations than a viewer can show.

    """
    check_trace_target(out)
    _check_size(report)
    if _is_one_file(out):
        traces = [(out, make_chrome_trace(report))]
    else:
        folder = out / KINETO_FOLDER
        names = [f"rank-{rank}.json" for rank in range(report.workload.dp)]
        _check_strangers(folder, names)
        traces = [(out / CHROME_NAME, make_chrome_trace(report))]
        traces += [(folder / name, make_kineto_trace(report, rank)) for rank, name in enumerate(names)]
    write_all(traces)
    return [path for path, _ in traces]


def _is_one_file(out: Path) -> bool:
    return out.name.endswith(ONE_FILE)


def _check_size(report: Report) -> None:
    ranks = report.timeline.program.ranks
    operations = sum(len(rank.operations) for rank in ranks)
    if operations > MOST_OPERATIONS:
        raise LimitError(
            f"a trace of {operations:,} operations ({len(ranks)} ranks) is too large for any viewer; at most "
            f"{MOST_OPERATIONS:,}: lower iterations, training.microbatches or cluster.gpus"
        )


def _check_strangers(folder: Path, names: list[str]) -> None:
    """Whoever loads the folder loads every trace in it."""
    strangers = [path.name for path in folder.glob("*.json*") if path.name not in names]
    if strangers:
        raise InputError(f"holds another run's {min(strangers)}; remove it or name another folder", str(folder))
