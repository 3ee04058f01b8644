"""Policies for comparison: the two extremes, and a generic look-ahead between them."""

from __future__ import annotations

from simgather.policies.base import Gather, ModuleCall, Policy


class AllUpfront(Policy):
    """Dispatch every bucket at the start of the iteration, in gather order; modules only wait."""

    name = "all-upfront"

    def start_of_iteration(self, gather: Gather) -> None:
        """Dispatch everything."""
        for bucket in range(gather.count):
            gather.dispatch(bucket)

    def before_module(self, gather: Gather, module: ModuleCall) -> None:
        """Wait for the module's own buckets."""
        for bucket in module.buckets:
            if gather.has_handle(bucket):
                gather.wait(bucket)


class Synchronous(Policy):
    """Gather everything before the forward pass begins: nothing overlapped, nothing stale."""

    name = "synchronous"

    def start_of_iteration(self, gather: Gather) -> None:
        """Dispatch and wait for every bucket in turn."""
        for bucket in range(gather.count):
            gather.dispatch(bucket)
            gather.wait(bucket)


class Prefetch(Policy):
    """Gather on demand, and after each wait look `depth` buckets ahead. Depth 0 is purely on demand."""

    name = "prefetch"

    def __init__(self, depth: int = 1) -> None:
        self.depth = depth

    def before_module(self, gather: Gather, module: ModuleCall) -> None:
        """Dispatch what is missing; after a wait dispatch the next `depth` buckets that are not dispatched yet."""
        for bucket in module.buckets:
            if not gather.is_dispatched(bucket):
                gather.dispatch(bucket)
            if gather.has_handle(bucket):
                gather.wait(bucket)
                for ahead in range(bucket + 1, min(bucket + self.depth + 1, gather.count)):
                    if not gather.is_dispatched(ahead):
                        gather.dispatch(ahead)
