"""The reference engine: hosts, streams and collectives as SimPy processes.

Every rank has three processes: its host thread, its compute stream and its NCCL stream. Streams are first in, first
out. Times are integers, and each is the maximum of times that must have come before plus a cost, so no tie can change
it; SimPy's own order (time, priority, sequence of scheduling) makes the run itself reproducible as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any

import simpy

from simgather.costs.costs import Costs
from simgather.engine.timeline import RankTimeline, Timeline
from simgather.program.collectives import Collective, Matching
from simgather.program.operations import Dispatch, HostSync, Kernel, Operation, OptimizerKernel, Program, Wait

Steps = Generator[simpy.Event, Any, None]


def simulate(program: Program, matching: Matching, costs: Costs, connections: int) -> Timeline:
    """When everything in the program happens; `connections` is CUDA_DEVICE_MAX_CONNECTIONS (1: one shared queue)."""
    env = simpy.Environment()
    transfers = [_Transfer(env, collective, costs, len(program.ranks)) for collective in matching.collectives]
    ranks = [
        _Rank(env, rank, program, costs, transfers, shared_queue=connections == 1) for rank in range(len(program.ranks))
    ]
    env.run()
    return Timeline(
        program,
        matching,
        tuple(rank.timeline() for rank in ranks),
        tuple(transfer.start_ns for transfer in transfers),
        tuple(transfer.end_ns for transfer in transfers),
    )


class _Transfer:
    """One collective: it starts on all ranks when the last one is ready and ends on all together."""

    def __init__(self, env: simpy.Environment, collective: Collective, costs: Costs, ranks: int) -> None:
        self.env = env
        self.duration_ns = costs.collective_ns(collective.kind, collective.bucket)
        self.missing = ranks
        self.start_ns: int | None = None
        self.end_ns: int | None = None
        self.ended = env.event()

    def arrive(self) -> simpy.Event:
        """Count a rank as ready; the event returned is the end of the transfer."""
        self.missing -= 1
        if not self.missing:
            self.start_ns = int(self.env.now)
            self.env.process(self._move_data())
        return self.ended

    def _move_data(self) -> Steps:
        yield self.env.timeout(self.duration_ns)
        self.end_ns = int(self.env.now)
        self.ended.succeed()


class _Stream:
    """A first-in-first-out queue that one process works off.

    An item is a generator, run to its end before the next begins, or an event, which happens when its turn comes.
    """

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env
        self.items: deque[Steps | simpy.Event] = deque()
        self.idle: simpy.Event | None = None
        env.process(self._work())

    def put(self, item: Steps | simpy.Event) -> None:
        """Enqueue an item."""
        self.items.append(item)
        if self.idle is not None:
            self.idle.succeed()
            self.idle = None

    def _work(self) -> Steps:
        while True:
            if not self.items:
                self.idle = self.env.event()
                yield self.idle
            item = self.items.popleft()
            if isinstance(item, simpy.Event):
                item.succeed()
            else:
                yield from item


class _Turn:
    """An item's place on the one hardware queue that all streams of a rank share when connections is 1."""

    __slots__ = ("before", "started")

    def __init__(self, before: _Turn | None, started: simpy.Event) -> None:
        self.before = before
        self.started = started

    def come(self) -> Steps:
        """Wait until the item before has started."""
        if self.before is not None:
            yield self.before.started
            self.before = None


class _Rank:
    """One rank: a host thread that works through its operations, and the two streams it enqueues on."""

    def __init__(
        self,
        env: simpy.Environment,
        rank: int,
        program: Program,
        costs: Costs,
        transfers: list[_Transfer],
        *,
        shared_queue: bool,
    ) -> None:
        self.env = env
        self.rank = rank
        self.operations = program.ranks[rank].operations
        self.costs = costs
        self.transfers = transfers
        self.shared_queue = shared_queue
        self.last_turn: _Turn | None = None
        self.known_kernel_ns: dict[tuple[int, str], int] = {}
        self.compute = _Stream(env)
        self.nccl = _Stream(env)
        self.enqueued: list[int | None] = [None] * len(self.operations)
        self.started: list[int | None] = [None] * len(self.operations)
        self.ended: list[int | None] = [None] * len(self.operations)
        env.process(self._host())

    def timeline(self) -> RankTimeline:
        """What was recorded."""
        return RankTimeline(tuple(self.enqueued), tuple(self.started), tuple(self.ended))

    def _host(self) -> Steps:
        env, enqueued = self.env, self.enqueued
        host_ns = self.costs.host_ns()
        enqueue: dict[type[Operation], Callable[[int, Any], None]] = {
            Kernel: self._enqueue_kernel,
            OptimizerKernel: self._enqueue_optimizer,
            Dispatch: self._enqueue_collective,
            Wait: self._enqueue_wait,
        }
        for index, operation in enumerate(self.operations):
            kind = type(operation)
            if host_ns[kind]:
                yield env.timeout(host_ns[kind])
            enqueued[index] = self._now()
            if kind in enqueue:
                enqueue[kind](index, operation)
            elif kind is HostSync:
                drained = env.event()
                self.compute.put(drained)
                yield drained
                self.ended[index] = self._now()

    def _enqueue_kernel(self, index: int, kernel: Kernel) -> None:
        self.compute.put(self._run_kernel(index, self._kernel_ns(kernel), self._turn()))

    def _enqueue_optimizer(self, index: int, _: OptimizerKernel) -> None:
        self.compute.put(self._run_kernel(index, self.costs.optimizer_ns, self._turn()))

    def _enqueue_wait(self, index: int, wait: Wait) -> None:
        self.compute.put(self._wait_for(index, wait.sequence, self._turn()))

    def _enqueue_collective(self, index: int, dispatch: Dispatch) -> None:
        recorded = self.env.event()
        self.compute.put(recorded)
        self.nccl.put(self._join_collective(index, dispatch.sequence, recorded, self._turn()))

    def _kernel_ns(self, kernel: Kernel) -> int:
        key = (id(kernel.use), kernel.phase)
        if key not in self.known_kernel_ns:
            self.known_kernel_ns[key] = self.costs.kernel_ns(self.rank, kernel)
        return self.known_kernel_ns[key]

    def _now(self) -> int:
        return int(self.env.now)

    def _turn(self) -> _Turn | None:
        if self.shared_queue:
            self.last_turn = _Turn(self.last_turn, self.env.event())
        return self.last_turn

    def _run_kernel(self, index: int, duration_ns: int, turn: _Turn | None) -> Steps:
        if turn is not None:
            yield from turn.come()
            turn.started.succeed()
        self.started[index] = self._now()
        yield self.env.timeout(duration_ns)
        self.ended[index] = self._now()

    def _wait_for(self, index: int, sequence: int, turn: _Turn | None) -> Steps:
        self.started[index] = self._now()
        if turn is not None:
            yield from turn.come()
        yield self._transfer(sequence).ended
        if turn is not None:
            turn.started.succeed()
        self.ended[index] = self._now()

    def _join_collective(self, index: int, sequence: int, recorded: simpy.Event, turn: _Turn | None) -> Steps:
        yield recorded
        if turn is not None:
            yield from turn.come()
            turn.started.succeed()
        self.started[index] = self._now()
        yield self._transfer(sequence).arrive()
        self.ended[index] = self._now()

    def _transfer(self, sequence: int) -> _Transfer | _Never:
        return self.transfers[sequence] if sequence < len(self.transfers) else _Never(self.env)


class _Never:
    """A collective that some rank never joins: it can be entered, but not left."""

    def __init__(self, env: simpy.Environment) -> None:
        self.ended = env.event()

    def arrive(self) -> simpy.Event:
        """Wait for ever."""
        return self.ended
