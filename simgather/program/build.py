"""From a workload and a policy to the Program: the training loop, run without time."""

from __future__ import annotations

from collections.abc import Callable

from simgather.policies import FrameworkError, Gather, ModuleCall, Policy
from simgather.policies.gradients import GradientSync, GradientSyncError
from simgather.program.operations import (
    CollectiveKind,
    Dispatch,
    FrameworkFailure,
    HostSync,
    Kernel,
    Mark,
    MarkKind,
    Operation,
    OptimizerKernel,
    Phase,
    Program,
    RankProgram,
    Wait,
)
from simgather.workload.model import Use
from simgather.workload.workload import Order, Workload

Signal = tuple[int, int, int]
"""A gradient becoming ready: bucket, parameter (an index within the bucket), signals of that bucket still to come."""


def build_program(workload: Workload, make_policy: Callable[[], Policy]) -> Program:
    """What every rank's host does under the policy; each rank has a policy of its own."""
    built: dict[int, RankProgram] = {}
    ranks = []
    for orders in workload.orders:
        if id(orders) not in built:
            built[id(orders)] = _HostThread(workload, make_policy()).run(orders)
        ranks.append(built[id(orders)])
    return Program(tuple(ranks))


class _HostThread:
    """One rank's host thread; it is the `Host` that the policy drives."""

    def __init__(self, workload: Workload, policy: Policy) -> None:
        self.workload = workload
        self.training = workload.training
        self.policy = policy
        self.gather = Gather(len(workload.buckets), self)
        self.gradients: GradientSync = policy.gradient_sync([len(bucket.parameters) for bucket in workload.buckets])
        self.gradients_of: list[list[tuple[int, int]]] = [[] for _ in workload.modules]
        for bucket in workload.buckets:
            for number, placed in enumerate(bucket.parameters):
                self.gradients_of[placed.module].append((bucket.index, number))
        self.signals: dict[int, tuple[tuple[Signal, ...], ...]] = {}
        self.calls = [
            ModuleCall(name=module.name, buckets=buckets)
            for module, buckets in zip(workload.modules, workload.hook_buckets, strict=True)
        ]
        hooks_first = self.training.hooks_in_first_iteration
        self.hooks_first = policy.hooks_in_first_iteration if hooks_first is None else hooks_first
        self.operations: list[Operation] = []
        self.iteration = 0
        self.microbatch = 0
        self.phase = "zero_grad"
        self.collectives = 0
        self.syncs: dict[int, int] = {}

    def run(self, orders: tuple[Order, ...]) -> RankProgram:
        """All iterations, or as far as the framework gets."""
        failure = None
        try:
            for iteration, order in enumerate(orders):
                self.iteration = iteration
                self._iterate(order)
        except FrameworkError as error:
            failure = self._fail(error.type_name, error.text)
        except GradientSyncError as error:
            failure = self._fail("AssertionError", error.text)
        return RankProgram(tuple(self.operations), failure)

    def _fail(self, type_name: str, text: str) -> FrameworkFailure:
        self._mark("exception", type_name)
        return FrameworkFailure(self.iteration, self.phase, type_name, text)

    # The host as a policy drives it.

    def dispatch_all_gather(self, bucket: int) -> int:
        return self._dispatch("all-gather", bucket)

    def wait_all_gather(self, bucket: int, handle: int) -> None:
        self.operations.append(Wait(self.iteration, "all-gather", bucket, handle))

    def warn(self, text: str) -> None:
        self._mark("warning", text)

    # The training loop.

    @property
    def hooks_active(self) -> bool:
        return self.iteration > 0 or self.hooks_first

    def _iterate(self, order: Order) -> None:
        self.phase = "zero_grad"
        self._mark("iteration", self.iteration)
        self.syncs.clear()
        self.gradients.start_of_iteration()
        if self.hooks_active:
            self.policy.start_of_iteration(self.gather)
        for microbatch in range(self.training.microbatches):
            self.microbatch = microbatch
            self._mark("microbatch", microbatch)
            self.phase = "forward"
            for use in order:
                self._forward(use)
            if self.training.backward:
                self.phase = "backward"
                self._backward(order)
        self.phase = "finish_grad_sync"
        if self.training.backward and self.training.gradient_sync:
            self._finish_gradient_sync()
        self.policy.end_of_backward(self.gather)
        self.operations.append(OptimizerKernel(self.iteration))
        self.operations.append(HostSync(self.iteration))
        self.gather.optimizer_stepped = True
        self.policy.after_optimizer_step(self.gather)

    def _forward(self, use: Use, *, recomputed: bool = False) -> None:
        if use.functional:
            self.operations.append(Kernel(self.iteration, self.microbatch, "functional", use))
            return
        call = self.calls[use.module]
        if self.hooks_active:
            self.policy.before_module(self.gather, call)
        self.operations.append(Kernel(self.iteration, self.microbatch, "forward", use, recomputed))
        if self.hooks_active:
            self.policy.after_module(self.gather, call)

    def _backward(self, order: Order) -> None:
        syncs = self.training.gradient_sync and self.microbatch == self.training.microbatches - 1
        recompute = self.training.recompute == "full"
        if id(order) not in self.signals:
            self.signals[id(order)] = self._signals(order)
        for use, signals in zip(reversed(order), self.signals[id(order)], strict=True):
            if recompute and not use.functional:
                self._forward(use, recomputed=True)
            phase: Phase = "backward_functional" if use.functional else "backward"
            self.operations.append(Kernel(self.iteration, self.microbatch, phase, use))
            if syncs:
                for bucket, parameter, remaining in signals:
                    if self.gradients.ready(bucket, parameter, remaining):
                        self.syncs[bucket] = self._dispatch("reduce-scatter", bucket)

    def _finish_gradient_sync(self) -> None:
        for bucket in reversed(range(self.gather.count)):
            if self.gradients.finish(bucket):
                self.syncs[bucket] = self._dispatch("reduce-scatter", bucket)
            self.operations.append(Wait(self.iteration, "reduce-scatter", bucket, self.syncs[bucket]))

    def _signals(self, order: Order) -> tuple[tuple[Signal, ...], ...]:
        """Per backward step of `order`, the gradients that become ready right after it.

        Autograd accumulates a parameter's gradient once, after the last of its uses. Under recompute every module is a
        graph of its own and accumulates each time; functional uses stay in the outer graph.
        """
        steps = list(reversed(order))
        separate = self.training.recompute == "full"
        last_step = {(use.module, separate and use.functional): step for step, use in enumerate(steps)}
        ready: list[list[tuple[int, int]]] = []
        for step, use in enumerate(steps):
            alone = separate and not use.functional
            last = alone or last_step[use.module, separate and use.functional] == step
            ready.append(self.gradients_of[use.module] if last else [])
        to_come = [0] * self.gather.count
        for bucket, _ in (signal for signals in ready for signal in signals):
            to_come[bucket] += 1
        numbered = []
        for signals in ready:
            step_signals = []
            for bucket, parameter in signals:
                to_come[bucket] -= 1
                step_signals.append((bucket, parameter, to_come[bucket]))
            numbered.append(tuple(step_signals))
        return tuple(numbered)

    def _dispatch(self, collective: CollectiveKind, bucket: int) -> int:
        sequence = self.collectives
        self.collectives += 1
        self.operations.append(Dispatch(self.iteration, collective, bucket, sequence))
        return sequence

    def _mark(self, event: MarkKind, argument: int | str | None) -> None:
        self.operations.append(Mark(self.iteration, event, argument))
