"""A timer that is started and stopped for every piece of work, and seldom fires."""

import asyncio
from collections.abc import Callable

_TOLERANCE = 0.0005  # seconds: event loops count milliseconds, and fire up to their clock's resolution early


class RestartableTimer:
    """Calls `on_due` when the time of its last start is up.

    Starting and stopping it move a number. The event loop's own timer, which costs 1 µs to make and cancel, stays; it
    looks at the number when it fires. One is made only where the new time is before the one that it waits for.
    """

    __slots__ = ("_due", "_fires_at", "_handle", "_loop", "_on_due")

    def __init__(self, loop: asyncio.AbstractEventLoop, on_due: Callable[[], None]) -> None:
        self._loop = loop
        self._on_due = on_due
        self._due: float | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._fires_at = 0.0

    @property
    def is_running(self) -> bool:
        """True from its start until it is due or stopped."""
        return self._due is not None

    def start(self, seconds: float) -> None:
        """Start it, or start it anew."""
        self._due = due = self._loop.time() + seconds
        if self._handle is None or due < self._fires_at:
            self._arm(due)

    def stop(self) -> None:
        """Stop it; it can be started again."""
        self._due = None

    def close(self) -> None:
        """Stop it and let go of the event loop's timer, which refers to it."""
        self._due = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _arm(self, due: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle, self._fires_at = self._loop.call_at(due, self._fire), due

    def _fire(self) -> None:
        self._handle, due = None, self._due
        if due is None:
            return
        if due - self._loop.time() > _TOLERANCE:
            self._arm(due)
            return
        self._due = None
        self._on_due()
