"""The newest number of each watched tenant's audit chain, told to whoever waits for it.

Sealing announces a tenant (``mcpist_sealed``), a change of rights does (:mod:`core.generations`). Announcements are
hints and may be lost: the numbers are read, and read now and then without one. While nobody watches, nothing runs.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import asyncpg

from core.database_url import DatabaseAddress
from core.db import CONNECTION_ERRORS, Database, connect
from core.errors import Unavailable
from core.generations import GENERATION_CHANNEL

SEALED_CHANNEL = "mcpist_sealed"
POLL_SECONDS = 2.0
"""Seconds between two reads without an announcement."""
LISTEN_SECONDS = 5.0
"""Seconds in which the listening connection has to answer."""

log = logging.getLogger(__name__)


class Watch:
    """One who waits for news of some chains: a tenant's, and an operator of the deployment's too."""

    def __init__(self, tenant_ids: tuple[UUID, ...]) -> None:
        self.tenant_ids = tenant_ids
        self._news = asyncio.Event()
        self._rights_changed = False

    def tell(self, *, rights_changed: bool = False) -> None:
        """Wake the waiter."""
        self._rights_changed = self._rights_changed or rights_changed
        self._news.set()

    async def wait(self, timeout: float) -> bool:
        """Wait for news or the time-out; return whether rights may have changed: after a time-out they may, since an
        announcement may be lost."""
        timed_out = False
        try:
            await asyncio.wait_for(self._news.wait(), timeout)
        except TimeoutError:
            timed_out = True
        self._news.clear()
        changed, self._rights_changed = self._rights_changed, False
        return changed or timed_out


class ChangeFeed:
    """`database` and `address` are the console's. One task and one listening connection serve all watches."""

    def __init__(
        self, database: Database, address: DatabaseAddress | None, *, poll_seconds: float = POLL_SECONDS
    ) -> None:
        self._database = database
        self._address = address
        self._poll_seconds = poll_seconds
        self._watches: dict[UUID, set[Watch]] = {}
        self._known: dict[UUID, int] = {}
        self._hinted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def watch(self, *tenant_ids: UUID) -> AsyncGenerator[Watch]:
        """Watch tenants for as long as the block runs."""
        watch = Watch(tenant_ids)
        for tenant_id in tenant_ids:
            self._watches.setdefault(tenant_id, set()).add(watch)
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="change feed")
        try:
            yield watch
        finally:
            self._forget(watch)

    def _forget(self, watch: Watch) -> None:
        for tenant_id in watch.tenant_ids:
            watches = self._watches[tenant_id]
            watches.discard(watch)
            if not watches:
                del self._watches[tenant_id]
                self._known.pop(tenant_id, None)
        if not self._watches and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except (*CONNECTION_ERRORS, asyncpg.PostgresError, Unavailable) as error:
                log.debug(
                    "announcements do not arrive; the database is polled",
                    extra={"event": "change_feed_polls", "error": type(error).__name__},
                )
            await self._read_heads()
            await asyncio.sleep(self._poll_seconds)

    async def _listen(self) -> None:
        """Read at every announcement, and now and then, for as long as the connection lives and reading works: a server
        whose machine is gone closes no connection."""
        if self._address is None:
            return
        connection = await connect(self._address, timeout=LISTEN_SECONDS, command_timeout=LISTEN_SECONDS)
        try:
            await connection.add_listener(SEALED_CHANNEL, self._on_sealed)
            await connection.add_listener(GENERATION_CHANNEL, self._on_generation)
            while not connection.is_closed() and await self._read_heads():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._hinted.wait(), self._poll_seconds)
                self._hinted.clear()
        finally:
            connection.terminate()

    def _on_sealed(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        if _parse_tenant(payload) in self._watches:
            self._hinted.set()

    def _on_generation(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        tenant = _parse_tenant(payload)
        for watch in self._watches.get(tenant, ()) if tenant else ():
            watch.tell(rights_changed=True)

    async def _read_heads(self) -> bool:
        """Read the newest numbers of the watched tenants; wake those with news. Return whether it succeeded."""
        tenants = list(self._watches)
        try:
            rows = await self._database.fetch(_HEADS, tenants)
        except (Unavailable, asyncpg.PostgresError):
            return False
        for row in rows:
            tenant, newest = row["tenant"], row["newest"]
            if self._known.get(tenant) != newest:
                self._known[tenant] = newest
                for watch in self._watches.get(tenant, ()):
                    watch.tell()
        return True


def _parse_tenant(payload: Any) -> UUID | None:
    try:
        return UUID(str(payload)[:36])
    except ValueError:
        return None


_HEADS = "SELECT tenant, newest FROM audit.anchors($1)"
