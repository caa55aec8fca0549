"""Locks by key, within this process."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Hashable


class KeyedLocks:
    """One lock for each key. Those who would wait in the database for each other wait here, without a connection."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, asyncio.Lock] = {}
        self._waiting: dict[Hashable, int] = {}

    @contextlib.asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncGenerator[None]:
        """Hold the lock of `key`."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._locks[key], self._waiting[key]
