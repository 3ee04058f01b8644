"""The GPU that times a model's modules."""

from __future__ import annotations

from fractions import Fraction

from simgather.costs.roofline import Gpu, find_gpu
from simgather.errors import InputError
from simgather.scenario.schema import Scenario


def find_scenario_gpu(scenario: Scenario) -> Gpu:
    """The GPU that ``cluster.gpu`` names or describes.

    Raises:
        InputError: none is given, or none has that name.

    """
    gpu = scenario.cluster.gpu
    if gpu is None:
        raise InputError("a megatron model needs a GPU to time its modules: gpu: h100-sxm", key="cluster.gpu")
    if gpu.name is not None:
        return find_gpu(gpu.name, key="cluster.gpu")
    return Gpu(
        name="given",
        peak_flops_per_second=gpu.flops_per_second or 0,
        memory_bytes_per_second=gpu.memory_bytes_per_second or 0,
        achieved_fraction=Fraction(1),
    )
