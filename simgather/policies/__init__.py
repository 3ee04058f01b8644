"""The built-in policies by name."""

from __future__ import annotations

from simgather.policies.base import FrameworkError, Gather, Host, ModuleCall, Policy, PolicyError
from simgather.policies.bounds import AllUpfront, Prefetch, Synchronous
from simgather.policies.megatron import MegatronCore010, MegatronCore011, MegatronCore016, MegatronCore08

__all__ = ["POLICIES", "FrameworkError", "Gather", "Host", "ModuleCall", "Policy", "PolicyError", "make_policy"]

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        MegatronCore08,
        MegatronCore010,
        MegatronCore011,
        MegatronCore016,
        AllUpfront,
        Synchronous,
        Prefetch,
    )
}


def make_policy(name: str, depth: int | None = None) -> Policy:
    """A fresh policy by its built-in name; only ``prefetch`` takes a `depth`."""
    if name == Prefetch.name:
        return Prefetch(1 if depth is None else depth)
    return POLICIES[name]()
