"""Limits that the workers of one host share, in memory that they inherit: a user has one bucket, whichever worker
answers.

The memory is a set-associative table. A key is known by a keyed 64-bit hash: its low bits choose a set of `WAYS` slots,
one of which holds it. A set is changed under a lock of the file system on one byte of the memory, which ends with the
process that holds it.
"""

import fcntl
import hashlib
import mmap
import os
import secrets
from collections.abc import Callable
from functools import partial

from core.concurrency.rate_limits import ATTEMPT_SLOTS, AttemptLimits, CallerLimits, get_network
from core.config.settings import MAX_WORKERS
from core.errors import Invalid, LimitReached

Clock = Callable[[], float]

SETS = 1 << 12
"""Sets of a table of callers: 65,536 callers, three times as many as one process remembers."""
WAYS = 16
KEY_BYTES = 32
LOCK_ATTEMPTS = 200
"""Attempts at a lock, each with a turn for another process: about 0.2 ms. A stopped worker stops no other one."""

_NOT_SERVING = (1 << 32) - 1
"""The connections of a worker that serves not yet, or not any more: it is nobody to wait for."""
_HEADER = KEY_BYTES + 4 * MAX_WORKERS
_SLOTS = SETS * WAYS
_CALLER_TABLES = ("calls", "api")


class SharedLimitMemory:
    """Memory of all limits that the workers of a host share. `worker` counts from 1."""

    def __init__(self, descriptor: int, worker: int, workers: int) -> None:
        self.descriptor = descriptor
        self.worker = worker
        self._workers = workers
        self._map = memoryview(mmap.mmap(descriptor, _compute_size(workers)))
        self.key = bytes(self._map[:KEY_BYTES])
        self._connections = self._map[KEY_BYTES : KEY_BYTES + 4 * workers].cast("I")

    @classmethod
    def create(cls, workers: int) -> "SharedLimitMemory":
        """Create the memory, as its first worker. It has no name and ends with the last process that holds it.

        Raises:
            Invalid: this is not Linux.
        """
        if not hasattr(os, "memfd_create"):
            raise Invalid("several workers need Linux; set MCPIST_WORKERS to 1")
        descriptor = os.memfd_create("mcpist-limits")
        os.ftruncate(descriptor, _compute_size(workers))
        os.pwrite(descriptor, secrets.token_bytes(KEY_BYTES), 0)
        memory = cls(descriptor, 1, workers)
        for worker in range(1, workers + 1):
            memory.forget_worker(worker)
        return memory

    def create_caller_limits(
        self, table: str, rate_per_second: float, burst: int, concurrency: int, *, clock: Clock
    ) -> CallerLimits:
        """Create the limits of callers in `table` (``calls`` or ``api``), which all workers have to create alike."""
        offset = self._locate_table(table)
        return _SharedCallerLimits(self, offset, rate_per_second, burst, concurrency, clock)

    def create_attempt_limits(self, per_minute: float, burst: int, *, clock: Clock) -> AttemptLimits:
        """Create the limits of failed attempts, which all workers have to create alike."""
        offset = _HEADER + len(_CALLER_TABLES) * _compute_table_size(self._workers)
        return _SharedAttemptLimits(self, offset, per_minute, burst, clock)

    def forget_worker(self, worker: int) -> None:
        """Count no call and no connection of a worker that has died any more."""
        self._connections[worker - 1] = _NOT_SERVING
        for table in _CALLER_TABLES:
            start = self._locate_table(table) + 16 * _SLOTS + (worker - 1) * 4 * _SLOTS
            self._map[start : start + 4 * _SLOTS] = bytes(4 * _SLOTS)

    def is_busier(self, connections: int) -> bool:
        """Store how many connections this worker has; check whether another one has fewer."""
        self._connections[self.worker - 1] = connections
        return connections > min(self._connections.tolist())

    def view_tags(self, offset: int) -> memoryview:
        """View the tags of a caller table, one for each slot; 0 where it is empty."""
        return self._map[offset : offset + 8 * _SLOTS].cast("Q")

    def view_moments(self, offset: int, count: int) -> "memoryview[float]":
        """View `count` moments, in seconds."""
        return self._map[offset : offset + 8 * count].cast("d")

    def view_running(self, offset: int) -> list[memoryview]:
        """View the numbers of running calls: for each worker one for each slot."""
        starts = (offset + 4 * _SLOTS * index for index in range(self._workers))
        return [self._map[start : start + 4 * _SLOTS].cast("I") for start in starts]

    def lock(self, offset: int) -> None:
        """Lock one byte against the other workers. One that is held for long is passed over: at worst a call too many
        is let through."""
        for _ in range(LOCK_ATTEMPTS):
            try:
                fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
            except BlockingIOError:
                os.sched_yield()
            else:
                return

    def unlock(self, offset: int) -> None:
        """Release the byte's lock, if this process holds it."""
        fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, offset)

    def hash(self, key: str) -> int:
        """Hash a key to 128 bits, equally in all workers, and not predictably for anybody else."""
        return int.from_bytes(hashlib.blake2b(key.encode(), key=self.key, digest_size=16).digest(), "little")

    def _locate_table(self, table: str) -> int:
        return _HEADER + _CALLER_TABLES.index(table) * _compute_table_size(self._workers)


def _compute_table_size(workers: int) -> int:
    return _SLOTS * (8 + 8 + 4 * workers)


def _compute_size(workers: int) -> int:
    return _HEADER + len(_CALLER_TABLES) * _compute_table_size(workers) + 2 * 8 * ATTEMPT_SLOTS


class _SharedCallerLimits(CallerLimits):
    """`CallerLimits` whose buckets lie at `offset` of the shared memory."""

    def __init__(
        self,
        memory: SharedLimitMemory,
        offset: int,
        rate_per_second: float,
        burst: int,
        concurrency: int,
        clock: Clock,
    ) -> None:
        super().__init__(rate_per_second, burst, concurrency, clock=clock)
        self._memory = memory
        self._offset = offset
        self._tags = memory.view_tags(offset)
        self._full_at = memory.view_moments(offset + 8 * _SLOTS, _SLOTS)
        self._running = memory.view_running(offset + 16 * _SLOTS)
        self._own_running = self._running[memory.worker - 1]

    def enter(self, key: str) -> Callable[[], None]:
        tag, first = self._locate_set(key)
        lock = self._offset + first
        self._memory.lock(lock)
        try:
            slot = self._find(tag, first)
            if slot is None:
                slot = self._allocate(tag, first)
            self._check_concurrency(sum([column[slot] for column in self._running]))
            self._full_at[slot] = self._take_token(self._full_at[slot])
            self._own_running[slot] += 1
        finally:
            self._memory.unlock(lock)
        return partial(self._leave, slot)

    def charge(self, key: str, calls: int) -> None:
        tag, first = self._locate_set(key)
        lock = self._offset + first
        self._memory.lock(lock)
        try:
            slot = self._find(tag, first)
            if slot is not None:
                self._full_at[slot] = self._compute_charged(self._full_at[slot], calls)
        finally:
            self._memory.unlock(lock)

    def _leave(self, slot: int) -> None:
        # Without a lock: no other worker writes this number. By the slot, not the key: where a lock was passed over,
        # two workers may have given the key a slot each, and the first that is found need not be this call's.
        self._own_running[slot] -= 1

    def __len__(self) -> int:
        return _SLOTS - self._tags.tolist().count(0)

    def _locate_set(self, key: str) -> tuple[int, int]:
        """Locate a key: its tag, which is never 0, and the first slot of its set."""
        digest = self._memory.hash(key)
        return (digest >> 64) or 1, digest % SETS * WAYS

    def _find(self, tag: int, first: int) -> int | None:
        tags = self._tags[first : first + WAYS].tolist()
        return first + tags.index(tag) if tag in tags else None

    def _allocate(self, tag: int, first: int) -> int:
        """Give a slot to a new key: an empty one, or that of the caller without running calls whose bucket is the
        fullest.

        Raises:
            LimitReached: all callers of the set have calls running.
        """
        slots = range(first, first + WAYS)
        quiet = [
            (self._tags[slot] != 0, self._full_at[slot], slot)
            for slot in slots
            if not any(column[slot] for column in self._running)
        ]
        if not quiet:
            raise LimitReached("MCPist has reached its limit of callers; try again in a moment.")
        slot = min(quiet)[2]
        self._full_at[slot] = 0.0
        self._tags[slot] = tag
        return slot


class _SharedAttemptLimits(AttemptLimits):
    """`AttemptLimits` whose tables lie at `offset` of the shared memory. Without a lock: where two workers count at the
    same moment, one failure may be counted once."""

    def __init__(self, memory: SharedLimitMemory, offset: int, per_minute: float, burst: int, clock: Clock) -> None:
        super().__init__(per_minute, burst, clock=clock)
        self._memory = memory
        self._tables = [memory.view_moments(offset + 8 * ATTEMPT_SLOTS * index, ATTEMPT_SLOTS) for index in range(2)]

    def _locate_counters(self, address: str) -> "list[tuple[memoryview[float], int]]":
        digest = self._memory.hash(get_network(address))
        low, high = digest & (1 << 64) - 1, digest >> 64
        return [(self._tables[0], low % ATTEMPT_SLOTS), (self._tables[1], high % ATTEMPT_SLOTS)]
