"""One rank's trace as PyTorch's profiler (Kineto) writes it, for Holistic Trace Analysis and its like.

What those readers rely on, and what is kept here:

- GPU work stands on the device's process, one thread per stream, numbered above 0.
- Every kernel has the correlation of the `cudaLaunchKernel` that launched it, on the host thread.
- A collective is a kernel by its NCCL name; a module's kernel must not look like one, nor like a copy or a sync.
- Launches lie inside `ProfilerStep#N`. Readers drop the last step as incomplete, so a closing one without work follows.

A real NCCL kernel begins when its rank arrives and spins until the last one does. Here it is the transfer alone, which
is what `overlap_efficiency` counts, unless the caller asks for `spin`; the spin is in its arguments either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simgather.engine.timeline import Interval
from simgather.program.operations import Dispatch, HostSync, Mark, Operation, Wait
from simgather.report.report import Report
from simgather.report.trace.events import Event, Trace, Track, arriving_ns, arrow, interval, leaving_ns, metadata
from simgather.report.trace.steps import Step, host_steps, iterations, kernel_name
from simgather.scenario.schema import ExplicitModel

COMPUTE_STREAM, NCCL_STREAM = 7, 20
"""Stream numbers, which are also thread numbers; 7 is what CUPTI calls the default stream."""

HOST_PROCESS = 1_000_000
"""Above every device number, so that no host process is taken for a device."""

FIRST_CALL = 1_000_000
"""Number of a rank's first call. Large, as in a real trace: Holistic Trace Analysis makes a column just wide enough for
these numbers, and then puts positions in the file into it."""

LAUNCHED = "ac2g"
"""What Kineto calls the arrows from a launch to its kernel."""

CLOSING_NS = 1000
"""Length of the closing step, and its distance from the last work."""

# Element type -> (as PyTorch spells it, as NCCL spells it in kernel names).
DTYPES = {
    "fp32": ("Float", "f32"),
    "bf16": ("BFloat16", "bf16"),
    "fp16": ("Half", "f16"),
    "fp8": ("Float8_e4m3fn", "f8e4m3"),
}
BY_BYTES = {4: "fp32", 2: "bf16", 1: "fp8"}

NCCL_SIGNATURE = "(ncclDevComm*, unsigned long, ncclWork*)"
NOT_COMPUTE = ("Sync", "Memcpy")
"""Readers take any kernel with these in its name for something other than computation."""


def kineto_trace(report: Report, rank: int, *, spin: bool = False) -> dict[str, Any]:
    """The trace of `rank` as one value, ready for JSON; with `spin` a collective begins when its rank arrives."""
    return make_kineto_trace(report, rank, spin=spin).to_dict()


def make_kineto_trace(report: Report, rank: int, *, spin: bool = False) -> Trace:
    """The trace of `rank`, its events made as they are read."""
    ranks = report.workload.dp
    return Trace(
        header={
            "schemaVersion": 1,
            "deviceProperties": [{"id": rank, "name": "simulated GPU"}],
            "distributedInfo": {
                "backend": "nccl",
                "rank": rank,
                "world_size": ranks,
                "pg_count": 1,
                "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl"}],
                "nccl_version": "simulated",
            },
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": 0,
            "traceName": f"rank-{rank}.json",
        },
        events=_Rank(report, rank, spin=spin).events(),
    )


class _Rank:
    """Numbers calls as it goes: correlation and external id are the same, `FIRST_CALL` plus the place in host order."""

    def __init__(self, report: Report, rank: int, *, spin: bool) -> None:
        self.report = report
        self.rank = rank
        self.spin = spin
        self.steps = host_steps(report, rank)
        self.host = Track(HOST_PROCESS + rank, HOST_PROCESS + rank)
        self.compute = Track(rank, COMPUTE_STREAM)
        self.nccl = Track(rank, NCCL_STREAM)
        self.dtype, self.nccl_dtype = DTYPES[_dtype(report)]
        self.group = _group(report.workload.dp)

    def events(self) -> Iterator[Event]:
        """Everything of this rank, in host order: a call, then what it launched."""
        yield from self._names()
        spans = {span.first: span for span in iterations(self.steps)}
        for index, step in enumerate(self.steps):
            operation = step.operation
            if index in spans:
                span = spans[index]
                yield self._profiler_step(operation.iteration, span.start_ns, span.end_ns or self._end_ns())
            elif not isinstance(operation, Mark):
                yield from self._call(step, FIRST_CALL + index)
        if self.steps:
            closing_ns = self._end_ns() + CLOSING_NS
            yield self._profiler_step(self.steps[-1].operation.iteration + 1, closing_ns, closing_ns + CLOSING_NS)

    def _names(self) -> Iterator[Event]:
        for track, label in ((self.host, "CPU"), (self.compute, f"GPU {self.rank}")):
            yield metadata(track, "process_name", "name", "simgather")
            yield metadata(track, "process_labels", "labels", label)
            yield metadata(track, "process_sort_index", "sort_index", track.pid)
        named = ((self.host, "host"), (self.compute, "compute stream"), (self.nccl, "NCCL stream"))
        for track, name in named:
            yield metadata(track, "thread_name", "name", f"{name} {track.tid}")
            yield metadata(track, "thread_sort_index", "sort_index", track.tid)

    def _end_ns(self) -> int:
        """The end of the rank's last event on any track."""
        return max(
            time
            for step in self.steps
            for time in (step.enqueued_ns, step.started_ns, step.ended_ns)
            if time is not None
        )

    def _profiler_step(self, number: int, start_ns: int, end_ns: int) -> Event:
        return interval(self.host, f"ProfilerStep#{number}", "user_annotation", (start_ns, end_ns), {})

    def _call(self, step: Step, number: int) -> Iterator[Event]:
        operation = step.operation
        end_ns = step.host_end_ns
        linked: dict[str, Any] = {"External id": number, "correlation": number}
        if end_ns is None:
            end_ns, linked = self._end_ns(), linked | {"finished": "false"}
        during = (step.host_start_ns, end_ns)
        if isinstance(operation, HostSync):
            yield interval(self.host, "cudaStreamSynchronize", "cuda_runtime", during, linked)
            return
        if isinstance(operation, Wait):
            yield interval(self.host, "cudaStreamWaitEvent", "cuda_runtime", during, linked)
            return
        yield interval(self.host, _cpu_name(operation), "cpu_op", during, {"External id": number})
        yield interval(self.host, "cudaLaunchKernel", "cuda_runtime", during, linked)
        if step.started_ns is not None and step.ended_ns is not None:
            yield arrow(self.host, LAUNCHED, number, leaving_ns(*during), is_end=False)
            yield from self._kernel(operation, (step.started_ns, step.ended_ns), number)

    def _kernel(self, operation: Operation, during: Interval, number: int) -> Iterator[Event]:
        """What ran on a stream; a collective's `during` begins when its rank was ready."""
        track = self.nccl if isinstance(operation, Dispatch) else self.compute
        args: dict[str, Any] = {
            "External id": number,
            "correlation": number,
            "device": self.rank,
            "context": 1,
            "stream": track.tid,
        }
        if isinstance(operation, Dispatch):
            name = self._nccl_name(operation)
            moves = self.report.timeline.transfer(operation.sequence) or during
            args |= self._collective_args(operation) | {"rendezvous_ns": moves[0] - during[0]}
            during = during if self.spin else moves
        else:
            name = _compute_kernel_name(operation)
        yield interval(track, name, "kernel", during, args)
        yield arrow(track, LAUNCHED, number, arriving_ns(*during), is_end=True)

    def _nccl_name(self, operation: Dispatch) -> str:
        if operation.collective == "all-gather":
            return f"ncclDevKernel_AllGather_RING_LL{NCCL_SIGNATURE}"
        return f"ncclDevKernel_ReduceScatter_Sum_{self.nccl_dtype}_RING_LL{NCCL_SIGNATURE}"

    def _collective_args(self, operation: Dispatch) -> dict[str, Any]:
        """The message sizes count elements of this rank's buffers: its shard, and the whole bucket."""
        gathers = operation.collective == "all-gather"
        whole = self.report.workload.buckets[operation.bucket].numel
        shard = whole // self.report.workload.dp
        return {
            "Collective name": "_allgather_base" if gathers else "_reduce_scatter_base",
            "In msg nelems": shard if gathers else whole,
            "Out msg nelems": whole if gathers else shard,
            "Group size": self.report.workload.dp,
            "dtype": self.dtype,
            "In split size": "[]",
            "Out split size": "[]",
            "Process Group Name": "0",
            "Process Group Description": "default_pg",
            "Process Group Ranks": self.group,
            "Rank": self.rank,
            "Seq": operation.sequence,
            "bucket": operation.bucket,
        }


def _cpu_name(operation: Operation) -> str:
    if isinstance(operation, Dispatch):
        return "nccl:_all_gather_base" if operation.collective == "all-gather" else "nccl:_reduce_scatter_base"
    return kernel_name(operation)


def _compute_kernel_name(operation: Operation) -> str:
    name = kernel_name(operation)
    for word in NOT_COMPUTE:
        name = name.replace(word, word.lower())
    return name


def _dtype(report: Report) -> str:
    """What the scenario says; a Megatron model's is told by its size."""
    model = report.scenario.model
    return model.dtype if isinstance(model, ExplicitModel) else BY_BYTES[report.workload.element_bytes]


def _group(ranks: int) -> str:
    """The ranks of the process group, in short where there are many, as PyTorch does."""
    shown: Sequence[object] = range(ranks) if ranks <= 30 else [*range(15), "...", *range(ranks - 15, ranks)]
    return f"[{', '.join(map(str, shown))}]"
