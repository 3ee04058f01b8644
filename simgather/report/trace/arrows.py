"""Which arrows a rank's trace has: from dispatch to collective, from collective to the kernel that waited."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simgather.program.operations import Dispatch, Wait
from simgather.report.trace.steps import Step, launches


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrows:
    """Numbers of arrows. Those of collectives are by sequence, those into kernels by the index of the step.

    Every arrow out of a collective goes into a kernel, and every arrow into a collective comes from its dispatch.
    """

    into_collective: Mapping[int, int]
    out_of_collective: Mapping[int, Sequence[int]]
    into_kernel: Mapping[int, Sequence[int]]
    count: int


def number_arrows(steps: Sequence[Step], first: int) -> Arrows:
    """Arrows numbered from `first`. Where a collective or kernel never began there is nothing to lead to."""
    into_collective: dict[int, int] = {}
    out_of_collective: dict[int, list[int]] = defaultdict(list)
    into_kernel: dict[int, list[int]] = defaultdict(list)
    waited: list[int] = []
    number = first
    for index, step in enumerate(steps):
        operation = step.operation
        if isinstance(operation, Dispatch) and step.started_ns is not None:
            into_collective[operation.sequence] = number
            number += 1
        elif isinstance(operation, Wait) and step.ended_ns is not None:
            waited.append(operation.sequence)
        elif launches(operation):
            for sequence in waited if step.started_ns is not None else ():
                out_of_collective[sequence].append(number)
                into_kernel[index].append(number)
                number += 1
            waited.clear()
    return Arrows(
        into_collective=into_collective,
        out_of_collective=out_of_collective,
        into_kernel=into_kernel,
        count=number - first,
    )
