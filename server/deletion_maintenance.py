"""Make what people have deleted unreadable: rewrite the tables that hold it, and let the write-ahead log go. Before
that, documents go whose source is gone.

PostgreSQL keeps a deleted row in its file, and its tokens in the indexes, until the space is used again.
"""

import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from core.concurrency.background import run_in_background
from core.concurrency.periodic import PeriodicTask
from core.database_url import DatabaseAddress
from core.db import Database
from core.search_schema import has_search_schema

PURGE_AFTER = timedelta(hours=20)
"""For so long deleted rows may stay; a table is rewritten once in that time at most."""
LOOK_SECONDS = 1800.0
REWRITE_SECONDS = 3600.0
ATTEMPTS = 2
"""To rewrite a table, one after the other."""

log = logging.getLogger(__name__)

_ONE_PURGE = 0x73656172  # one process at a time


@dataclass(frozen=True, slots=True)
class PurgeResult:
    """Tables that were rewritten, and those where that has to be tried again: a transaction uses them, or may still see
    what was deleted."""

    rewritten: tuple[str, ...]
    postponed: tuple[str, ...]


async def purge_deleted(
    address: DatabaseAddress, *, is_embedded: bool, deleted_before: datetime | None = None, waits: bool = True
) -> PurgeResult:
    """Delete documents whose parent is gone, and rewrite the tables that hold rows deleted before a time, None for all.
    Who uses a table waits for it meanwhile: a second for 2,000 passages or 18,000 items.

    `is_embedded`: the database is the data folder's own, whose write-ahead log goes away, too. `waits`: until another
    process that does the same is ready; else nothing is done then.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    database = Database(address, max_connections=1, timeout=REWRITE_SECONDS)
    await database.open()
    try:
        async with database.connection() as connection:
            return await _purge(connection, is_embedded, deleted_before, waits)
    finally:
        await database.close()


async def _purge(connection: Any, is_embedded: bool, deleted_before: datetime | None, waits: bool) -> PurgeResult:
    lock = "SELECT true FROM pg_advisory_lock($1)" if waits else "SELECT pg_try_advisory_lock($1)"
    if not await connection.fetchval(lock, _ONE_PURGE):
        return PurgeResult((), ())
    try:
        if await has_search_schema(connection):
            await connection.execute("SELECT search.remove_orphans()")
        rewritten: list[str] = []
        postponed: list[str] = []
        for row in await connection.fetch("SELECT name, since FROM core.list_dirty_tables()"):
            if deleted_before is None or row["since"] < deleted_before:
                done = await _rewrite(connection, row["name"])
                (rewritten if done else postponed).append(row["name"])
        if is_embedded and rewritten:
            await connection.execute("VACUUM (FULL) pg_catalog.pg_statistic")  # it has samples of deleted rows, deleted
            # What was written before the checkpoint is no more needed, once the log goes on in a new file.
            await connection.execute("SELECT pg_switch_wal()")
            await connection.execute("CHECKPOINT")
        return PurgeResult(tuple(rewritten), tuple(postponed))
    finally:
        await connection.execute("SELECT pg_advisory_unlock_all()")


async def _rewrite(connection: Any, name: str) -> bool:
    """Rewrite a table; tell whether nothing deleted is left in it. Once more where there is: it may have been deleted
    at this very moment, which a statement that waits for the table may still see."""
    try:
        for _ in range(ATTEMPTS):
            async with connection.transaction():
                await connection.execute("SELECT core.lock_dirty_table($1)", name)
                if await connection.fetchval("SELECT core.rewrite_dirty_table($1)", name):
                    return True
    except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
        pass
    return False


@contextlib.asynccontextmanager
async def run_deletion_maintenance(
    address: DatabaseAddress, clock: Callable[[], datetime], *, is_embedded: bool
) -> AsyncGenerator[None]:
    """Rewrite tables within a day after something in them was deleted."""

    async def purge() -> None:
        result = await purge_deleted(
            address, is_embedded=is_embedded, deleted_before=clock() - PURGE_AFTER, waits=False
        )
        if result.postponed:
            log.warning(
                "%d tables still hold deleted texts: long transactions use them; it is tried again",
                len(result.postponed),
                extra={"event": "purge_postponed", "tables": len(result.postponed)},
            )

    task = PeriodicTask("making deleted texts unreadable", purge, LOOK_SECONDS, runs_at_start=True)
    async with run_in_background(task.name, task.run()):
        yield
