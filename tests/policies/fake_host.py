"""A host that only writes down what a policy makes it do."""

from __future__ import annotations

from collections.abc import Callable

from simgather.policies import Gather, ModuleCall, Policy

Event = tuple[str, int | str]


class FakeHost:
    """Handles are numbers from 100 on, so that none is mistaken for a bucket."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.handles: list[int] = []

    def dispatch_all_gather(self, bucket: int) -> int:
        self.events.append(("dispatch", bucket))
        self.handles.append(bucket)
        return 99 + len(self.handles)

    def wait_all_gather(self, bucket: int, handle: int) -> None:
        # A wait is for the handle of the latest dispatch of that bucket.
        assert self.handles[handle - 100] == bucket
        self.events.append(("wait", bucket))

    def warn(self, text: str) -> None:
        self.events.append(("warning", text.partition("'")[0]))


class Loop:
    """A training loop around a policy; module `k` has bucket `k` unless told otherwise."""

    def __init__(self, policy: Policy, buckets: int = 3) -> None:
        self.policy = policy
        self.host = FakeHost()
        self.gather = Gather(buckets, self.host)

    def start(self) -> list[Event]:
        """What happens at the start of an iteration."""
        return self._new(lambda: self.policy.start_of_iteration(self.gather))

    def hook(self, *buckets: int) -> list[Event]:
        """What happens before a module with these buckets, and after it."""
        call = ModuleCall(name="module", buckets=buckets)

        def run() -> None:
            self.policy.before_module(self.gather, call)
            self.policy.after_module(self.gather, call)

        return self._new(run)

    def step(self) -> list[Event]:
        """What happens from the end of backward to the end of the optimizer step."""

        def run() -> None:
            self.policy.end_of_backward(self.gather)
            self.gather.optimizer_stepped = True
            self.policy.after_optimizer_step(self.gather)

        return self._new(run)

    def _new(self, run: Callable[[], None]) -> list[Event]:
        known = len(self.host.events)
        run()
        return self.host.events[known:]
