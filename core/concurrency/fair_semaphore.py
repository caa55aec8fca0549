"""Fair semaphore that limits concurrent work per key, per tenant and in total.

A vendor or a tenant's server that hangs uses up its own turns only.
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
    """Semaphore with limits per key, per tenant and in total; waiters are served in order."""

    def __init__(self, *, per_key: int, tenant: int, all: int) -> None:
        self._per_key = per_key
        self._tenant = tenant
        self._all = all
        self._gates: dict[Hashable, _Gate] = {}

    def __len__(self) -> int:
        """Return the number of keys that hold or wait for a slot."""
        return len(self._gates)

    @contextlib.asynccontextmanager
    async def slot(self, tenant_id: UUID, key: Hashable) -> AsyncGenerator[None]:
        """Hold a slot for the duration of the block. Waiting for one of a tenant holds none that others need."""
        async with (
            self._gate((tenant_id, key), self._per_key),
            self._gate(tenant_id, self._tenant),
            self._gate(None, self._all),
        ):
            yield

    @contextlib.asynccontextmanager
    async def _gate(self, key: Hashable, limit: int) -> AsyncGenerator[None]:
        gate = self._gates.setdefault(key, _Gate(asyncio.Semaphore(limit)))
        gate.users += 1
        try:
            async with gate.semaphore:
                yield
        finally:
            gate.users -= 1
            if not gate.users:
                self._gates.pop(key, None)
