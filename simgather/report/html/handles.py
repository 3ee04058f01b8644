"""What a module found at its bucket's handle, from the host program alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from simgather.program.operations import Dispatch, Kernel, Mark, OptimizerKernel, RankProgram, Wait
from simgather.workload.workload import Workload

Handle = Literal["initial", "none", "waited", "demanded", "done", "unused", "hookless"]

HANDLES: dict[Handle, str] = {
    "initial": "not needed before the first optimizer step",
    "none": "None: nothing was dispatched, so there is nothing to wait for",
    "waited": "found, and waited for right before this kernel",
    "demanded": "None: dispatched on demand, then waited for",
    "done": "already waited for in this iteration",
    "unused": "dispatched, but not waited for",
    "hookless": "no pre-hook: the weight is used without calling the module",
}
"""All states, with what a reader should know of each."""


def handles(program: RankProgram, workload: Workload) -> Iterator[tuple[Handle, ...]]:
    """Of every kernel in host order, the state of each bucket that it reads.

    A wait between the kernel before and this one is this kernel's own. What is known of a bucket is forgotten when the
    optimizer steps, for then its values are old.
    """
    known: dict[int, Handle] = {}
    demanded: set[int] = set()
    waited: set[int] = set()
    gathers = {item.iteration for item in program.operations if _is_gather(item)}
    for operation in program.operations:
        if isinstance(operation, Kernel):
            needed = operation.iteration > 0 or operation.iteration in gathers
            yield tuple(
                _handle(operation, read.bucket, known, demanded, waited) if needed else "initial"
                for read in workload.reads[operation.use.module]
            )
            demanded.clear()
            waited.clear()
        elif isinstance(operation, Dispatch) and _is_gather(operation):
            known[operation.bucket] = "unused"
            demanded.add(operation.bucket)
        elif isinstance(operation, Wait) and operation.collective == "all-gather":
            known[operation.bucket] = "done"
            waited.add(operation.bucket)
        elif isinstance(operation, OptimizerKernel):
            known.clear()
        elif isinstance(operation, Mark) and operation.event == "microbatch":
            demanded.clear()
            waited.clear()


def _is_gather(operation: object) -> bool:
    return isinstance(operation, Dispatch) and operation.collective == "all-gather"


def _handle(kernel: Kernel, bucket: int, known: dict[int, Handle], demanded: set[int], waited: set[int]) -> Handle:
    if kernel.use.functional and kernel.in_forward_pass:
        return "hookless"
    if bucket in waited:
        return "demanded" if bucket in demanded else "waited"
    return known.get(bucket, "none")
