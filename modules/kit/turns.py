"""Long work on one text in turns of the event loop, so that others are served in between
(docs/decisions/0071-conversions-in-turns.md).

A converter is a plain function that calls :func:`count_work` as it goes on. Called as any function it runs to its end;
called by :func:`run_in_turns` it is left there and resumed, from whatever depth of calls.
"""

import asyncio
import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from greenlet import getcurrent, greenlet

TURN = 10_000
"""Work between two turns, in characters of dense Markdown: 2 to 5 ms."""

_Made = TypeVar("_Made")
_Item = TypeVar("_Item")

_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
_left = TURN


class _Work(greenlet):
    """A call that rests in the middle; the parent is the event loop's."""


async def run_in_turns(function: Callable[..., _Made], *args: Any, size: int) -> _Made:
    """Return what a function returns that calls :func:`count_work`. The work of many short calls adds up, and of those
    that rest one goes on in each turn of the loop.

    The function has no context variables, and may not count within code of another language that calls Python back,
    such as a validator of pydantic. `size` is the length of what is converted, or of the JSON that has it: what fits
    into this turn is called as it is, for a greenlet of its own costs 12 µs.
    """
    if size < _left:
        return function(*args)
    work = _Work(function)
    made = _go_on(work, *args)
    try:
        while not work.dead:
            async with _queues.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                await asyncio.sleep(0)
                made = _go_on(work)
    finally:
        if not work.dead:  # the task was cancelled
            work.throw()
    return made


def _go_on(work: _Work, *args: Any) -> Any:
    """Work for a turn, in which nothing becomes garbage that only the collector frees. What a document is made of would
    have it look through everything, often and in the middle of a turn."""
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        return work.switch(*args)
    finally:
        if is_collecting:
            gc.enable()


def count_work(size: int) -> None:
    """Count work on so many characters that was done or begins now; others may be served before it returns."""
    global _left
    _left -= size
    if _left < 0:
        _take_rest()


def count_each(items: Sequence[_Item], size: int = 50) -> Sequence[_Item] | Iterator[_Item]:
    """The items, of which each is as much work as `size` characters; few are not counted."""
    return items if len(items) < 100 else _count_each(items, size)


def _count_each(items: Sequence[_Item], size: int) -> Iterator[_Item]:
    for item in items:
        count_work(size)
        yield item


def _take_rest() -> None:
    global _left
    current = getcurrent()
    if isinstance(current, _Work) and current.parent is not None:
        current.parent.switch()
    _left = TURN
