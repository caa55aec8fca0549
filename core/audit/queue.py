"""The records that are not durable yet, in order, and who waits for them."""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from uuid import UUID

from core.errors import Unavailable

MAX_BATCH_RECORDS = 1_000
MAX_BATCH_BYTES = 4 * 1024 * 1024
RECORD_OVERHEAD_BYTES = 250  # what a record costs in memory beside its own bytes

_Record = tuple[UUID, bytes, "asyncio.Future[None] | None", float]


def reject_waiter(waiter: "asyncio.Future[None]", reason: Callable[[], Unavailable] = Unavailable) -> None:
    """Tell a waiter that its record was not written."""
    waiter.set_exception(reason())
    waiter.exception()  # its caller may have been cancelled: that is no fault worth a log line


class RecordQueue:
    """A queue whose head is either waiting or being written (``take`` until ``settle`` or ``requeue_batch``).

    A caller that is refused gets the `reason`.
    """

    __slots__ = ("_in_flight", "_queue", "awaited", "reason", "size")

    def __init__(self) -> None:
        self.reason: Callable[[], Unavailable] = Unavailable
        self._queue: deque[_Record] = deque()
        self._in_flight: list[_Record] = []
        self.size = 0
        self.awaited = 0

    def __len__(self) -> int:
        return len(self._queue) + len(self._in_flight)

    def add(self, tenant_id: UUID, record: bytes, waiter: "asyncio.Future[None] | None", deadline: float) -> None:
        """Append; `deadline` is the loop's time at which `waiter` is refused."""
        self.size += len(record) + RECORD_OVERHEAD_BYTES
        self._queue.append((tenant_id, record, waiter, deadline))
        self.awaited += waiter is not None

    def take_batch(self) -> tuple[list[UUID], list[bytes]]:
        """Take the next records to write, at most ``MAX_BATCH_RECORDS`` and about ``MAX_BATCH_BYTES``."""
        size = 0
        queue, batch = self._queue, self._in_flight
        while queue and len(batch) < MAX_BATCH_RECORDS and size < MAX_BATCH_BYTES:
            entry = queue.popleft()
            if _is_withdrawn(entry):
                self.size -= len(entry[1]) + RECORD_OVERHEAD_BYTES
                continue
            size += len(entry[1])
            batch.append(entry)
        if not queue:
            self.awaited = 0
        return [entry[0] for entry in batch], [entry[1] for entry in batch]

    def settle_batch(self, refused: Collection[int] = ()) -> int:
        """Mark the batch as durable except for the `refused` places in it; return how many records still waited for
        it."""
        settled = 0
        for index, entry in enumerate(self._in_flight):
            waiter = entry[2]
            if waiter is not None and not waiter.done():
                if index in refused:
                    reject_waiter(waiter)
                    continue
                waiter.set_result(None)
                settled += 1
        self._clear_in_flight()
        return settled

    def requeue_batch(self) -> None:
        """Put the batch back to the head of the queue: it is not known to be durable."""
        self._queue.extendleft(reversed(self._in_flight))
        self.awaited = len(self._queue)
        self._in_flight = []

    def expire(self, now: float) -> float | None:
        """Refuse the records whose deadline has passed; return the earliest deadline of the others."""
        for entries in (self._in_flight, self._queue):
            for _tenant, _record, waiter, deadline in entries:
                if waiter is None or waiter.done():
                    continue
                if deadline > now:
                    return deadline
                reject_waiter(waiter, self.reason)
        return None

    def reject_all(self) -> None:
        """Refuse all waiting records."""
        self.expire(float("inf"))

    def _clear_in_flight(self) -> None:
        self.size -= sum(len(entry[1]) + RECORD_OVERHEAD_BYTES for entry in self._in_flight)
        self._in_flight = []


def _is_withdrawn(entry: _Record) -> bool:
    """Check whether the record was refused and its caller was told so. A record whose waiter was cancelled stays."""
    waiter = entry[2]
    return waiter is not None and waiter.done() and not waiter.cancelled()
