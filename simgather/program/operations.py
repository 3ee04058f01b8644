"""The Program: what every rank's host thread enqueues, in order. Time plays no part in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simgather.workload.model import Use

Phase = Literal["forward", "functional", "backward", "backward_functional"]
CollectiveKind = Literal["all-gather", "reduce-scatter"]
MarkKind = Literal["iteration", "microbatch", "warning", "exception"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Launch one kernel of a module on the compute stream; it reads the module's weights.

    `recomputed` is a forward that runs again right before its backward; it is no part of the forward pass.
    """

    iteration: int
    microbatch: int
    phase: Phase
    use: Use
    recomputed: bool = False

    @property
    def in_forward_pass(self) -> bool:
        """Whether the kernel belongs to the forward pass proper."""
        return not self.recomputed and self.phase in ("forward", "functional")


@dataclass(frozen=True, slots=True)
class OptimizerKernel:
    """Launch the optimizer on the compute stream; it writes this rank's own shard of every bucket."""

    iteration: int


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Enqueue a collective on the NCCL stream behind an event on the compute stream.

    `sequence` counts this rank's collectives; ranks match collectives by it, not by bucket.
    """

    iteration: int
    collective: CollectiveKind
    bucket: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Make the compute stream wait for the end of the collective `sequence`; the host goes on."""

    iteration: int
    collective: CollectiveKind
    bucket: int
    sequence: int


@dataclass(frozen=True, slots=True)
class HostSync:
    """The host waits for all that was enqueued on the compute stream."""

    iteration: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment on the host thread that costs nothing: a border, a warning, or the framework's exception."""

    iteration: int
    event: MarkKind
    argument: int | str | None = None


Operation = Kernel | OptimizerKernel | Dispatch | Wait | HostSync | Mark


@dataclass(frozen=True, slots=True)
class FrameworkFailure:
    """The exception that ended a rank's host thread; `phase` is where in the iteration it was raised."""

    iteration: int
    phase: str
    type_name: str
    text: str


@dataclass(frozen=True, slots=True)
class RankProgram:
    """One rank's operations in host order; after a `failure` there are none."""

    operations: tuple[Operation, ...]
    failure: FrameworkFailure | None


@dataclass(frozen=True, slots=True)
class Program:
    """Every rank's program, indexed by rank. Ranks that do the same share one object."""

    ranks: tuple[RankProgram, ...]
