"""One number per tenant that voids every cache of that tenant, on every process, within a second.

A trigger raises it with any change to the tenant's users, roles, permissions, services or tokens, and announces it
by NOTIFY. An announcement is a hint: any login of the database can send one, so the value is read. The listener proves
itself by announcements of its own, which a pooler in transaction mode does not deliver. While it is down, a poll takes
over; while both fail, nothing cached is trusted.

Numbers of one database server say nothing about another: a standby that became the primary may lack the last changes of
the old one, and gives their numbers again to others. Whenever the server is another one, or was restarted, nothing that
was cached before counts.

A refresh raises none: it makes nothing wrong that is cached, but where the vendor ends the access token before at once.
Then that one version is announced, and its leases count no more.
"""

import asyncio
import contextlib
import itertools
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Collection
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from core.database_url import DatabaseAddress
from core.db import CONNECTION_ERRORS, Database, connect
from core.errors import Unavailable

GENERATION_CHANNEL = "mcpist_generation"
DROPPED_VERSION_CHANNEL = "mcpist_dropped"
DROPPED_VERSION_TTL_SECONDS = 90.0
"""How long a dropped version is remembered: longer than any lease of it is kept."""
MAX_DROPPED_VERSIONS = 100_000
POLL_INTERVAL_SECONDS = 0.5
MAX_TENANTS = 200_000
HINT_PAUSE_SECONDS = 0.02
"""Seconds between two looks at what was announced, however many announcements come."""
MAX_HINTS = 10_000
PROOF_SLICES = 8
LISTEN_RETRY_SECONDS = 30.0
"""Seconds until listening is tried again where announcements were not delivered."""

SERVER_FACTOR = 2**40
"""What is added to a tenant's number for each server before the present one: more than it will ever be."""

# A server that is another one, or was restarted, has another start; it is told even where no tenant is asked for.
_READ = """SELECT s.start, g.tenant_id, g.value
    FROM (SELECT pg_postmaster_start_time() AS start) s LEFT JOIN core.generations g ON true"""
# An announcement is not worth a flush to disk.
_ANNOUNCE = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)"

log = logging.getLogger(__name__)


class AnnouncementNotDelivered(Exception):
    """An announcement of our own did not arrive."""


class Generations:
    """The newest known generation of each tenant. `run` keeps it current for as long as it is awaited."""

    def __init__(
        self, address: DatabaseAddress, database: Database, *, interval: float = POLL_INTERVAL_SECONDS
    ) -> None:
        self._address = address
        self._database = database
        self._interval = interval
        self._values: dict[UUID, int] = {}
        self._server = 0
        self._server_start: datetime | None = None
        self._trusted = False
        self._is_reached = False
        self._late: set[object] = set()
        self._listening = False
        self._is_used = False
        self._rest_end = asyncio.Event()
        self._listen_at = 0.0
        self._logged_state = ""
        self._dropped: dict[tuple[UUID, int], float] = {}
        self._connection_lost = asyncio.Event()
        self._first_poll = asyncio.Event()
        self._hints: set[UUID] = set()
        self._hint_task: asyncio.Task[None] | None = None
        self._listeners: dict[str, Callable[[str], None]] = {}
        self._change_listeners: list[Callable[[UUID], None]] = []
        self._recovery_listeners: list[Callable[[], None]] = []
        self._has_listened = False
        self._own_channel = f"mcpist_proof_{secrets.token_hex(8)}"
        self._proof = ""
        self._proven = asyncio.Event()

    def add_listener(self, channel: str, listen: Callable[[str], None]) -> None:
        """Have `listen` called with what is announced on another channel, over the connection that listens anyway.
        While that is lost, announcements are, too. Call this before :meth:`run`."""
        self._listeners[channel] = listen

    def add_change_listener(self, listen: Callable[[UUID], None]) -> None:
        """Have `listen` called with every tenant whose generation is found to have been raised."""
        self._change_listeners.append(listen)

    def add_recovery_listener(self, listen: Callable[[], None]) -> None:
        """Have `listen` called when announcements on other channels arrive again: those of the time before are lost."""
        self._recovery_listeners.append(listen)

    @property
    def trusted(self) -> bool:
        """True while changes reach this process, by notification or by polling."""
        return self._trusted

    @property
    def listening(self) -> bool:
        """True while changes are notified to this process rather than polled."""
        return self._listening

    def _set_reached(self, is_reached: bool) -> None:
        """Note whether changes reach this process."""
        self._is_reached = is_reached
        self._update_trust()

    def _update_trust(self) -> None:
        # A field of its own: each call of a tool asks for it.
        self._trusted = self._is_reached and not self._late

    async def wait_until_trusted(self, timeout: float) -> None:
        """Wait until changes reach this process for the first time, but no longer than `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._first_poll.wait()

    def current(self, tenant_id: UUID) -> int | None:
        """Return the tenant's generation, or None while no cache of the tenant may be used."""
        if not self._is_used:
            self._is_used = True
            self._rest_end.set()
        return self._values.get(tenant_id) if self._trusted else None

    @property
    def server(self) -> int:
        """Number of database servers that were left. Whoever reads a generation looks it up before."""
        return self._server

    def observe(self, tenant_id: UUID, value: int, server: int | None = None) -> int:
        """Take in a generation that was read from the database, with `server` from before the reading (default: the
        present one), and return it as :meth:`current` would. One that is older, or of a server that was left, changes
        nothing."""
        generation = value + SERVER_FACTOR * (self._server if server is None else server)
        known = self._values.get(tenant_id, SERVER_FACTOR * self._server)
        if generation > known:
            if len(self._values) >= MAX_TENANTS:
                self._values.clear()
            self._values[tenant_id] = generation
            for listen in self._change_listeners:
                listen(tenant_id)
        return generation

    def is_dropped(self, tenant_id: UUID, version: int) -> bool:
        """Check whether the end of a credential of this version was announced. While announcements do not arrive this
        is unknown, and the vendor's refusal tells."""
        return (tenant_id, version) in self._dropped

    def confirm_version(self, tenant_id: UUID, version: int, asked_at: float) -> None:
        """Record that the broker, asked at `asked_at` (time.monotonic), hands out this version: it has not ended
        before."""
        expires_at = self._dropped.get((tenant_id, version))
        if expires_at is not None and expires_at - DROPPED_VERSION_TTL_SECONDS < asked_at:
            del self._dropped[tenant_id, version]

    async def run(self) -> None:
        """Listen, poll when that fails, until cancelled."""
        try:
            while True:
                if asyncio.get_running_loop().time() >= self._listen_at:
                    try:
                        await self._listen()
                    except AnnouncementNotDelivered as error:
                        self._listen_at = asyncio.get_running_loop().time() + LISTEN_RETRY_SECONDS
                        self._log_fallback(error)
                    except (*CONNECTION_ERRORS, asyncpg.PostgresError, Unavailable) as error:
                        self._log_fallback(error)
                        await self._database.leave_server()  # a machine that is gone closes no connection
                await self._poll_in_time()
                await asyncio.sleep(self._interval * 0.6)  # with the next attempt to connect, still within the second
        finally:
            if self._hint_task is not None:
                self._hint_task.cancel()

    def _log_fallback(self, error: Exception) -> None:
        name = type(error).__name__
        if name == self._logged_state:
            return
        self._logged_state = name
        if isinstance(error, AnnouncementNotDelivered):
            event, text = "change_notifications_missing", "the database's notifications of changes do not arrive"
        else:
            event, text = "change_listener_lost", "the connection that listens for changes was lost"
        log.warning("%s; polling the database instead", text, extra={"event": event, "error": name})

    async def _listen(self) -> None:
        connection = await connect(self._address, timeout=self._interval * 0.8, command_timeout=self._interval)
        try:
            self._connection_lost.clear()
            connection.add_termination_listener(self._on_disconnect)
            await connection.add_listener(GENERATION_CHANNEL, self._on_announcement)
            await connection.add_listener(DROPPED_VERSION_CHANNEL, self._on_version_dropped)
            await connection.add_listener(self._own_channel, self._on_proof)
            for channel in self._listeners:
                await connection.add_listener(channel, self._on_other_announcement)
            # What was announced before LISTEN took hold is read once.
            self._set_reached(await self._poll())
            if not self._is_reached:
                return
            self._first_poll.set()
            await self._prove()
            self._listening, self._logged_state = True, ""
            if self._has_listened:
                for listen in self._recovery_listeners:
                    listen()
            self._has_listened = True
            while True:
                await self._wait_interval()
        finally:
            if self._listening:
                self._listening = False
                self._set_reached(False)  # what was announced last may have been lost
            connection.terminate()

    async def _wait_interval(self) -> None:
        """Wait one interval from the next use of a cache on, then prove that announcements still arrive: while nothing
        is used, nobody relies on them, and the process sleeps."""
        if not self._is_used:
            self._rest_end.clear()
            await self._rest_end.wait()
        try:
            await asyncio.wait_for(self._connection_lost.wait(), self._interval)
        except TimeoutError:
            self._is_used = False
            await self._prove()
            return
        raise ConnectionResetError

    async def _prove(self) -> None:
        """Announce something by another connection, and hear it by the listening one.

        Raises:
            AnnouncementNotDelivered: it does not arrive in time.
            Unavailable, ConnectionResetError: the database is away.
        """
        self._proven.clear()
        self._proof = secrets.token_hex(8)
        announcing = asyncio.create_task(self._announce_proof())
        try:
            await self._wait_for_proof()
        except TimeoutError:
            if announcing.done() and announcing.exception() is None:
                raise AnnouncementNotDelivered from None
            raise Unavailable from None
        finally:
            announcing.cancel()  # not waited for: a silent database keeps a connection that is released
        if self._connection_lost.is_set():
            raise ConnectionResetError

    async def _wait_for_proof(self) -> None:
        """Wait for our own announcement. In slices: time in which this process stands still, as while it builds its
        applications at a start, counts as one slice, because nothing could have arrived in it.

        Raises:
            TimeoutError: it does not arrive in time.
        """
        for _ in range(PROOF_SLICES):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval * 0.8 / PROOF_SLICES):
                    await self._proven.wait()
                    return
        raise TimeoutError

    async def announce(self, channel: str, text: str) -> None:
        """Announce a text of at most 7,999 bytes to whoever listens to the channel.

        Raises:
            Unavailable: the database cannot be reached.
        """
        await self._database.fetch(_ANNOUNCE, channel, text)

    async def _announce_proof(self) -> None:
        with contextlib.suppress(Unavailable, asyncpg.PostgresError):
            await self.announce(self._own_channel, self._proof)
            return
        self._lose_connection()

    def _on_proof(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        if payload == self._proof:
            self._proven.set()

    def _on_other_announcement(self, _connection: Any, _pid: int, channel: str, payload: Any) -> None:
        self._listeners[channel](str(payload))

    def _on_disconnect(self, _connection: Any) -> None:
        self._lose_connection()

    def _lose_connection(self) -> None:
        for event in (self._connection_lost, self._proven, self._rest_end):
            event.set()

    def _on_announcement(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        tenant = _parse_uuid(str(payload).partition(" ")[0])
        if tenant is None or len(self._hints) >= MAX_HINTS:
            return
        self._hints.add(tenant)
        if self._hint_task is None:
            self._hint_task = asyncio.create_task(self._read_hints(), name="generations")

    async def _read_hints(self) -> None:
        """Read all announced tenants at once, now and then, so that a flooded channel slows down no call."""
        try:
            while hints := self._hints:
                self._hints = set()
                async with self._distrust_when_late():
                    if not await self._read_generations(hints):
                        self._set_reached(False)
                        self._lose_connection()  # the announcement is unreadable: the poll takes over
                        return
                await asyncio.sleep(HINT_PAUSE_SECONDS)
        finally:
            self._hint_task = None

    def _on_version_dropped(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        now = time.monotonic()
        for key, expires_at in list(
            itertools.islice(self._dropped.items(), 2)
        ):  # oldest first: never more go than come
            if expires_at < now or len(self._dropped) >= MAX_DROPPED_VERSIONS:
                del self._dropped[key]
        text, _, version = str(payload).partition(" ")
        tenant = _parse_uuid(text)
        if tenant is not None and version.isascii() and version.isdigit() and len(version) < 20:
            self._dropped[tenant, int(version)] = now + DROPPED_VERSION_TTL_SECONDS

    async def _poll_in_time(self) -> None:
        """Poll; a database that keeps us waiting (its pool's timeout is ten seconds) is not trusted meanwhile."""
        async with self._distrust_when_late():
            self._set_reached(await self._poll())

    @contextlib.asynccontextmanager
    async def _distrust_when_late(self) -> AsyncGenerator[None]:
        """Trust nothing from the moment on in which a look at the database takes too long, until it has ended."""
        look = object()
        timer = asyncio.get_running_loop().call_later(self._interval * 0.6, self._distrust, look)
        try:
            yield
        finally:
            timer.cancel()
            self._late.discard(look)
            self._update_trust()

    def _distrust(self, look: object) -> None:
        self._late.add(look)
        self._update_trust()

    async def _poll(self) -> bool:
        return await self._read_generations(self._values.keys())

    async def _read_generations(self, tenants: Collection[UUID]) -> bool:
        """Read the generations of these tenants; return whether it succeeded. Removed tenants are forgotten."""
        requested = list(tenants)
        try:
            rows = await self._database.lookup("lookup_tenants", ",".join(map(str, requested)), _READ)
        except (Unavailable, asyncpg.PostgresError):
            return False
        self._note_server(rows[0]["start"])
        alive = {row["tenant_id"]: row["value"] for row in rows if row["tenant_id"] is not None}
        for tenant_id in requested:
            if tenant_id not in alive:
                self._values.pop(tenant_id, None)
        for tenant_id, value in alive.items():
            self.observe(tenant_id, value)
        return True

    def _note_server(self, start: datetime) -> None:
        """Forget what another server gave, and listen to this one."""
        left, self._server_start = self._server_start, start
        if left == start or (left is None and not self._values):
            return
        self._server += 1
        self._values.clear()
        self._dropped.clear()
        self._listen_at = 0.0
        log.warning(
            "the database server is another one or was restarted; nothing that was cached before counts",
            extra={"event": "database_server_changed"},
        )


def _parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text) if len(text) == 36 else None
    except ValueError:
        return None
