"""One transaction is one tenant's, and nothing of it stays on its connection."""

import asyncio
from collections.abc import Collection
from uuid import UUID

import asyncpg
import pytest

from core import db
from core.db import Database
from tests.support.postgres import ScratchDatabase

SETTINGS = ("tenant_id", "user_id", "lookup_tenants")
SETTING = "SELECT coalesce(nullif(current_setting('app.' || $1, true), ''), 'none')"
TENANTS = "SELECT count(*) FROM core.tenants"
NOTHING = (["none", "none", "none"], 0)


async def left_behind(database: Database) -> tuple[list[str], int]:
    """The settings and the visible tenants of a connection that belongs to nobody."""
    async with database.connection() as connection:
        settings = [await connection.fetchval(SETTING, name) for name in SETTINGS]
        return settings, await connection.fetchval(TENANTS)


async def fails(database: Database, tenant_id: UUID) -> None:
    async with database.tenant(tenant_id):
        raise RuntimeError


async def hangs(database: Database, tenant_id: UUID, started: asyncio.Event) -> None:
    async with database.tenant(tenant_id):
        started.set()
        await asyncio.Event().wait()


async def test_nothing_of_a_tenant_stays_on_the_pooled_connection(database: ScratchDatabase, make_tenant) -> None:
    one, two = await make_tenant(), await make_tenant()
    async with database.open("mcpist_gateway", max_connections=1) as pool:
        async with pool.tenant(one.id) as work:
            assert await work.fetchval("SELECT tenant_id FROM core.tenants WHERE tenant_id = $1") == one.id
        assert await left_behind(pool) == NOTHING

        async with pool.personal(two.id, two.users[0]) as work:
            assert await work.fetchval("SELECT id FROM core.users WHERE tenant_id = $1 AND id = $2") == two.users[0]
        assert await left_behind(pool) == NOTHING

        await pool.lookup("lookup_tenants", str(one.id), "SELECT tenant_id FROM core.tenants")
        assert await left_behind(pool) == NOTHING


async def test_nor_after_a_transaction_that_failed_or_was_cancelled(database: ScratchDatabase, make_tenant) -> None:
    tenant = await make_tenant()
    async with database.open("mcpist_gateway", max_connections=1) as pool:
        with pytest.raises(RuntimeError):
            await fails(pool, tenant.id)
        assert await left_behind(pool) == NOTHING

        started = asyncio.Event()
        task = asyncio.create_task(hangs(pool, tenant.id, started))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await left_behind(pool) == NOTHING


async def test_built_in_types_are_asked_for_once(database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types that a database adds are asked for on every connection: their OIDs mean something else in another one."""
    asked: list[frozenset[int]] = []
    introspect = vars(asyncpg.Connection)["_introspect_types"]

    async def count(self: asyncpg.Connection, oids: Collection[int], timeout: float | None) -> object:
        asked.append(frozenset(oids))
        return await introspect(self, oids, timeout)

    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", count)
    monkeypatch.setattr(db, "_builtin_types", {})
    async with database.admin_connection() as admin:
        await admin.execute("CREATE TYPE public.colour AS ENUM ('red')")
    for _ in range(2):
        async with database.open("mcpist_gateway", max_connections=1) as pool, pool.connection() as connection:
            assert await connection.fetchval("SELECT $1::bool[]", [True, None]) == [True, None]
            assert await connection.fetchval("SELECT array['red'::public.colour]") == ["red"]
    built_in = [oids for oids in asked if max(oids) < db.FIRST_UNRESERVED_OID]
    assert (len(built_in), len(asked)) == (1, 3)
