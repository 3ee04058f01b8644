"""What a data-parallel job holds and runs: modules, their parameters, and the order in which forward uses them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter tensor of a module.

    `name` is relative to the module (``weight``). A `frozen` parameter (requires_grad false) is in no bucket. A
    `shared_embedding` parameter (tied over pipeline stages) is alone in its bucket.
    """

    name: str
    shape: tuple[int, ...]
    frozen: bool = False
    shared_embedding: bool = False

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one kernel has to do: floating-point operations and bytes moved through device memory."""

    flops: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module with its own parameters (children's are theirs), in registration order.

    `forward_ns` and `backward_ns` are the durations of its one kernel per pass, in nanoseconds, before any skew.
    """

    name: str
    parameters: tuple[Parameter, ...]
    forward_ns: int
    backward_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One step of an execution order: a module runs, or its weight is used without calling it.

    `module` is an index into the workload's modules, `module_name` its name. A `functional` use runs no forward
    pre-hook. It is a kernel of its own: `name` (default: the module's name) and durations may differ from the
    module's, as when a tied output layer multiplies by the embedding's weight.
    """

    module: int
    module_name: str
    functional: bool
    name: str
    forward_ns: int
    backward_ns: int
