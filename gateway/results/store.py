"""Kept results in the database, sealed (core.sealed_records): rows of one user each, until they expire."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import asyncpg

from core.db import Database
from core.sealed_records import RecordSealer, UnreadableRecord
from gateway.results.handles import ResultHandle, create_handle

KIND = "result"
LIFETIME = timedelta(hours=1)
MAX_RESULT_BYTES = 16 << 20
"""Of one result as JSON. A larger one is not kept."""
MAX_KEPT = 100
MAX_KEPT_BYTES = 32 << 20
"""Results of one user, and their sealed bytes: for a newer one the oldest go."""


class ResultSource(NamedTuple):
    """Where a result comes from: the tool, and the credential that its vendor was asked with, None without a vendor.
    `untrusted`: it holds a vendor's data."""

    module: str
    tool: str
    credential_id: UUID | None = None
    untrusted: bool = False


class ResultStore:
    """The kept results of all users. `clock` gives the time."""

    def __init__(
        self, database: Database, sealer: RecordSealer, clock: Callable[[], datetime], lifetime: timedelta = LIFETIME
    ) -> None:
        self._database = database
        self._sealer = sealer
        self._clock = clock
        self._lifetime = lifetime

    @property
    def expires_at(self) -> datetime:
        """Until when a result would be kept that is kept now."""
        return self._clock() + self._lifetime

    def seal(self, tenant_id: UUID, content: bytes) -> tuple[ResultHandle, bytes]:
        """Seal a result under a new handle: the part of keeping it that takes time, and no database."""
        handle = create_handle()
        return handle, self._sealer.seal(tenant_id, KIND, handle.id, content, handle.key)

    async def keep(
        self,
        tenant_id: UUID,
        user_id: UUID,
        source: ResultSource,
        handle: ResultHandle,
        sealed: bytes,
        expires_at: datetime,
    ) -> bool:
        """Keep a sealed result until `expires_at`. False where its credential is gone: whoever disconnects an account
        ends what was read with it.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        now = self._clock()
        async with self._database.personal(tenant_id, user_id) as work:
            stored = (handle.id, source.module, source.tool, source.credential_id, source.untrusted, sealed)
            try:
                await work.execute(_INSERT, *stored, now, expires_at)
            except asyncpg.ForeignKeyViolationError:
                return False
            await work.execute(_MAKE_ROOM, now, MAX_KEPT, MAX_KEPT_BYTES)
        return True

    async def load(self, tenant_id: UUID, user_id: UUID, handle: ResultHandle) -> tuple[ResultSource, bytes] | None:
        """Load what is kept of this user under a handle, still sealed; None where there is nothing, or no more.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        async with self._database.personal(tenant_id, user_id) as work:
            row = await work.fetchrow(_LOAD, handle.id, self._clock())
        if row is None:
            return None
        source = ResultSource(row["module"], row["tool"], row["credential_id"], row["untrusted"])
        return source, row["sealed"]

    def open(self, tenant_id: UUID, handle: ResultHandle, sealed: bytes) -> bytes | None:
        """Open a sealed result; None where the handle is not its own, or the deployment has another key now."""
        try:
            return self._sealer.open(tenant_id, KIND, handle.id, sealed, handle.key)
        except UnreadableRecord:
            return None

    async def sweep(self) -> int:
        """Delete what has expired, of all users; return how many."""
        return await self._database.call("SELECT results.sweep($1)", self._clock())


_INSERT = """INSERT INTO results.results
    (tenant_id, user_id, id, module, tool, credential_id, untrusted, sealed, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"""
_LOAD = """SELECT module, tool, credential_id, untrusted, sealed FROM results.results
    WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND expires_at > $4"""
_MAKE_ROOM = """DELETE FROM results.results r USING (
        SELECT id, row_number() OVER newest AS place, sum(octet_length(sealed)) OVER newest AS bytes
        FROM results.results WHERE tenant_id = $1 AND user_id = $2 AND expires_at > $3
        WINDOW newest AS (ORDER BY created_at DESC, id)
    ) kept
    WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.id = kept.id AND (kept.place > $4 OR kept.bytes > $5)"""
