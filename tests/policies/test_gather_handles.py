"""What the buckets remember for a policy, and what they refuse."""

from __future__ import annotations

import pytest

from simgather.errors import SimgatherError
from simgather.policies import Gather, PolicyError
from tests.policies.fake_host import FakeHost


@pytest.fixture
def gather() -> Gather:
    return Gather(3, FakeHost())


def test_a_dispatch_leaves_a_handle_and_a_wait_uses_it_up(gather: Gather) -> None:
    assert not gather.is_dispatched(1)
    assert not gather.has_handle(1)
    gather.dispatch(1)
    assert gather.is_dispatched(1)
    assert gather.has_handle(1)
    gather.wait(1)
    assert gather.is_dispatched(1)
    assert not gather.has_handle(1)


def test_buckets_are_remembered_one_by_one(gather: Gather) -> None:
    gather.dispatch(0)
    assert [gather.is_dispatched(bucket) for bucket in range(3)] == [True, False, False]
    assert [gather.has_handle(bucket) for bucket in range(3)] == [True, False, False]


def test_forgetting_dispatches_keeps_handles_and_dropping_handles_keeps_dispatches(gather: Gather) -> None:
    gather.dispatch(0)
    gather.forget_dispatched()
    assert (gather.is_dispatched(0), gather.has_handle(0)) == (False, True)
    gather.dispatch(0)
    gather.drop_handles()
    assert (gather.is_dispatched(0), gather.has_handle(0)) == (True, False)


def test_a_second_dispatch_replaces_the_handle() -> None:
    host = FakeHost()
    gather = Gather(1, host)
    gather.dispatch(0)
    gather.dispatch(0)
    gather.wait(0)
    assert host.events == [("dispatch", 0), ("dispatch", 0), ("wait", 0)]
    assert not gather.has_handle(0)


def test_waiting_without_a_handle_is_refused_and_says_what_to_do(gather: Gather) -> None:
    with pytest.raises(PolicyError, match="bucket 2 without a handle: dispatch it first, or ask has_handle"):
        gather.wait(2)


def test_waiting_twice_is_refused(gather: Gather) -> None:
    gather.dispatch(0)
    gather.wait(0)
    with pytest.raises(PolicyError):
        gather.wait(0)


@pytest.mark.parametrize("bucket", [-1, 3, 99])
def test_dispatching_a_bucket_that_does_not_exist_is_refused(gather: Gather, bucket: int) -> None:
    with pytest.raises(PolicyError, match=f"bucket {bucket}: there are buckets 0 to 2"):
        gather.dispatch(bucket)


def test_a_policy_error_is_the_users_to_mend() -> None:
    assert issubclass(PolicyError, SimgatherError)
    assert issubclass(PolicyError, RuntimeError)


@pytest.mark.parametrize("bucket", [-1, 3])
@pytest.mark.parametrize("question", ["wait", "is_dispatched", "has_handle"])
def test_asking_about_a_bucket_that_does_not_exist_is_refused(gather: Gather, question: str, bucket: int) -> None:
    for known in range(3):
        gather.dispatch(known)
    with pytest.raises(PolicyError):
        getattr(gather, question)(bucket)
