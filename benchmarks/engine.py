"""How fast the SimPy engine is: program operations per second, beside a hand-written minimal SimPy loop.

    python benchmarks/engine.py

Both simulate the same program (4 GPUs, 100 modules, 50 iterations, megatron-core-0.11) in the same run, in turn, so
the ratio holds on a noisy machine. The minimal loop knows nothing but this one program: it records no times, matches
no collectives and has no shared queue; what it costs is what SimPy costs. Memory is measured at two sizes.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections import deque
from functools import partial

import simpy

import simgather
from simgather.costs.costs import Costs
from simgather.engine.machine import simulate
from simgather.job import Job, make_job
from simgather.policies import make_policy
from simgather.program.build import build_program
from simgather.program.collectives import Matching, match_collectives
from simgather.program.operations import Dispatch, HostSync, Kernel, OptimizerKernel, Program, Wait

ROUNDS = 5


def chain(iterations: int) -> Job:
    """4 GPUs, 100 modules of one bucket each, a gather chain in matching order."""
    scenario = simgather.load(
        {
            "name": "benchmark",
            "policy": "megatron-core-0.11",
            "iterations": iterations,
            "cluster": {
                "gpus": 4,
                "gather": {"latency": "20 us", "bus_bandwidth": "340 GB/s"},
                "host": {"launch": "5 us", "wait": "2 us", "collective": "30 us"},
            },
            "model": {
                "modules": [
                    {"name": f"m{number}", "params": {"weight": "1M"}, "forward": "1 ms"} for number in range(100)
                ]
            },
            "buckets": {"size": "1M"},
            "training": {"optimizer": "1 ms"},
        }
    )
    return make_job(scenario)


def minimal_loop(program: Program, costs: Costs) -> None:
    """The least SimPy code that gives the same makespan."""
    env = simpy.Environment()
    operations = program.ranks[0].operations
    ranks = len(program.ranks)
    ends = [env.event() for item in operations if type(item) is Dispatch]
    missing = [ranks] * len(ends)

    def stream(queue, state):
        while True:
            while not queue:
                state[0] = env.event()
                yield state[0]
            kind, argument = queue.popleft()
            if kind == 0:
                yield env.timeout(argument)
            elif kind == 1:
                yield ends[argument]
            elif kind == 2:
                argument.succeed()
            else:
                sequence, duration, recorded = argument
                yield recorded
                missing[sequence] -= 1
                if missing[sequence]:
                    yield ends[sequence]
                else:
                    yield env.timeout(duration)
                    ends[sequence].succeed()

    def host():
        compute, nccl, idle_compute, idle_nccl = deque(), deque(), [None], [None]
        env.process(stream(compute, idle_compute))
        env.process(stream(nccl, idle_nccl))

        def put(queue, idle, item):
            queue.append(item)
            if idle[0] is not None:
                idle[0].succeed()
                idle[0] = None

        for item in operations:
            kind = type(item)
            if kind is Kernel:
                yield env.timeout(costs.launch_ns)
                duration = item.use.backward_ns if item.phase == "backward" else item.use.forward_ns
                put(compute, idle_compute, (0, duration))
            elif kind is OptimizerKernel:
                yield env.timeout(costs.launch_ns)
                put(compute, idle_compute, (0, costs.optimizer_ns))
            elif kind is Wait:
                yield env.timeout(costs.wait_ns)
                put(compute, idle_compute, (1, item.sequence))
            elif kind is Dispatch:
                yield env.timeout(costs.dispatch_ns)
                recorded = env.event()
                put(compute, idle_compute, (2, recorded))
                put(nccl, idle_nccl, (3, (item.sequence, costs.gather_ns[item.bucket], recorded)))
            elif kind is HostSync:
                drained = env.event()
                put(compute, idle_compute, (2, drained))
                yield drained

    for _ in range(ranks):
        env.process(host())
    env.run()


def prepare(iterations: int) -> tuple[Job, Program, Matching, int]:
    job = chain(iterations)
    program = build_program(job.workload, partial(make_policy, "megatron-core-0.11"))
    operations = sum(len(rank.operations) for rank in program.ranks)
    return job, program, match_collectives(program, job.workload), operations


def seconds(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    job, program, matching, operations = prepare(50)
    engine, minimal = [], []
    for _ in range(ROUNDS):
        engine.append(operations / seconds(lambda: simulate(program, matching, job.costs, 8)))
        minimal.append(operations / seconds(lambda: minimal_loop(program, job.costs)))
    ratio = statistics.median(one / other for one, other in zip(engine, minimal, strict=True))
    print(f"# {operations} program operations, median of {ROUNDS} rounds")
    print(f"engine        {statistics.median(engine):>9.0f} operations/s")
    print(f"minimal loop  {statistics.median(minimal):>9.0f} operations/s")
    print(f"ratio         {ratio:>9.2f} engine / minimal loop")
    peaks = []
    for iterations in (25, 50):
        job, program, matching, operations = prepare(iterations)
        tracemalloc.start()
        timeline = simulate(program, matching, job.costs, 8)
        peaks.append(tracemalloc.get_traced_memory()[1] / operations)
        tracemalloc.stop()
        del timeline
    print(f"memory        {peaks[0]:>9.0f} bytes/operation at half the size, {peaks[1]:.0f} at full size")


if __name__ == "__main__":
    main()
