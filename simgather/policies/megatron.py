"""Megatron-core's `--overlap-param-gather` as its releases implement it.

Each class was checked against recorded runs of that release; the class docstrings give the rule, not the history.
"""

from __future__ import annotations

from typing import ClassVar

from simgather.policies.base import FrameworkError, Gather, ModuleCall, Policy
from simgather.policies.gradients import CountedSync, GradientSync, LearnedSync

ALREADY_DISPATCHED = (
    "The next bucket's parameter all-gather operation has already been dispatched. This may be caused by a mismatch "
    "between the order of parameter registration and forward pass execution, which will hurt the "
    "communication-computation overlap performance."
)


class MegatronCore08(Policy):
    """Releases up to 0.8: a chain in bucket order that only a module holding a handle moves on.

    A module whose bucket has no handle does nothing at all, so it reads whatever its bucket holds: issue 950.
    """

    name = "megatron-core-0.8"
    gradient_sync: ClassVar[type[GradientSync]] = CountedSync
    splits_shared_embedding = True

    def start_of_iteration(self, gather: Gather) -> None:
        """Dispatch bucket 0, once an optimizer step has succeeded."""
        if gather.optimizer_stepped and gather.count:
            gather.dispatch(0)

    def before_module(self, gather: Gather, module: ModuleCall) -> None:
        """Wait where there is a handle, then dispatch the next bucket; without a handle do nothing."""
        for bucket in module.buckets:
            if gather.has_handle(bucket):
                gather.wait(bucket)
                if bucket + 1 < gather.count:
                    gather.dispatch(bucket + 1)


class MegatronCore010(Policy):
    """Releases 0.9 and 0.10: a missing bucket is gathered on demand, but the chain never looks whether it was before.

    Handles survive the end of the iteration, and dispatching a bucket that still has one asserts.
    """

    name = "megatron-core-0.10"
    hooks_in_first_iteration = True
    gradient_sync: ClassVar[type[GradientSync]] = CountedSync
    splits_shared_embedding = True

    def before_module(self, gather: Gather, module: ModuleCall) -> None:
        """Gather on demand, wait where there is a handle, then move the chain on."""
        for bucket in module.buckets:
            if not gather.is_dispatched(bucket):
                self._start(gather, bucket)
            if gather.has_handle(bucket):
                gather.wait(bucket)
                if bucket + 1 < gather.count:
                    self._dispatch_next(gather, bucket + 1)

    def after_optimizer_step(self, gather: Gather) -> None:
        """Handles are kept: only a wait clears one."""

    def _dispatch_next(self, gather: Gather, bucket: int) -> None:
        self._start(gather, bucket)

    @staticmethod
    def _start(gather: Gather, bucket: int) -> None:
        if gather.has_handle(bucket):
            raise FrameworkError("AssertionError", "")
        gather.dispatch(bucket)


class MegatronCore011(MegatronCore010):
    """Releases from 0.11 on: the chain skips, with a warning, a bucket that was dispatched already."""

    name = "megatron-core-0.11"
    hooks_in_first_iteration = False

    def _dispatch_next(self, gather: Gather, bucket: int) -> None:
        if gather.is_dispatched(bucket):
            gather.warn(ALREADY_DISPATCHED)
        else:
            self._start(gather, bucket)


class MegatronCore016(MegatronCore011):
    """Release 0.16: gathers as 0.11; gradient counts are learned, so a parameter may be used twice under recompute."""

    name = "megatron-core-0.16"
    gradient_sync: ClassVar[type[GradientSync]] = LearnedSync
    splits_shared_embedding = False
