"""When a bucket's gradient reduce-scatter is dispatched: frameworks count gradients in different ways, and may assert.

During the last microbatch's backward every parameter announces its gradient; the rule here says whether that was the
bucket's last one. What a release of Megatron-core asserts along the way is raised as `GradientSyncError`.
"""

from __future__ import annotations

from collections.abc import Sequence


class GradientSyncError(Exception):
    """An assertion of the framework's gradient sync; `text` is the framework's own."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class GradientSync:
    """Decides, bucket by bucket, when all gradients are there. `parameter_counts` is indexed by bucket."""

    def __init__(self, parameter_counts: Sequence[int]) -> None:
        self.parameter_counts = tuple(parameter_counts)

    def start_of_iteration(self) -> None:
        """Forget the last iteration's gradients."""

    def ready(self, bucket: int, parameter: int, remaining: int) -> bool:
        """Whether to dispatch now that `parameter` has its gradient, with `remaining` announcements to come."""
        raise NotImplementedError

    def finish(self, bucket: int) -> bool:
        """At the end of backward: whether the bucket is still to be dispatched."""
        raise NotImplementedError


class WholeBucketSync(GradientSync):
    """The plain rule: dispatch after the last backward that touches the bucket; an untouched bucket goes last."""

    def __init__(self, parameter_counts: Sequence[int]) -> None:
        super().__init__(parameter_counts)
        self._dispatched: set[int] = set()

    def start_of_iteration(self) -> None:
        """Forget which buckets were dispatched."""
        self._dispatched.clear()

    def ready(self, bucket: int, parameter: int, remaining: int) -> bool:  # noqa: ARG002
        """Dispatch after the last announcement."""
        if remaining:
            return False
        self._dispatched.add(bucket)
        return True

    def finish(self, bucket: int) -> bool:
        """Dispatch what no backward touched."""
        return bucket not in self._dispatched


class CountedSync(GradientSync):
    """Megatron-core up to 0.11: every parameter of the bucket exactly once, anything else asserts."""

    def __init__(self, parameter_counts: Sequence[int]) -> None:
        super().__init__(parameter_counts)
        self._with_grad: list[set[int]] = [set() for _ in self.parameter_counts]

    def start_of_iteration(self) -> None:
        """Forget all gradients."""
        for parameters in self._with_grad:
            parameters.clear()

    def ready(self, bucket: int, parameter: int, remaining: int) -> bool:  # noqa: ARG002
        """Dispatch when the last parameter of the bucket arrives."""
        with_grad = self._with_grad[bucket]
        if parameter in with_grad:
            raise GradientSyncError("Cannot set grad twice")
        with_grad.add(parameter)
        return len(with_grad) == self.parameter_counts[bucket]

    def finish(self, bucket: int) -> bool:
        """Assert that the bucket was dispatched during backward."""
        if len(self._with_grad[bucket]) != self.parameter_counts[bucket]:
            raise _not_issued(len(self._with_grad[bucket]), self.parameter_counts[bucket])
        return False


class LearnedSync(GradientSync):
    """Megatron-core from 0.16 on: how often each parameter announces itself is learned in the first batch.

    Until a bucket has learned its counts its reduce-scatter is dispatched at the end of backward.
    """

    def __init__(self, parameter_counts: Sequence[int]) -> None:
        super().__init__(parameter_counts)
        self._learned: list[dict[int, int] | None] = [None] * len(self.parameter_counts)
        self._counts: list[dict[int, int]] = [{} for _ in self.parameter_counts]
        self._issued: set[int] = set()

    def start_of_iteration(self) -> None:
        """Keep the counts of a bucket's first batch; assert that they cover the whole bucket."""
        self._issued.clear()
        for bucket in reversed(range(len(self.parameter_counts))):
            counts = self._counts[bucket]
            if self._learned[bucket] is None and counts:
                if len(counts) != self.parameter_counts[bucket]:
                    raise GradientSyncError("")
                self._learned[bucket] = counts
            self._counts[bucket] = {}

    def ready(self, bucket: int, parameter: int, remaining: int) -> bool:  # noqa: ARG002
        """Dispatch when the counts equal the learned ones."""
        counts = self._counts[bucket]
        counts[parameter] = counts.get(parameter, 0) + 1
        issue = counts == self._learned[bucket]
        if issue:
            self._issued.add(bucket)
        return issue

    def finish(self, bucket: int) -> bool:
        """Dispatch in the first batch; later assert that it was dispatched during backward."""
        if self._learned[bucket] is None:
            return True
        if bucket not in self._issued:
            raise _not_issued(len(self._counts[bucket]), self.parameter_counts[bucket])
        return False


def _not_issued(with_grad: int, parameters: int) -> GradientSyncError:
    return GradientSyncError(
        f"Communication call has not been issued for this bucket ({with_grad}/{parameters} params have grad available)"
    )
