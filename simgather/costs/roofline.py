"""How long a kernel takes: the longer of its arithmetic and its memory traffic, on a named GPU."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from simgather.errors import InputError
from simgather.workload.model import Work

NS_PER_S = 1_000_000_000
_TERA = 10**12


@dataclass(frozen=True, slots=True)
class Gpu:
    """What bounds a kernel.

    `peak_flops_per_second` is the dense bf16 rate of the data sheet; large matrix multiplications (2048 tokens and
    more) reach `achieved_fraction` of it. `memory_bytes_per_second` is the data sheet's too.
    """

    name: str
    peak_flops_per_second: int
    memory_bytes_per_second: int
    achieved_fraction: Fraction

    def __str__(self) -> str:
        reached = float(self.peak_flops_per_second * self.achieved_fraction) / _TERA
        return f"{self.name}, {reached:g} TFLOP/s reached, {self.memory_bytes_per_second / _TERA:g} TB/s"


_MEASURED_A100 = Fraction(3, 4)
_MEASURED_H100 = Fraction(7, 10)
_ASSUMED = Fraction(7, 10)

GPUS: dict[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        # NVIDIA A100 80 GB SXM data sheet: 312 TFLOP/s, 2.0 TB/s. 0.75 of it is measured in large Megatron layers.
        Gpu("a100-sxm-80", 312 * _TERA, 2 * _TERA, _MEASURED_A100),
        # NVIDIA H100 SXM data sheet: 989 TFLOP/s, 3.35 TB/s. 0.70 of it is measured: 690 TFLOP/s.
        Gpu("h100-sxm", 989 * _TERA, 3_350 * 10**9, _MEASURED_H100),
        # NVIDIA H200 SXM data sheet: the H100's chip with 4.8 TB/s.
        Gpu("h200-sxm", 989 * _TERA, 4_800 * 10**9, _MEASURED_H100),
        # NVIDIA B200 data sheet: 2.25 PFLOP/s, 8 TB/s.
        Gpu("b200", 2_250 * _TERA, 8 * _TERA, _ASSUMED),
        # NVIDIA L40S data sheet: 362 TFLOP/s, 864 GB/s.
        Gpu("l40s", 362 * _TERA, 864 * 10**9, _ASSUMED),
        # NVIDIA Ada architecture paper, GeForce RTX 4090: 165 TFLOP/s with fp32 accumulation, 1008 GB/s.
        Gpu("rtx-4090", 165 * _TERA, 1_008 * 10**9, _ASSUMED),
        # AMD Instinct MI300X data sheet: 1.3 PFLOP/s, 5.3 TB/s.
        Gpu("mi300x", 1_300 * _TERA, 5_300 * 10**9, _ASSUMED),
    )
}
"""Known GPUs by name; where the achieved fraction is not measured, 0.70 is assumed."""


def duration_ns(work: Work, gpu: Gpu) -> int:
    """Time of one kernel in nanoseconds, rounded once; no work takes no time."""
    arithmetic = Fraction(work.flops * NS_PER_S) / (gpu.peak_flops_per_second * gpu.achieved_fraction)
    traffic = Fraction(work.bytes * NS_PER_S, gpu.memory_bytes_per_second)
    return round(max(arithmetic, traffic))


def find_gpu(name: str, key: str | None = None) -> Gpu:
    """The GPU of that name, in whatever case it is written; `key` is where the scenario names it.

    Raises:
        InputError: there is none; names the nearest.

    """
    folded = name.casefold()
    if folded in GPUS:
        return GPUS[folded]
    near = get_close_matches(folded, GPUS, n=1, cutoff=0.5) or [known for known in GPUS if folded and folded in known]
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(GPUS)}"
    raise InputError(f"no GPU {name[:40]!r}: {hint}", key=key)
