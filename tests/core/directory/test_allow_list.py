"""The allow list, as an administrator works with it."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from core.audit.truncation import unpack
from core.db import Database
from core.directory import allow_list, users
from core.directory.audit_trail import Actor
from core.errors import Conflict, LimitReached, NotFound
from tests.support.directory import create_tenant
from tests.support.postgres import ScratchDatabase

ACTOR = Actor("tests")


@pytest.fixture
async def console(database: ScratchDatabase) -> AsyncIterator[Database]:
    async with database.open("mcpist_console") as opened:
        yield opened


@pytest.fixture
async def tenant_id(console: Database) -> UUID:
    return (await create_tenant(console, ACTOR, "acme")).id


async def entries(console: Database, tenant_id: UUID) -> list[str]:
    return [one.entry for one in await allow_list.list_entries(console, tenant_id)]


async def test_add_list_and_remove(console: Database, tenant_id: UUID, database: ScratchDatabase) -> None:
    for typed in ("Ada@Acme.example", "@ACME.example", "ada@acme.example"):
        await allow_list.add_entry(console, ACTOR, tenant_id, typed)
    assert sorted(await entries(console, tenant_id)) == ["@acme.example", "ada@acme.example"]
    assert await allow_list.remove_entry(console, ACTOR, tenant_id, "ADA@acme.example") == "ada@acme.example"
    with pytest.raises(NotFound):
        await allow_list.remove_entry(console, ACTOR, tenant_id, "ada@acme.example")
    assert await entries(console, tenant_id) == ["@acme.example"]
    async with database.admin_connection() as admin:
        events = [unpack(row[0]) for row in await admin.fetch("SELECT record FROM audit.incoming ORDER BY id")]
    told = [(event.kind, (event.detail or {}).get("entry")) for event in events if event.kind.startswith("allow")]
    assert told == [
        ("allow_list.added", "ada@acme.example"),
        ("allow_list.added", "@acme.example"),
        ("allow_list.removed", "ada@acme.example"),
    ]


async def test_pages(console: Database, tenant_id: UUID) -> None:
    for number in range(7):
        await allow_list.add_entry(console, ACTOR, tenant_id, f"user{number}@acme.example")
    found: list[str] = []
    while page := await allow_list.list_entries(
        console, tenant_id, after=(found[-1], found[-1]) if found else None, limit=3
    ):
        found += [one.entry for one in page]
    assert found == [f"user{number}@acme.example" for number in range(7)]


async def test_a_new_user_is_on_it_in_the_same_transaction(console: Database, tenant_id: UUID) -> None:
    await users.create_user(console, ACTOR, tenant_id, "Ada@BÜCHER.example")
    with pytest.raises(Conflict):
        await users.create_user(console, ACTOR, tenant_id, "ada@xn--bcher-kva.example")
    with pytest.raises(NotFound):
        await users.create_user(console, ACTOR, tenant_id, "bob@acme.example", roles=("no such role",))
    assert await entries(console, tenant_id) == ["ada@xn--bcher-kva.example"]
    found = await users.find_user(console, tenant_id, "ADA@bücher.example")
    assert found.email == "ada@xn--bcher-kva.example"


async def test_another_tenant_s_list_is_another(console: Database, tenant_id: UUID) -> None:
    other = (await create_tenant(console, ACTOR, "other")).id
    await allow_list.add_entry(console, ACTOR, tenant_id, "@acme.example")
    assert await entries(console, other) == []
    with pytest.raises(NotFound):
        await allow_list.remove_entry(console, ACTOR, other, "@acme.example")


async def test_it_has_an_end(console: Database, tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allow_list, "MAX_ALLOW_LIST_ENTRIES", 1)
    await allow_list.add_entry(console, ACTOR, tenant_id, "@acme.example")
    with pytest.raises(LimitReached):
        await allow_list.add_entry(console, ACTOR, tenant_id, "@other.example")
