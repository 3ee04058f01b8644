"""What a timeline draws of one rank, as plain data: blocks, transfers, idle time, waits and host work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simgather.program.operations import CollectiveKind

BlockKind = Literal["forward", "backward", "optimizer"]
IdleKind = Literal["exposed", "host-bound"]
HostKind = Literal["dispatch", "launch", "wait", "sync"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One kernel on the compute lane, or `count` neighbours drawn as one; `marks` are what is wrong with its reads."""

    start_ns: int
    end_ns: int
    kind: BlockKind
    buckets: tuple[int, ...]
    name: str
    count: int = 1
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One collective on the NCCL lane; `end_ns` is None if it never starts. `mark` is what is wrong with it."""

    ready_ns: int
    start_ns: int
    end_ns: int | None
    kind: CollectiveKind
    bucket: int
    mark: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """Time the compute stream lost before a forward kernel; without end (`endless`) after a hang."""

    start_ns: int
    end_ns: int
    kind: IdleKind
    endless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """An event wait: from a collective's end to the kernel that waited; `binding` if the kernel had to."""

    from_ns: int
    to_ns: int
    kind: CollectiveKind
    bucket: int
    binding: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStep:
    """What the host thread does; `bucket` is that of a dispatched all-gather."""

    start_ns: int
    end_ns: int
    kind: HostKind
    bucket: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One rank's lanes. `stop_ns` is when its host raised the framework's exception."""

    rank: int
    alike: tuple[int, ...]
    blocks: tuple[Block, ...]
    transfers: tuple[Transfer, ...]
    idle: tuple[Idle, ...]
    arrows: tuple[Arrow, ...]
    host: tuple[HostStep, ...]
    stop_ns: int | None
