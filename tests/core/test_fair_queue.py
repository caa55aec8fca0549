import asyncio
from uuid import UUID, uuid4

import pytest

from core.concurrency import fair_queue
from core.concurrency.fair_queue import FREE_TURN, MAX_WAITING, RESERVED_TURNS, FairQueue, Turn
from core.errors import LimitReached
from tests.support.eventually import within

LOUD, QUIET, THIRD = uuid4(), uuid4(), uuid4()


def enter(queue: FairQueue, tenant: UUID, calls: int) -> list[Turn]:
    """Let so many calls of a tenant in; the turns of those that are counted."""
    turns = [queue.enter(tenant) for _ in range(calls)]
    assert all(isinstance(turn, Turn) for turn in turns)
    return [turn for turn in turns if isinstance(turn, Turn)]


def count_begun(turns: list[Turn]) -> int:
    return sum(turn.is_held for turn in turns)


@pytest.fixture
async def queue() -> FairQueue:
    """A queue of four turns that two tenants have called: nobody is alone."""
    queue = FairQueue(4)
    queue.enter(LOUD)
    queue.enter(QUIET).release()
    return queue


async def test_a_tenant_who_is_alone_never_waits() -> None:
    queue = FairQueue(1)
    assert all(queue.enter(LOUD) is FREE_TURN for _ in range(1000))


async def test_another_tenant_begins_at_once_whatever_waits(queue: FairQueue) -> None:
    loud = enter(queue, LOUD, 100)
    assert count_begun(loud) == 4
    assert count_begun(enter(queue, QUIET, RESERVED_TURNS)) == RESERVED_TURNS
    assert count_begun(enter(queue, THIRD, 1)) == 1


async def test_tenants_take_turns(queue: FairQueue) -> None:
    loud = enter(queue, LOUD, 104)
    others = [enter(queue, tenant, 30) for tenant in (QUIET, THIRD)]
    for _ in range(34):  # a call ends, the next begins
        next(iter(queue.held)).release()
    begun = [sum(turn.waiter is None or turn.waiter.done() for turn in turns) for turns in (loud, *others)]
    assert sum(begun) == len(queue.held) + 34
    assert max(begun) - min(begun) <= 4, begun  # the loud one had its four before the others came


async def test_a_call_that_waits_for_its_vendor_holds_no_turn(queue: FairQueue) -> None:
    loud = enter(queue, LOUD, 6)
    assert count_begun(loud) == 4
    loud[0].release()
    loud[1].release()
    assert count_begun(loud) == 4
    await asyncio.wait_for(loud[4].wait(), 1)
    loud[0].resume()
    assert len(queue.held) == 5, "it comes back without a wait"
    loud[2].release()
    later = enter(queue, LOUD, 1)
    assert count_begun(later) == 0


async def test_calls_begin_in_the_order_in_which_they_came(queue: FairQueue) -> None:
    loud = enter(queue, LOUD, 8)
    for number in range(4):
        loud[number].release()
        assert [turn.is_held for turn in loud] == [False] * (number + 1) + [True] * 4 + [False] * (3 - number)


async def test_one_that_is_cancelled_while_it_waits_leaves_nothing(queue: FairQueue) -> None:
    loud = enter(queue, LOUD, 6)
    waiting = [asyncio.create_task(turn.wait()) for turn in loud[4:]]
    await asyncio.sleep(0)
    waiting[0].cancel()
    loud[0].release()  # the turn comes in the same moment
    waiting[1].cancel()
    await asyncio.wait(waiting)
    for turn in loud[1:4]:
        turn.release()
    assert not queue.held
    assert queue.count_waiting() == 0


async def test_too_many_waiting_calls_are_refused_of_their_tenant_alone(queue: FairQueue) -> None:
    enter(queue, LOUD, MAX_WAITING + 4)
    with pytest.raises(LimitReached, match="fewer calls"):
        queue.enter(LOUD)
    assert count_begun(enter(queue, QUIET, 1)) == 1


async def test_one_that_has_waited_for_too_long_is_refused(queue: FairQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_queue, "MAX_WAIT_SECONDS", 0.0)
    loud = enter(queue, LOUD, 5)
    with pytest.raises(LimitReached, match="busy"):
        await asyncio.wait_for(loud[4].wait(), 5)
    assert loud[4].is_held is False
    assert queue.count_waiting() == 0


async def test_a_turn_that_is_held_for_long_is_given_on(queue: FairQueue) -> None:
    """A module that waits for a server of its own must not stop its tenant."""
    loud = enter(queue, LOUD, 9)
    await asyncio.wait_for(loud[8].wait(), 5)
    for turn in loud:
        turn.release()
    assert not queue.held


async def test_nobody_gets_two_turns_of_a_round_by_an_emptied_queue(queue: FairQueue) -> None:
    quiet = enter(queue, QUIET, RESERVED_TURNS + 1)
    loud = enter(queue, LOUD, 20)
    assert count_begun(quiet) == 3
    more = enter(queue, QUIET, 1)
    assert count_begun(more) == 0
    for turn in quiet:  # below its reserve its call begins, though it is another's turn
        turn.release()
    assert count_begun(more) == 1
    enter(queue, QUIET, 10)
    assert len(queue.waiting) == len({id(share) for share in queue.waiting}) == 2
    assert loud


async def test_after_a_rest_the_only_one_is_alone_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_queue, "REST_SECONDS", 0.01)
    queue = FairQueue(1)
    queue.enter(QUIET).release()
    turn = queue.enter(LOUD)
    assert turn is not FREE_TURN
    turn.release()

    async def is_alone() -> bool:
        turn = queue.enter(LOUD)
        turn.release()
        return turn is FREE_TURN

    async def is_empty() -> bool:
        return not len(queue)

    await within(5, is_alone)
    await within(5, is_empty)
