"""Announced changes of jobs. One connection of a process listens, from the first time on that somebody waits.

Announcements only wake: whoever is woken reads the job. Whoever waits is also woken when listening begins, anew after a
lost connection too: so no announcement is missed for longer than the connection is away.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Generator
from typing import Any
from uuid import UUID

import asyncpg

from core.database_url import DatabaseAddress
from core.db import CONNECTION_ERRORS, connect
from core.errors import Unavailable

CHANGE_CHANNEL = "mcpist_job"
"""Payload: tenant, person, job and state, with spaces between them."""
RETRY_SECONDS = 5.0
KEEPALIVE_SECONDS = 30.0

Listener = Callable[[UUID, UUID, UUID, str], None]


class Change:
    """What one waiting request waits for."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def clear(self) -> None:
        """Forget what was announced so far."""
        self._event.clear()

    def announce(self) -> None:
        """Wake whoever waits."""
        self._event.set()

    async def wait(self, timeout: float) -> bool:
        """Wait until a change is announced, but no longer than `timeout` seconds; return whether one was."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._event.wait()
        return self._event.is_set()


MAX_CHANGED = 200
"""Changed jobs that one stream has not told of yet; further ones are left out until it has."""


class PersonalChanges(Change):
    """What has changed of one person's jobs, of all of them or of those with `job_ids`."""

    def __init__(
        self, tenant_id: UUID, job_ids: frozenset[UUID] | None, wake: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self._wake = wake
        self._tenant_id = tenant_id
        self._job_ids = job_ids
        self._changed: dict[UUID, None] = {}

    def announce(self) -> None:
        """Wake whoever waits."""
        super().announce()
        if self._wake is not None:
            self._wake()

    def note(self, tenant_id: UUID, job_id: UUID) -> None:
        """Note that a job has changed, if it is one of these."""
        if tenant_id != self._tenant_id or not (self._job_ids is None or job_id in self._job_ids):
            return
        if len(self._changed) < MAX_CHANGED:
            self._changed[job_id] = None
            self.announce()

    def note_all(self) -> None:
        """Note that any of them may have changed."""
        self._changed.update(dict.fromkeys(self._job_ids or ()))
        self.announce()

    @property
    def has_changed(self) -> bool:
        """Check whether one has changed since :meth:`take` was called last."""
        return bool(self._changed)

    def take(self) -> list[UUID]:
        """Take the jobs that have changed since this was called last, in the order of their first change."""
        self.clear()
        changed = list(self._changed)
        self._changed.clear()
        return changed


class JobEvents:
    """Announcements of this process. Listening begins with the first who waits, and `close` ends it."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address
        self._watched: dict[UUID, set[Change]] = {}
        self._listeners: dict[Listener, Callable[[], None] | None] = {}
        self._people: dict[UUID, set[PersonalChanges]] = {}
        self._is_used = asyncio.Event()
        self._is_listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def watch(self, job_id: UUID) -> Generator[Change]:
        """Watch one job."""
        change = Change()
        self._watched.setdefault(job_id, set()).add(change)
        self._begin()
        try:
            yield change
        finally:
            watching = self._watched[job_id]
            watching.discard(change)
            if not watching:
                del self._watched[job_id]

    @contextlib.contextmanager
    def watch_person(
        self,
        tenant_id: UUID,
        user_id: UUID,
        job_ids: frozenset[UUID] | None = None,
        wake: Callable[[], None] | None = None,
    ) -> Generator[PersonalChanges]:
        """Watch the jobs of one person, all of them or those with `job_ids`; `wake` is called when one has changed."""
        changes = PersonalChanges(tenant_id, job_ids, wake)
        self._people.setdefault(user_id, set()).add(changes)
        self._begin()
        try:
            yield changes
        finally:
            watching = self._people[user_id]
            watching.discard(changes)
            if not watching:
                del self._people[user_id]

    @contextlib.contextmanager
    def listen(self, listener: Listener, wake: Callable[[], None] | None = None) -> Generator[None]:
        """Have `listener` called with tenant, person, job and state at every change of any job, and `wake` when changes
        may have been missed: listening begins after this returns, and anew after a lost connection."""
        self._listeners[listener] = wake
        self._begin()
        try:
            yield
        finally:
            del self._listeners[listener]

    async def wait_until_listening(self, timeout: float) -> None:
        """Wait until announcements arrive, but no longer than `timeout` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._is_listening.wait()

    def _begin(self) -> None:
        self._is_used.set()
        if self._task is None:
            self._task = asyncio.create_task(self.run(), name="listening for changes of jobs")

    def close(self) -> None:
        """End listening."""
        if self._task is not None:
            self._task.cancel()

    async def run(self) -> None:
        """Listen until cancelled, while somebody waits."""
        self._task = self._task or asyncio.current_task()
        while True:
            await self._is_used.wait()
            try:
                await self._listen()
            except (*CONNECTION_ERRORS, asyncpg.PostgresError, Unavailable):
                await asyncio.sleep(RETRY_SECONDS)

    async def _listen(self) -> None:
        connection = await connect(self._address, command_timeout=RETRY_SECONDS)
        try:
            await connection.add_listener(CHANGE_CHANNEL, self._on_announcement)
            self._is_listening.set()
            self._wake_all()
            while self._watched or self._listeners or self._people:
                await asyncio.sleep(KEEPALIVE_SECONDS)
                await connection.execute("SELECT 1")  # a machine that is gone closes no connection
            self._is_used.clear()
        finally:
            self._is_listening.clear()
            connection.terminate()

    def _wake_all(self) -> None:
        """Wake whoever waits: what was announced before this connection listened is unknown."""
        for watching in self._watched.values():
            for change in watching:
                change.announce()
        for changes in itertools.chain.from_iterable(self._people.values()):
            changes.note_all()
        for wake in self._listeners.values():
            if wake is not None:
                wake()

    def _on_announcement(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        parts = str(payload).split(" ")
        try:
            tenant_id, user_id, job_id = (UUID(part) for part in parts[:3])
            state = parts[3]
        except (ValueError, IndexError):
            return
        for change in self._watched.get(job_id, ()):
            change.announce()
        for changes in self._people.get(user_id, ()):
            changes.note(tenant_id, job_id)
        for listener in list(self._listeners):
            listener(tenant_id, user_id, job_id, state)
