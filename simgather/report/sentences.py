"""What a report says in sentences, unwrapped: written once, for the terminal and the page."""

from __future__ import annotations

from simgather.costs.link import find_link
from simgather.report.advice import alternative_policy, largest_loss
from simgather.report.report import VERDICTS, Report
from simgather.report.wording import count, ms, percent, policy_title, ranges, some
from simgather.units import format_bytes, format_time


def about(report: Report) -> list[str]:
    """What was simulated, a line each; without the scenario's name and the notes."""
    scenario, workload, costs = report.scenario, report.workload, report.costs
    training = workload.training
    parameters = sum(parameter.numel for module in workload.modules for parameter in module.parameters)
    return [
        (
            f"policy {policy_title(scenario.policy)}, {count(workload.dp, 'GPU')}, "
            f"{count(training.iterations, 'iteration')} of {count(training.microbatches, 'microbatch', 'es')}, "
            f"recompute {training.recompute}"
        ),
        (
            f"{count(len(workload.modules), 'module')}, {parameters:,} parameters of {workload.element_bytes} bytes, "
            f"{count(len(workload.buckets), 'bucket')}"
        ),
        f"all-gather: {_gather_cost(report)}",
        (
            f"host: launch {format_time(costs.launch_ns)}, wait {format_time(costs.wait_ns)}, "
            f"collective {format_time(costs.dispatch_ns)}; connections {scenario.cluster.connections}"
        ),
    ]


def verdict_sentence(report: Report) -> str:
    """What the verdict means here, without the word itself and without a full stop."""
    text = VERDICTS[report.verdict]
    if report.stale_reads:
        modules = list(dict.fromkeys(read.use for read in report.stale_reads))
        iterations = sorted({read.iteration for read in report.stale_reads})
        text += (
            f"; {count(len(report.stale_reads), 'stale or unordered read')} in {ranges(iterations, 'iteration')} "
            f"by {some(modules)}"
        )
    return text


def next_step(report: Report, alternative: Report | None) -> str:
    """The one next step worth taking; it compares with the alternative if there is one."""
    return _where_time_goes(report) if alternative is None else _compare(report, alternative)


def _gather_cost(report: Report) -> str:
    gather = report.scenario.cluster.gather
    if gather.times_ns is not None:
        return "fixed times per bucket, from the scenario"
    if gather.link is not None:
        link = find_link(gather.link)
        return f"NCCL's ring model over {link.name} ({link.source})"
    return (
        f"latency {format_time(gather.latency_ns or 0)} + size x (n-1)/n / {format_bytes(gather.bus_bandwidth or 0)}/s"
    )


def _compare(report: Report, alternative: Report) -> str:
    policy = alternative_policy(report)
    if alternative.verdict != "safe":
        return (
            f"no built-in policy gets this scenario through: even {policy} ends in {alternative.verdict.upper()}; mend "
            "what the findings name first."
        )
    ours, theirs = report.steady, alternative.steady
    text = f"{policy} instead is safe"
    if theirs is not None:
        text += f": forward {ms(theirs.forward_ns)} ms, exposed {ms(theirs.exposed_ns)} ms"
        if theirs.overlap_efficiency is not None:
            text += f", overlap {percent(theirs.overlap_efficiency)} %"
        text += ", 0 stale reads"
    if ours is not None and theirs is not None and ours.forward_ns and theirs.forward_ns and report.failure is None:
        difference = theirs.forward_ns - ours.forward_ns
        relative = 100 * difference / ours.forward_ns
        text += f"; that is {ms(difference, sign=True)} ms ({relative:+.1f} %) of forward time per iteration"
        if report.verdict == "stale":
            text += (
                ", the price of reading this step's weights" if difference > 0 else ": correctness costs nothing here"
            )
    if alternative.warnings:
        text += f"; it warns {len(alternative.warnings)}x that the orders do not match"
    return text + f". Try it: --set policy={policy}"


def _where_time_goes(report: Report) -> str:
    policy = alternative_policy(report)
    if policy is not None:
        return f"see what {policy} does instead: --set policy={policy}"
    if report.verdict != "safe":
        return "no built-in policy gets this scenario through; mend what the findings name first."
    loss = largest_loss(report)
    if loss is None:
        return "nothing: no forward kernel is exposed or host-bound."
    exposure = loss.exposure
    if exposure.host_bound_ns > exposure.exposed_ns:
        return (
            f"the host is the limit: {exposure.use} is launched {format_time(exposure.host_bound_ns)} after its stream "
            f"ran dry, {100 * loss.share_of_forward:.1f} % of the forward time."
        )
    bucket = "" if exposure.bucket is None else f" for bucket {exposure.bucket}"
    text = (
        f"the largest loss is {exposure.use}: it waits {format_time(exposure.exposed_ns)}{bucket}, "
        f"{100 * loss.share_of_forward:.1f} % of the forward time. "
    )
    if exposure.bucket == 0:
        return text + "The first gather has nothing to hide behind: a smaller first bucket pays most."
    return text + "What brings that gather forward pays most: another bucket size, or registration in execution order."
