"""Cancels a coroutine at each place where it waits, one after the other."""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class CancelledAt:
    """Awaits `work` up to its wait number `step` and cancels it there: at once, or with `late` when what it waits for
    is done, as a time-out does that comes in the same turn of the loop. `was_reached` tells whether it waits so
    often."""

    def __init__(self, work: Coroutine[Any, Any, object], step: int, *, late: bool) -> None:
        self._work = work
        self._step = step
        self._late = late
        self.was_reached = False

    def __await__(self) -> Generator[Any, Any, None]:
        waits, count = self._work.__await__(), 0
        try:
            waited_for = next(waits)
            while True:
                if count == self._step:
                    self.was_reached = True
                    yield from self._wait_for(waited_for)
                    waited_for = waits.throw(asyncio.CancelledError())
                else:
                    try:
                        given = yield waited_for
                    except BaseException as error:  # noqa: BLE001 it is the coroutine's
                        waited_for = waits.throw(error)
                    else:
                        waited_for = waits.send(given)
                count += 1
        except (StopIteration, asyncio.CancelledError):
            return

    def _wait_for(self, waited_for: Any) -> Generator[Any, Any, None]:
        if self._late:
            try:
                yield waited_for
            except Exception:  # noqa: BLE001 the cancellation takes its place
                return
        elif waited_for is not None:
            waited_for._asyncio_future_blocking = False
            waited_for.cancel()
