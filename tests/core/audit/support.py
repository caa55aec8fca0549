"""What the tests of the audit log share."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg

from core.audit.event import AuditEvent, AuditEventKind
from core.audit.writer import AuditWriter
from core.db import Database
from tests.support.postgres import ScratchDatabase

TENANT = UUID("0190aaaa-0000-7000-8000-000000000001")
OTHER = UUID("0190aaaa-0000-7000-8000-000000000002")
USER = UUID("0190aaaa-0000-7000-8000-0000000000aa")


def utc_now() -> datetime:
    return datetime.now(UTC)


def call(number: int = 0, **fields: Any) -> AuditEvent:
    """The intent of a call."""
    known: dict[str, Any] = {
        "at": time.time_ns(),
        "kind": AuditEventKind.CALL_INTENT,
        "tenant_id": TENANT,
        "user_id": USER,
        "credential_id": "tok123456789",
        "client": "a client 1.0",
        "request_id": f"request-{number}",
        "module": "knowledge_graph",
        "tool": "create_entities",
        "digest": bytes(32),
    }
    return AuditEvent(**(known | fields))


@contextlib.asynccontextmanager
async def writing(database: Database, **options: Any) -> AsyncIterator[AuditWriter]:
    """A writer with its flusher; drained at the end."""
    writer = AuditWriter(database, **options)
    running = asyncio.create_task(writer.run())
    try:
        yield writer
    finally:
        await writer.close()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


@contextlib.asynccontextmanager
async def away(database: ScratchDatabase) -> AsyncIterator[None]:
    """Nobody gets into the database, and whoever is in it is thrown out."""
    admin: Any = await asyncpg.connect(**database.admin.connect_args(), database="template1")
    try:
        await admin.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS false')
        await admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", database.name)
        yield
        await admin.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS true')
    finally:
        await admin.close()


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Return as soon as `condition` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        await asyncio.sleep(0.005)
