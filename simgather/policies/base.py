"""What a policy is: the rule that decides when a bucket's all-gather is dispatched and when it is waited for.

A policy runs on the host thread and never sees the time, so its decisions depend only on the order of modules. All that
it remembers is in `Gather`, the state of the buckets, and, if it must, in a small hashable `state` of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from simgather.errors import SimgatherError
from simgather.policies.gradients import GradientSync, WholeBucketSync


class FrameworkError(Exception):
    """The training framework itself would raise here; part of the answer, not a failure of the simulator."""

    def __init__(self, type_name: str, text: str) -> None:
        super().__init__(type_name, text)
        self.type_name = type_name
        self.text = text


class PolicyError(SimgatherError, RuntimeError):
    """A policy used the buckets in a way no framework allows, such as waiting without a handle."""


class Host(Protocol):
    """The host thread as a policy drives it."""

    def dispatch_all_gather(self, bucket: int) -> int:
        """Enqueue the bucket's all-gather; its handle."""

    def wait_all_gather(self, bucket: int, handle: int) -> None:
        """Make the compute stream wait for it; the host goes on."""

    def warn(self, text: str) -> None:
        """Record a warning of the framework."""


class Gather:
    """The buckets as a policy sees them: per bucket whether it was dispatched, and a handle while nobody has waited.

    `optimizer_stepped` is false in iteration 0, before the first optimizer step, when no gather is needed yet.
    """

    def __init__(self, count: int, host: Host) -> None:
        self.count = count
        self.optimizer_stepped = False
        self._host = host
        self._dispatched = [False] * count
        self._handles: list[int | None] = [None] * count

    def dispatch(self, bucket: int) -> None:
        """Enqueue the all-gather of `bucket`, remember that it was, and keep its handle."""
        self._check(bucket)
        self._handles[bucket] = self._host.dispatch_all_gather(bucket)
        self._dispatched[bucket] = True

    def wait(self, bucket: int) -> None:
        """Make the compute stream wait for the all-gather whose handle is kept; the handle is gone afterwards."""
        self._check(bucket)
        handle = self._handles[bucket]
        if handle is None:
            raise PolicyError(f"wait for bucket {bucket} without a handle: dispatch it first, or ask has_handle")
        self._handles[bucket] = None
        self._host.wait_all_gather(bucket, handle)

    def is_dispatched(self, bucket: int) -> bool:
        """Whether the bucket was dispatched since `forget_dispatched`."""
        self._check(bucket)
        return self._dispatched[bucket]

    def has_handle(self, bucket: int) -> bool:
        """Whether an all-gather of the bucket is outstanding that nobody has waited for."""
        self._check(bucket)
        return self._handles[bucket] is not None

    def forget_dispatched(self) -> None:
        """Mark every bucket as not dispatched; handles stay."""
        self._dispatched = [False] * self.count

    def drop_handles(self) -> None:
        """Forget every handle without waiting; the collectives still run."""
        self._handles = [None] * self.count

    def warn(self, text: str) -> None:
        """Record a warning of the framework."""
        self._host.warn(text)

    def _check(self, bucket: int) -> None:
        if not 0 <= bucket < self.count:
            raise PolicyError(f"there is no bucket {bucket}: there are buckets 0 to {self.count - 1}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleCall:
    """A module about to run: its name and the buckets of its own parameters, in registration order."""

    name: str
    buckets: tuple[int, ...]


class Policy:
    """Base of all policies: dispatches nothing, waits for nothing. Override the hooks you need."""

    name: ClassVar[str]
    hooks_in_first_iteration: ClassVar[bool] = False
    """Whether hooks run in iteration 0, where there is nothing to gather yet."""
    gradient_sync: ClassVar[type[GradientSync]] = WholeBucketSync
    """How the framework counts gradients before it dispatches a bucket's reduce-scatter."""
    splits_shared_embedding: ClassVar[bool] = False
    """Whether a shared embedding may start in the padding of the bucket before its own."""

    def start_of_iteration(self, gather: Gather) -> None:
        """Before the first microbatch (zero_grad)."""

    def before_module(self, gather: Gather, module: ModuleCall) -> None:
        """Forward pre-hook of a module, also when recompute runs its forward again."""

    def after_module(self, gather: Gather, module: ModuleCall) -> None:
        """Forward hook of a module, right after its kernel was launched."""

    def end_of_backward(self, gather: Gather) -> None:
        """After the gradient sync that ends the last microbatch's backward pass."""
        gather.forget_dispatched()

    def after_optimizer_step(self, gather: Gather) -> None:
        """After the optimizer has written this rank's shards."""
        gather.drop_handles()
