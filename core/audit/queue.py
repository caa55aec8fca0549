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
    """A queue whose head is either waiting or being written (``take_batch`` until ``settle_batch`` or
    ``requeue_batch``).

    A caller that is refused gets the `reason`.
    """

    __slots__ = ("_has_withdrawn", "_in_flight", "_in_flight_size", "_queue", "awaited", "reason", "size")

    def __init__(self) -> None:
        self.reason: Callable[[], Unavailable] = Unavailable
        self._queue: deque[_Record] = deque()
        self._in_flight: list[_Record] = []
        self._in_flight_size = 0
        self._has_withdrawn = False
        self.size = 0
        self.awaited = 0

    def __len__(self) -> int:
        return len(self._queue) + len(self._in_flight)

    def __bool__(self) -> bool:
        return bool(self._queue or self._in_flight)

    @property
    def in_flight(self) -> int:
        """Number of records that are being written."""
        return len(self._in_flight)

    def add(self, tenant_id: UUID, record: bytes, waiter: "asyncio.Future[None] | None", deadline: float) -> None:
        """Append; `deadline` is the loop's time at which `waiter` is refused."""
        self.size += len(record) + RECORD_OVERHEAD_BYTES
        self._queue.append((tenant_id, record, waiter, deadline))
        if waiter is not None:
            self.awaited += 1

    def take_batch(self) -> list[_Record]:
        """Take the next records to write, at most ``MAX_BATCH_RECORDS`` and about ``MAX_BATCH_BYTES``."""
        queue = self._queue
        if len(queue) <= MAX_BATCH_RECORDS and self.size <= MAX_BATCH_BYTES and not self._has_withdrawn:
            self._in_flight = list(queue)
            self._in_flight_size = self.size
            queue.clear()
        else:
            self._take_part()
        if not queue:
            self.awaited = 0
        return self._in_flight

    def _take_part(self) -> None:
        """Take as many records as a batch may have, without those that were withdrawn."""
        queue, batch = self._queue, self._in_flight
        size = 0
        while queue and len(batch) < MAX_BATCH_RECORDS and size < MAX_BATCH_BYTES:
            entry = queue.popleft()
            if _is_withdrawn(entry):
                self.size -= len(entry[1]) + RECORD_OVERHEAD_BYTES
                continue
            size += len(entry[1])
            batch.append(entry)
        self._in_flight_size = size + RECORD_OVERHEAD_BYTES * len(batch)
        self._has_withdrawn = self._has_withdrawn and bool(queue)

    def settle_batch(self, refused: Collection[int] = ()) -> int:
        """Mark the batch as durable except for the `refused` places in it; return how many records still waited for
        it."""
        batch, self._in_flight = self._in_flight, []
        self.size -= self._in_flight_size
        for index in refused:
            waiter = batch[index][2]
            if waiter is not None and not waiter.done():
                reject_waiter(waiter)
        settled = 0
        for record in batch:
            if (waiter := record[2]) is not None and not waiter.done():
                waiter.set_result(None)
                settled += 1
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
                self._has_withdrawn = True
        return None

    def reject_all(self) -> None:
        """Refuse all waiting records."""
        self.expire(float("inf"))


def _is_withdrawn(entry: _Record) -> bool:
    """Check whether the record was refused and its caller was told so. A record whose waiter was cancelled stays."""
    waiter = entry[2]
    return waiter is not None and waiter.done() and not waiter.cancelled()
