"""Turns to do something that others may keep us waiting for: so many at once for one key, one tenant, and in all.

A vendor that hangs, or a tenant whose server does, uses up its own turns and nobody else's.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Hashable
from dataclasses import dataclass
from uuid import UUID


@dataclass(slots=True)
class _Gate:
    semaphore: asyncio.Semaphore
    users: int = 0


class FairSemaphore:
    """How many may have a turn at once. Who waits is served in order."""

    def __init__(self, *, each: int, tenant: int, all: int) -> None:
        self._each = each
        self._tenant = tenant
        self._all = all
        self._gates: dict[Hashable, _Gate] = {}

    def __len__(self) -> int:
        """For how many keys somebody has a turn or waits for one."""
        return len(self._gates)

    @contextlib.asynccontextmanager
    async def slot(self, tenant_id: UUID, key: Hashable) -> AsyncGenerator[None]:
        """A turn, for as long as the block. Who waits for one of a tenant holds none that others wait for."""
        async with (
            self._gate((tenant_id, key), self._each),
            self._gate(tenant_id, self._tenant),
            self._gate(None, self._all),
        ):
            yield

    @contextlib.asynccontextmanager
    async def _gate(self, key: Hashable, most: int) -> AsyncGenerator[None]:
        gate = self._gates.setdefault(key, _Gate(asyncio.Semaphore(most)))
        gate.users += 1
        try:
            async with gate.semaphore:
                yield
        finally:
            gate.users -= 1
            if not gate.users:
                self._gates.pop(key, None)
