"""What is too narrow to be told apart is drawn together: kernels as one block, outlines as one outline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from simgather.report.plot.scene import Block


def merged(blocks: Sequence[Block], finest_ns: int) -> Iterator[Block]:
    """Narrow neighbours of one pass, the same buckets and the same marks become one block that counts them."""
    current: Block | None = None
    for block in blocks:
        if current is not None and _may_merge(current, block, finest_ns):
            current = replace(current, end_ns=block.end_ns, count=current.count + block.count)
        else:
            if current is not None:
                yield current
            current = block
    if current is not None:
        yield current


def _may_merge(one: Block, other: Block, finest_ns: int) -> bool:
    """`one` may be many already: it is judged by how wide each of them is."""
    return (
        (one.end_ns - one.start_ns) < finest_ns * one.count
        and other.end_ns - other.start_ns < finest_ns
        and other.start_ns - one.end_ns <= finest_ns // 8
        and (one.kind, one.buckets, one.marks) == (other.kind, other.buckets, other.marks)
    )


def marked_runs(blocks: Sequence[Block], narrow_ns: int) -> Iterator[tuple[int, int, str, int]]:
    """What to outline: start, end, the worst mark, and of how many kernels; narrow neighbours are outlined together."""
    run: tuple[int, int, str, int] | None = None
    before_ns = 0
    for block in blocks:
        kind = block.marks[0] if block.marks else None
        narrow = block.end_ns - block.start_ns < narrow_ns
        if run is not None and kind == run[2] and narrow and before_ns < narrow_ns and run[1] == block.start_ns:
            run = (run[0], block.end_ns, run[2], run[3] + block.count)
        else:
            if run is not None:
                yield run
            run = None if kind is None else (block.start_ns, block.end_ns, kind, block.count)
        before_ns = block.end_ns - block.start_ns
    if run is not None:
        yield run
