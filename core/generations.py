"""One number per tenant that voids every cache of that tenant, on every process, within a second.

A trigger raises it with any change to the tenant's users, roles, permissions, services or tokens, and announces it
by NOTIFY. While the listener is down, a poll takes over; while both fail, nothing cached is trusted.

A refresh raises none: it makes nothing wrong that is cached, but where the vendor ends the access token before at once.
Then that one version is announced, and its leases count no more.
"""

import asyncio
import contextlib
import itertools
import logging
import time
from typing import Any
from uuid import UUID

import asyncpg

from core.address import DatabaseAddress
from core.db import AWAY, Database, connect
from core.errors import Unavailable

CHANNEL = "mcpist_generation"
DROPPED = "mcpist_dropped"
DROPPED_SECONDS = 90.0
"""How long a dropped version is remembered: longer than any lease of it is kept."""
MOST_DROPPED = 100_000
INTERVAL = 0.5
MOST_TENANTS = 200_000

log = logging.getLogger(__name__)


class Generations:
    """The newest known generation of each tenant. `run` keeps it current for as long as it is awaited."""

    def __init__(self, address: DatabaseAddress, database: Database, *, interval: float = INTERVAL) -> None:
        self._address = address
        self._database = database
        self._interval = interval
        self._values: dict[UUID, int] = {}
        self._trusted = False
        self._listening = False
        self._used = False
        self._told = False
        self._dropped: dict[tuple[UUID, int], float] = {}
        self._lost = asyncio.Event()
        self._begun = asyncio.Event()

    @property
    def trusted(self) -> bool:
        """Whether changes reach this process, announced or polled."""
        return self._trusted

    @property
    def listening(self) -> bool:
        """Whether changes are announced to this process rather than polled."""
        return self._listening

    async def begun(self, within: float) -> None:
        """Wait until changes reach this process for the first time, but no longer than `within` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._begun.wait()

    def current(self, tenant_id: UUID) -> int | None:
        """The tenant's generation, or None while nothing cached about the tenant may be believed."""
        self._used = True
        return self._values.get(tenant_id) if self._trusted else None

    def observe(self, tenant_id: UUID, value: int) -> None:
        """Take in a generation that was read from the database or announced; an older one changes nothing."""
        if value > self._values.get(tenant_id, 0):
            if len(self._values) >= MOST_TENANTS:
                self._values.clear()
            self._values[tenant_id] = value

    def is_dropped(self, tenant_id: UUID, version: int) -> bool:
        """Whether a credential of this version was announced as ended. While announcements do not arrive nobody knows:
        then the vendor's refusal tells."""
        return (tenant_id, version) in self._dropped

    async def run(self) -> None:
        """Listen, poll when that fails, until cancelled."""
        while True:
            try:
                await self._listen()
            except (*AWAY, asyncpg.PostgresError, Unavailable) as error:
                self._tell(error)
            await self._poll_in_time()
            await asyncio.sleep(self._interval * 0.6)  # with the next attempt to connect, still within the second

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            log.warning("generation listener lost, polling instead", extra={"cause": type(error).__name__})

    async def _listen(self) -> None:
        connection = await connect(self._address, timeout=self._interval * 0.8, command_timeout=self._interval)
        try:
            self._lost.clear()
            connection.add_termination_listener(self._disconnected)
            await connection.add_listener(CHANNEL, self._announced)
            await connection.add_listener(DROPPED, self._told_to_drop)
            # What was announced before LISTEN took hold is read once.
            self._trusted = self._listening = await self._poll()
            self._begun.set()
            self._told = False
            while self._trusted:
                await self._beat(connection)
        finally:
            if self._listening:
                self._listening = self._trusted = False  # what was announced last may have been lost
            connection.terminate()

    async def _beat(self, connection: Any) -> None:
        """Wait one interval; if caches were used meanwhile, prove that announcements can still arrive."""
        try:
            await asyncio.wait_for(self._lost.wait(), self._interval)
        except TimeoutError:
            if self._used:
                self._used = False
                await connection.fetchval("SELECT 1")
            return
        raise ConnectionResetError

    def _disconnected(self, _connection: Any) -> None:
        self._lost.set()

    def _announced(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        tenant, value = str(payload).split(" ")
        self.observe(UUID(tenant), int(value))

    def _told_to_drop(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        now = time.monotonic()
        for key, until in list(itertools.islice(self._dropped.items(), 2)):  # oldest first: never more go than come
            if until < now or len(self._dropped) >= MOST_DROPPED:
                del self._dropped[key]
        tenant, version = str(payload).split(" ")
        self._dropped[UUID(tenant), int(version)] = now + DROPPED_SECONDS

    async def _poll_in_time(self) -> None:
        """Poll; a database that keeps us waiting (its pool's timeout is ten seconds) is not trusted meanwhile."""
        late = asyncio.get_running_loop().call_later(self._interval * 0.6, self._distrust)
        try:
            self._trusted = await self._poll()
        finally:
            late.cancel()

    def _distrust(self) -> None:
        self._trusted = False

    async def _poll(self) -> bool:
        known = ",".join(map(str, self._values))
        try:
            rows = await self._database.lookup("lookup_tenants", known, "SELECT tenant_id, value FROM core.generations")
        except (Unavailable, asyncpg.PostgresError):
            return False
        alive = {row["tenant_id"]: row["value"] for row in rows}
        for tenant_id in self._values.keys() - alive.keys():
            del self._values[tenant_id]
        for tenant_id, value in alive.items():
            self.observe(tenant_id, value)
        return True
