"""Keep each turn of the event loop short: work that grows with a request is divided into steps, and of the large steps
of all requests together one runs in each turn (docs/decisions/0038-bounded-work-per-turn.md)."""

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

LARGE_STEP_BYTES = 4 * 1024
"""Bytes over which a step is large. Text costs 5 to 10 ns a byte to decode, validate or hash, but a list of numbers
costs 250 ns a byte in `batch`: 1 ms for as many bytes, and a hundred requests may come at once."""

_Waiting = deque["asyncio.Future[None]"]
_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = WeakKeyDictionary()


async def wait_for_turn(size: int) -> None:
    """Wait until a step that works on `size` bytes may begin. It ends at the next ``await`` of its task.

    Small steps never wait. Large ones go in the order in which they came, each in a turn of its own, with whatever else
    is ready between them: a health check waits for one of them, not for all.
    """
    if size > LARGE_STEP_BYTES:
        await _wait_for_next_turn()


async def _wait_for_next_turn() -> None:
    loop = asyncio.get_running_loop()
    queue = _queues.get(loop)
    if queue is None:
        queue = _queues[loop] = deque()
    waiter: asyncio.Future[None] = loop.create_future()
    queue.append(waiter)
    if len(queue) == 1:
        loop.call_soon(_grant_turn, loop, queue)
    await waiter


def _grant_turn(loop: asyncio.AbstractEventLoop, queue: _Waiting) -> None:
    """Let the first one begin, which happens in the next turn; as does the grant for the second one."""
    while queue:
        waiter = queue.popleft()
        if not waiter.done():  # cancelled while it waited
            waiter.set_result(None)
            break
    if queue:
        loop.call_soon(_grant_turn, loop, queue)
