"""What the scenario's collectives cost, per bucket."""

from __future__ import annotations

from simgather.costs.collective import transfer_ns
from simgather.costs.link import find_link, link_transfer_ns
from simgather.errors import InputError
from simgather.scenario.schema import CollectiveCost
from simgather.workload.workload import Workload


def collective_times(cost: CollectiveCost, workload: Workload, key: str) -> tuple[int, ...]:
    """Nanoseconds per bucket, in gather order; `key` is where the scenario states the cost.

    Raises:
        InputError: there is not one time per bucket, or no link of that name.

    """
    if cost.times_ns is not None:
        if len(cost.times_ns) != len(workload.buckets):
            raise InputError(
                f"{len(cost.times_ns)} times for {len(workload.buckets)} buckets; give one per bucket, in gather order",
                key=f"{key}.times",
            )
        return cost.times_ns
    link = None if cost.link is None else find_link(cost.link, key=f"{key}.link")
    if link is not None:
        sizes = (bucket.numel * workload.element_bytes for bucket in workload.buckets)
        return tuple(link_transfer_ns(size_bytes, ranks=workload.dp, link=link) for size_bytes in sizes)
    return tuple(
        transfer_ns(
            bucket.numel * workload.element_bytes,
            ranks=workload.dp,
            latency_ns=cost.latency_ns or 0,
            bus_bandwidth=cost.bus_bandwidth or 1,
        )
        for bucket in workload.buckets
    )
