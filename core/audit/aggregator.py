"""Events that come in floods, such as malformed tokens: one record a minute says how many."""

import asyncio
import time
from collections.abc import Callable

from core.audit.event import AuditEvent
from core.audit.writer import AuditWriter


class EventAggregator:
    """Counts one kind of event. A quiet minute costs nothing: the timer runs only after the first."""

    __slots__ = ("_clock", "_count", "_interval", "_kind", "_timer", "_writer")

    def __init__(
        self, writer: AuditWriter, kind: str, *, clock: Callable[[], int] = time.time_ns, interval: float = 60.0
    ) -> None:
        self._writer = writer
        self._kind = kind
        self._clock = clock
        self._interval = interval
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self) -> None:
        """Count one more."""
        self._count += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval, self.flush)

    def flush(self) -> None:
        """Queue what was counted as one event; before the writer closes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        count, self._count = self._count, 0
        if count:
            self._writer.enqueue(AuditEvent(at=self._clock(), kind=self._kind, detail={"count": count}))
