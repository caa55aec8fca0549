"""The end of a tenant: all of it goes and nothing of another, also where a statement has lost its tenant filter."""

import asyncio
import contextlib
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from core.audit.event import DEPLOYMENT_CHAIN
from core.audit.truncation import unpack
from core.db import Database
from core.directory import deletion, tenants, users
from core.directory.audit_trail import Actor
from core.errors import Invalid, MCPistError, NotFound
from core.generations import GENERATION_CHANNEL
from tests.core.directory.test_isolation import FILTER, mutants, watched
from tests.support import directory
from tests.support.directory import create_tenant
from tests.support.eventually import within
from tests.support.mutation import Mutator
from tests.support.postgres import ScratchDatabase

ACTOR = Actor("tester")
TABLES = ("core.tenants", "core.users", "core.roles", "core.role_assignments", "core.generations", "core.allow_list")
STATEMENTS = [value for value in vars(deletion).values() if isinstance(value, str) and FILTER.search(value)] + [
    "DELETE FROM core.tenants WHERE tenant_id = $1"
]


async def founded(console: Database, slug: str) -> UUID:
    tenant = await create_tenant(console, ACTOR, slug)
    await directory.create_role(console, ACTOR, tenant.id, "reader")
    for name in ("ada", "bob"):
        await users.create_user(console, ACTOR, tenant.id, f"{name}@mail.test", roles=("reader",))
    return tenant.id


async def rows(database: ScratchDatabase, tenant_id: UUID) -> list[Any]:
    async with database.admin_connection() as admin:
        return [
            [tuple(row) for row in await admin.fetch(f"SELECT * FROM {table} WHERE tenant_id = $1", tenant_id)]
            for table in TABLES
        ]


async def test_everything_goes_but_the_log(database: ScratchDatabase) -> None:
    async with database.open("mcpist_console") as console:
        acme, globex = await founded(console, "acme"), await founded(console, "globex")
        before = await rows(database, globex)
        for wrong in ("", "globex", "Acme"):
            with pytest.raises(Invalid):
                await deletion.remove_tenant(console, ACTOR, acme, wrong)
        assert (await tenants.get_tenant(console, acme)).status == "active"
        await deletion.remove_tenant(console, ACTOR, acme, "acme")
        with pytest.raises(NotFound):
            await deletion.remove_tenant(console, ACTOR, acme, "acme")
        assert await rows(database, acme) == [[]] * len(TABLES)
        assert await rows(database, globex) == before
        again = await founded(console, "acme")
        assert again != acme, "its name is free"
    async with database.admin_connection() as admin:
        found = await admin.fetch("SELECT tenant_id, record FROM audit.incoming ORDER BY id")
    told = [(row["tenant_id"], event.kind) for row in found for event in [unpack(row["record"])]]
    assert told.count((acme, "tenant.removed")) == told.count((DEPLOYMENT_CHAIN, "tenant.removed")) == 1


async def test_whoever_was_interrupted_begins_again(database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.directory.deletion.USERS_PER_BATCH", 1)
    plain, calls = deletion._delete_user_batch, 0  # pyright: ignore[reportPrivateUsage]

    async def interrupted(console: Database, tenant_id: UUID) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ConnectionError
        return await plain(console, tenant_id)

    async with database.open("mcpist_console") as console:
        acme = await founded(console, "acme")
        with monkeypatch.context() as patch:
            patch.setattr(deletion, "_delete_user_batch", interrupted)
            with pytest.raises(ConnectionError):
                await deletion.remove_tenant(console, ACTOR, acme, "acme")
        assert (await tenants.get_tenant(console, acme)).status == "suspended", "nobody gets in meanwhile"
        assert len(await users.list_users(console, acme)) == 1
        await deletion.remove_tenant(console, ACTOR, acme, "acme")
    assert await rows(database, acme) == [[]] * len(TABLES)


@pytest.mark.parametrize("statement", STATEMENTS)
async def test_no_statement_needs_its_filter(
    database: ScratchDatabase, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row-level security stands behind each."""
    assert await spared(database, database.open("mcpist_console"), statement, monkeypatch)


@pytest.mark.parametrize("statement", [one for one in STATEMENTS if not one.startswith("SELECT")])
async def test_without_row_level_security_a_lost_filter_is_noticed(
    database: ScratchDatabase, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not await spared(database, Unbound(database), statement, monkeypatch)


class Unbound:
    """The database as one whom row-level security does not bind."""

    def __init__(self, database: ScratchDatabase) -> None:
        self._opened = Database(database.admin)

    async def __aenter__(self) -> Database:
        await self._opened.open()
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        await self._opened.close()


async def spared(database: ScratchDatabase, opening: Any, statement: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether another tenant is what it was, whichever filter of the statement is lost."""
    async with opening as console:
        other = await founded(console, "other")
        before = await rows(database, other)
        for number, mutant in enumerate(mutants(statement)):
            acme = await founded(console, f"acme{number}")
            with monkeypatch.context() as patch:
                watched(patch, Mutator({statement: mutant}))
                with contextlib.suppress(MCPistError, asyncpg.PostgresError):
                    await deletion.remove_tenant(console, ACTOR, acme, f"acme{number}")
    return await rows(database, other) == before


async def test_its_generation_is_raised_once_more(database: ScratchDatabase) -> None:
    """By deleting the row alone too, whoever does it: nothing cached of the tenant is believed after that."""
    heard: list[tuple[str, int]] = []

    def listener(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        tenant, value = payload.split(" ")
        heard.append((tenant, int(value)))

    async with database.open("mcpist_console") as console, database.admin_connection() as admin:
        acme = await founded(console, "acme")
        await admin.add_listener(GENERATION_CHANNEL, listener)
        value = await admin.fetchval("SELECT value FROM core.generations WHERE tenant_id = $1", acme)
        async with console.tenant(acme) as work:
            await work.execute("DELETE FROM core.tenants WHERE tenant_id = $1")

        async def told() -> bool:
            await asyncio.sleep(0)
            return (str(acme), value + 1) in heard

        await within(5, told)
        assert [one for one in heard if one[1] > value + 1] == []
