"""The way of the data, in one place: Scenario to Workload, Program, Timeline, verdict and Report."""

from __future__ import annotations

from functools import partial

from simgather.engine.machine import simulate as run_machine
from simgather.job import make_job
from simgather.lint.rules import remarks
from simgather.policies import make_policy
from simgather.program.build import build_program
from simgather.program.collectives import match_collectives
from simgather.program.operations import FrameworkFailure, Mark, Program
from simgather.report.report import Report
from simgather.scenario.schema import Scenario
from simgather.verdict.findings import find
from simgather.verdict.happens_before import order_rank
from simgather.verdict.measures import measure
from simgather.verdict.reads import observe_reads


def simulate(scenario: Scenario) -> Report:
    """Simulate a scenario from beginning to end.

    Raises:
        InputError: the scenario is valid YAML but its parts contradict each other.

    """
    job = make_job(scenario)
    program = build_program(job.workload, partial(make_policy, scenario.policy.name, scenario.policy.depth))
    matching = match_collectives(program, job.workload)
    timeline = run_machine(program, matching, job.costs, job.connections)
    by_program = {id(one): order_rank(one, matching, job.workload) for one in program.ranks}
    orders = [by_program[id(one)] for one in program.ranks]
    reads = observe_reads(timeline, orders, job.workload)
    return Report(
        scenario=scenario,
        workload=job.workload,
        costs=job.costs,
        timeline=timeline,
        reads=reads,
        findings=find(program, matching, orders, reads, job.workload),
        warnings=tuple(
            (operation.iteration, str(operation.argument))
            for operation in program.ranks[0].operations
            if isinstance(operation, Mark) and operation.event == "warning"
        ),
        failure=_first_failure(program),
        measures=measure(timeline, job.costs, job.workload),
        notes=job.notes,
        remarks=remarks(scenario, job),
    )


def _first_failure(program: Program) -> FrameworkFailure | None:
    failures = [rank.failure for rank in program.ranks if rank.failure is not None]
    return min(failures, key=lambda failure: failure.iteration, default=None)
