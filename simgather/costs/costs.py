"""What every operation takes, in integer nanoseconds; each cost is rounded once, here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from simgather.program.operations import (
    CollectiveKind,
    Dispatch,
    HostSync,
    Kernel,
    Mark,
    Operation,
    OptimizerKernel,
    Wait,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Durations of host operations, collectives and kernels.

    `gather_ns` and `reduce_scatter_ns` are indexed by bucket, `skew` by rank: the factor on that rank's module times.
    """

    launch_ns: int
    wait_ns: int
    dispatch_ns: int
    optimizer_ns: int
    gather_ns: tuple[int, ...]
    reduce_scatter_ns: tuple[int, ...]
    skew: tuple[Fraction, ...]

    def host_ns(self) -> dict[type[Operation], int]:
        """What each kind of operation costs the host thread before it is enqueued."""
        return {
            Kernel: self.launch_ns,
            OptimizerKernel: self.launch_ns,
            Dispatch: self.dispatch_ns,
            Wait: self.wait_ns,
            HostSync: 0,
            Mark: 0,
        }

    def collective_ns(self, kind: CollectiveKind, bucket: int) -> int:
        """Transfer time of one collective, from the last rank's arrival to its end."""
        return (self.gather_ns if kind == "all-gather" else self.reduce_scatter_ns)[bucket]

    def kernel_ns(self, rank: int, kernel: Kernel) -> int:
        """Duration of a module's kernel on `rank`."""
        backward = kernel.phase in ("backward", "backward_functional")
        return round((kernel.use.backward_ns if backward else kernel.use.forward_ns) * self.skew[rank])
