"""Why a read is stale, in sentences: from the events of its iteration, not from any rule about the policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from simgather.program.operations import Dispatch, Kernel, Operation, Wait
from simgather.report.report import Report
from simgather.verdict.reads import Read

MOST_PLACES = 3

Place = tuple[str, int]
"""A use and the bucket it reads."""


def explain(report: Report) -> list[str]:
    """Sentences for the first few modules whose forward read is not ordered; empty if there is none."""
    forward: dict[Place, list[Read]] = defaultdict(list)
    backward: dict[Place, list[Read]] = defaultdict(list)
    for read in report.reads:
        if not read.recomputed and read.order != "initial":
            is_forward = read.phase in ("forward", "functional")
            (forward if is_forward else backward)[read.use, read.bucket].append(read)
    unordered = {
        place: [read for read in reads if read.order in ("undispatched", "unordered")]
        for place, reads in forward.items()
    }
    places = [place for place, reads in unordered.items() if reads]
    sentences = [
        sentence
        for place in places[:MOST_PLACES]
        for sentence in _explain_place(report, place, unordered[place], forward[place], backward[place])
    ]
    if len(places) > MOST_PLACES:
        sentences.append(f"{len(places) - MOST_PLACES} more modules have such reads: see --json.")
    return sentences


def _explain_place(
    report: Report, place: Place, unordered: Sequence[Read], forward: Sequence[Read], backward: Sequence[Read]
) -> Iterator[str]:
    use, bucket = place
    first = unordered[0]
    operations = _iteration(report, first.iteration)
    position = next((index for index, item in enumerate(operations) if _reads(report, item, use, bucket)), None)
    if position is None:
        return
    yield f"{use} reads bucket {bucket}. {_handle(operations, position, first)}"
    if first.order == "undispatched":
        yield from _overtaken(report, operations, position, bucket)
    yield f"What it saw: {_saw(unordered)}. {_iterations_of(unordered, forward)}"
    if backward:
        yield _backward(backward)


def _iteration(report: Report, iteration: int) -> list[Operation]:
    operations = report.timeline.program.ranks[0].operations
    return [operation for operation in operations if operation.iteration == iteration]


def _reads(report: Report, operation: Operation, use: str, bucket: int) -> bool:
    return (
        isinstance(operation, Kernel)
        and operation.in_forward_pass
        and operation.use.name == use
        and any(read.bucket == bucket for read in report.workload.reads[operation.use.module])
    )


def _handle(operations: Sequence[Operation], position: int, read: Read) -> str:
    """What its pre-hook found."""
    if read.phase == "functional":
        hook = "Its weight is used without calling the module, so no pre-hook runs and nothing waits"
    elif read.order == "undispatched":
        hook = "At its pre-hook the bucket's handle is None: there is nothing to wait for"
    else:
        hook = "Its pre-hook does not wait"
    if read.order == "undispatched":
        later = next(
            (index for index in range(position, len(operations)) if _dispatches(operations[index], read.bucket)), None
        )
        if later is None:
            return f"{hook}, and no all-gather of bucket {read.bucket} is dispatched in the whole iteration."
        return (
            f"{hook}; the all-gather is dispatched only {_moment(operations, later)}, and {_waited(operations, later)}."
        )
    earlier = max(index for index in range(position) if _dispatches(operations[index], read.bucket))
    return f"{hook} for the all-gather that was dispatched {_moment(operations, earlier)}."


def _dispatches(operation: Operation, bucket: int) -> bool:
    return isinstance(operation, Dispatch) and operation.collective == "all-gather" and operation.bucket == bucket


def _moment(operations: Sequence[Operation], position: int) -> str:
    kernel = next((item for item in operations[position:] if isinstance(item, Kernel)), None)
    return f"in the pre-hook of {kernel.use.name}" if kernel else "at the end of the iteration"


def _waited(operations: Sequence[Operation], position: int) -> str:
    dispatch = operations[position]
    sequence = dispatch.sequence if isinstance(dispatch, Dispatch) else -1
    waits = (isinstance(item, Wait) and item.sequence == sequence for item in operations[position:])
    return "waited for after the read" if any(waits) else "nothing waits for it"


def _overtaken(report: Report, operations: Sequence[Operation], position: int, bucket: int) -> Iterator[str]:
    """Which earlier buckets it overtook: gathered before its own, but first read after it."""
    readers: dict[int, tuple[int, str]] = {}
    for index, item in enumerate(operations):
        if isinstance(item, Kernel) and item.in_forward_pass:
            for read in report.workload.reads[item.use.module]:
                readers.setdefault(read.bucket, (index, item.use.name))
    overtaken = [
        (earlier, readers[earlier][1]) for earlier in range(bucket) if readers.get(earlier, (0, ""))[0] > position
    ]
    if overtaken:
        earlier, reader = overtaken[0]
        yield (
            f"It runs before {reader}, the first reader of bucket {earlier}: execution order and gather order "
            f"({earlier} before {bucket}) disagree."
        )


def _saw(reads: Sequence[Read]) -> str:
    """What the last of the reads saw on each rank, ranks that saw the same together."""
    read = reads[-1]
    ranks: dict[str, list[int]] = defaultdict(list)
    for rank, (state, fresh, age) in enumerate(zip(read.state, read.fresh_elements, read.age, strict=True)):
        if state is not None and fresh is not None:
            ranks[_share(state, 100 * fresh / read.elements, age or 0)].append(rank)
    return "; ".join(
        f"{share} on {'every rank' if len(who) == len(read.state) else 'rank ' + ', '.join(map(str, who))}"
        for share, who in ranks.items()
    )


def _share(state: str, new_percent: float, age: int) -> str:
    if state == "fresh":
        return "all of it new under this timing"
    old = "one step" if age == 1 else f"up to {age} steps"
    if state == "torn":
        return f"at least {new_percent:.1f} % new, the rest arriving during the read and up to {old} old"
    return f"{new_percent:.1f} % new (its own shard), {100 - new_percent:.1f} % {old} old"


def _iterations_of(unordered: Sequence[Read], forward: Sequence[Read]) -> str:
    affected = sorted({read.iteration for read in unordered})
    every = affected == sorted({read.iteration for read in forward})
    numbers = f"{affected[0]}-{affected[-1]}" if len(affected) > 1 else f"{affected[0]}"
    if every:
        return f"So on every iteration after the first optimizer step ({numbers})."
    return f"On {len(affected)} iteration(s), {affected[0]} the first."


def _backward(backward: Sequence[Read]) -> str:
    orders = {read.order for read in backward}
    read = backward[-1]
    if orders == {"ordered"}:
        return "Its backward pass is ordered and reads this step's weights: other weights than its forward used."
    if "undispatched" in orders:
        return f"Its backward pass reads the same old weights again ({_saw(backward)})."
    states = ", ".join(sorted({state for state in read.state if state is not None}))
    return (
        "Its backward pass reads again after the all-gather was dispatched, with nothing to wait for it: a race "
        f"({states} under this timing), so forward and backward may use different weights."
    )
