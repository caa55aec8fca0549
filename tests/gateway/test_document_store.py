"""JSON documents of modules: versions, limits, pages, and nobody else's, also where a statement forgets whose it is."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from core.db import Database
from gateway.document_store import PersonalDocuments
from modules.kit import DocumentConflict, Store, ToolError
from modules.kit.documents import MAX_DOCUMENT_BYTES, MAX_DOCUMENTS
from tests.support.modules import Wrap
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import MadeTenant, ScratchDatabase


@pytest.fixture
async def gateway(database: ScratchDatabase) -> AsyncIterator[Database]:
    async with database.open("mcpist_gateway") as opened:
        yield opened


def documents(
    gateway: Database, tenant: MadeTenant, user: int = 0, module: str = "toy", **options: Any
) -> PersonalDocuments:
    return PersonalDocuments(
        module, lambda: gateway.personal(tenant.id, tenant.users[user]), **{"read_only": False, **options}
    )


@pytest.fixture
async def tenants(make_tenant: Callable[..., Awaitable[MadeTenant]]) -> list[MadeTenant]:
    return [await make_tenant(users=2), await make_tenant(users=1)]


async def test_a_document_is_stored_changed_and_deleted(gateway: Database, tenants: list[MadeTenant]) -> None:
    mine = documents(gateway, tenants[0])
    assert await mine.get("a") is None
    assert (await mine.put("a", {"日本語": [1, None]})).version == 1
    assert await mine.get("a") == ("a", {"日本語": [1, None]}, 1)
    assert (await mine.put("a", [2])).version == 2
    assert await mine.delete("a")
    assert not await mine.delete("a")
    assert await mine.get("a") is None


async def test_a_change_of_another_version_is_refused(gateway: Database, tenants: list[MadeTenant]) -> None:
    mine = documents(gateway, tenants[0])
    await mine.put("a", 1, version=0)
    for change in (mine.put("a", 2, version=0), mine.put("a", 2, version=2), mine.delete("a", version=2)):
        with pytest.raises(DocumentConflict):
            await change
    with pytest.raises(DocumentConflict):
        await mine.put("b", 1, version=1)
    assert await mine.get("a") == ("a", 1, 1)
    outcomes = await asyncio.gather(*(mine.put("a", n, version=1) for n in range(5)), return_exceptions=True)
    assert sum(isinstance(one, DocumentConflict) for one in outcomes) == 4
    assert await mine.delete("a", version=2)


async def test_pages_by_prefix(gateway: Database, tenants: list[MadeTenant]) -> None:
    mine = documents(gateway, tenants[0])
    for key in ("b/2", "a/1", "b/10", "b%", "B/1", "b/é"):
        await mine.put(key, key)
    first = await mine.list("b/", limit=2)
    assert ([one.key for one in first.documents], first.next_after) == (["b/10", "b/2"], "b/2")
    rest = await mine.list("b/", after=first.next_after, limit=2)
    assert ([one.key for one in rest.documents], rest.next_after) == (["b/é"], "")
    assert [one.key for one in (await mine.list("b%")).documents] == ["b%"]
    assert len((await mine.list(limit=0)).documents) == 1


@pytest.mark.parametrize("key", ["", "x" * 201, "a\0b", "a\nb", "\ud800"])
async def test_a_key_that_is_none(gateway: Database, tenants: list[MadeTenant], key: str) -> None:
    mine = documents(gateway, tenants[0])
    for use in (mine.get(key), mine.put(key, 1), mine.delete(key)):
        with pytest.raises(ToolError, match="printable"):
            await use


@pytest.mark.parametrize(
    ("value", "told"),
    [({1, 2}, "no JSON"), ("\ud800", "no JSON"), (float, "no JSON"), ("x" * MAX_DOCUMENT_BYTES, "too large")],
)
async def test_a_value_that_cannot_be_stored(
    gateway: Database, tenants: list[MadeTenant], value: Any, told: str
) -> None:
    mine = documents(gateway, tenants[0])
    with pytest.raises(ToolError, match=told):
        await mine.put("a", value)
    assert await mine.get("a") is None
    await mine.put("a", "x" * (MAX_DOCUMENT_BYTES - 2))


async def test_there_are_not_too_many(database: ScratchDatabase, gateway: Database, tenants: list[MadeTenant]) -> None:
    mine = documents(gateway, tenants[0])
    await mine.put("a", 1)
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE modules.document_counts SET documents = $1", MAX_DOCUMENTS - 1)
    outcomes = await asyncio.gather(*(mine.put(f"b{n}", n) for n in range(5)), return_exceptions=True)
    assert sum(isinstance(one, ToolError) and "no room" in str(one) for one in outcomes) == 4
    await mine.put("a", 2)
    await documents(gateway, tenants[0], module="other").put("b", 1)
    assert await mine.delete("a")
    await mine.put("c", 1)


async def test_a_reading_tool_changes_nothing(gateway: Database, tenants: list[MadeTenant]) -> None:
    mine = documents(gateway, tenants[0], read_only=True)
    for change in (mine.put("a", 1), mine.delete("a")):
        with pytest.raises(RuntimeError, match="read-only"):
            await change
    assert (await mine.list()).documents == ()


async def story(mine: PersonalDocuments) -> list[Any]:
    """Every statement runs."""
    told: list[Any] = [await mine.list(), await mine.get("shared")]
    told += [await mine.put("shared", "mine"), await mine.put("new", 1), await mine.list(after="a")]
    return [*told, await mine.delete("new"), await mine.delete("only others"), await mine.list("s")]


async def retold(database: ScratchDatabase, gateway: Database, tenants: list[MadeTenant], wrap: Wrap) -> list[Any]:
    """Everyone has documents, the first person lives the story; fails if anything of the others changed."""
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM modules.document_counts")
    others = [
        documents(gateway, tenants[0], 1),
        documents(gateway, tenants[1]),
        documents(gateway, tenants[0], module="other"),
    ]
    for other in others:
        await other.put("shared", "theirs")
        await other.put("only others", "theirs")
    before = [await other.list() for other in others]

    @contextlib.asynccontextmanager
    async def open_wrapped() -> AsyncIterator[Store]:
        async with gateway.personal(tenants[0].id, tenants[0].users[0]) as work:
            yield wrap(work)

    mine = PersonalDocuments("toy", open_wrapped, read_only=False)
    await mine.put("shared", "first")
    told = await story(mine)
    assert [await other.list() for other in others] == before
    return told


@pytest.mark.guarantee("G9")
@together_and_alone
async def test_each_statement_without_its_filters_shows_and_changes_nothing_more(
    database: ScratchDatabase, gateway: Database, tenants: list[MadeTenant], alone: bool
) -> None:
    """Other people's documents, and those of one's own in another module."""
    noted = Mutator()
    expected = await retold(database, gateway, tenants, noted.wrap)
    assert "theirs" not in str(expected)
    mutated = list(noted.mutants())
    assert len(mutated) >= 10

    async def tell(mutator: Mutator) -> list[Any]:
        return await retold(database, gateway, tenants, mutator.wrap)

    assert await find_leaks(mutated, tell, expected, alone=alone) == []
