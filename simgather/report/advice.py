"""The next step worth taking: what another policy would do instead, or where the most time is lost."""

from __future__ import annotations

from dataclasses import dataclass

from simgather.report.report import Report
from simgather.verdict.exposure import Exposure, exposures

FIX = "megatron-core-0.11"
ALWAYS_SAFE = "synchronous"
BROKEN_RELEASES = ("megatron-core-0.8", "megatron-core-0.10")


def alternative_policy(report: Report) -> str | None:
    """The policy to try instead; None if this one is safe, or nothing safer is left."""
    policy = report.scenario.policy.name
    if report.verdict == "safe" or policy == ALWAYS_SAFE:
        return None
    return FIX if policy in BROKEN_RELEASES else ALWAYS_SAFE


@dataclass(frozen=True, slots=True)
class Loss:
    """The forward kernel that lost the most time in the steady iteration, on the slowest rank."""

    exposure: Exposure
    share_of_forward: float


def largest_loss(report: Report) -> Loss | None:
    """Where the most forward time is lost; None if nothing is, or no forward pass was finished."""
    steady = report.steady
    if steady is None or not steady.forward_ns:
        return None
    lost = [one for one in exposures(report.timeline, steady.rank) if one.iteration == steady.iteration]
    if not lost:
        return None
    worst = max(lost, key=lambda one: one.exposed_ns + one.host_bound_ns)
    return Loss(worst, (worst.exposed_ns + worst.host_bound_ns) / steady.forward_ns)
