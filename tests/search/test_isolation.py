"""Whose collections are seen and changed: one's own, those of one's roles, the tenant's; never another tenant's or
another module's, also where a statement has lost its filter."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any, LiteralString
from uuid import uuid4

import asyncpg
import pytest

from core.db import Database
from core.directory import roles, users
from core.directory.audit_trail import Actor
from core.errors import Forbidden, MCPistError, NotFound
from search.engine import SearchEngine
from search.records import CollectionCaller, CollectionKind, DocumentCondition, DocumentDraft, SearchScope
from tests.core.directory.test_isolation import watched
from tests.support import directory
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase
from tests.support.search_engine import SMALL_MODEL, TOY_MODEL, ToyEmbedders

ACTOR = Actor("tester")
SECRET = "theirs"


@dataclass(frozen=True, slots=True)
class Office:
    """A tenant: `ada` is an administrator with the role, `bob` has the role, and `cat` has none."""

    ada: CollectionCaller
    bob: CollectionCaller
    cat: CollectionCaller


@pytest.fixture
async def gateway(database: ScratchDatabase) -> AsyncIterator[Database]:
    async with database.open("mcpist_gateway") as opened:
        yield opened


@pytest.fixture
def engine(gateway: Database) -> SearchEngine:
    return SearchEngine(gateway, ToyEmbedders())


async def make_office(database: ScratchDatabase, slug: str) -> Office:
    async with database.open("mcpist_console") as console:
        tenant = await directory.create_tenant(console, ACTOR, slug)
        await roles.create_role(console, ACTOR, tenant.id, "readers", 0)
        made = [
            await users.create_user(
                console, ACTOR, tenant.id, f"{name}@mail.test", system_role=system_role, roles=given
            )
            for name, system_role, given in (
                ("ada", "admin", ("readers",)),
                ("bob", "user", ("readers",)),
                ("cat", "user", ()),
            )
        ]
    return Office(*(CollectionCaller(tenant.id, user, "rag") for user in made))


async def attempt(call: Any) -> Any:
    """What a call answers, or the name of its refusal."""
    try:
        return await call
    except MCPistError as error:
        return type(error).__name__


async def tell(engine: SearchEngine, office: Office, word: str) -> list[Any]:
    """Everything that the engine does, for everybody of a tenant; what each was told."""
    told: list[Any] = []
    places = []
    for kind, role in ((CollectionKind.USER, ""), (CollectionKind.ROLE, "readers"), (CollectionKind.TENANT, "")):
        made = await engine.open_collection(office.ada, "notes", kind, role)
        places.append(made.id)
        for number in range(2):
            draft = DocumentDraft(f"k{number}", f"Title {word}", f"{word} tea {kind}", (word,), {"word": word})
            await engine.put_document(office.ada, made.id, draft)
        await engine.put_document(office.ada, made.id, DocumentDraft("k1", word, f"changed {word} {kind}", (word,)))
    for caller in (office.ada, office.bob, office.cat):
        told.append([(one.name, one.owner, one.role, one.can_write) for one in await engine.list_collections(caller)])
        for scope in SearchScope:
            found = await engine.search(caller, f"{word} tea", scope=scope, limit=50)
            told.append(sorted((hit.key, hit.text) for hit in found))
        narrow = DocumentCondition(tags=(word,), metadata={"word": word}, key_prefix="k")
        told.append(sorted(hit.text or "" for hit in await engine.search(caller, word, condition=narrow, limit=50)))
        for newest_first in (False, True):
            page = await engine.list_documents(caller, newest_first=newest_first)
            told.append(sorted((one.key, one.title) for one in page.documents))
        told.append(await engine.count_tags(caller))
        for kind, role in ((CollectionKind.USER, ""), (CollectionKind.ROLE, "readers"), (CollectionKind.TENANT, "")):
            told.append(await engine.find_collection(caller, "notes", kind, role) is not None)
        for place in places:
            told.append(
                await attempt(engine.put_document(caller, place, DocumentDraft("k0", "", f"{word} new"))) and None
            )
            document = await attempt(engine.get_document(caller, place, "k1"))
            told.append(document and document.text)
            told.append(await attempt(engine.search(caller, f"{word} new", collections=[place])) and None)
            pairs = await attempt(engine.pair_nearest(caller, place, least=-1.0))
            told.append(pairs if isinstance(pairs, str) else [(pair.first, pair.second) for pair in pairs])
    told.append(await attempt(engine.reembed(office.ada, places[2], SMALL_MODEL.name)))
    told.append(await attempt(engine.reembed(office.ada, places[2], TOY_MODEL.name)))
    by_all = [(caller, place) for caller in (office.cat, office.bob, office.ada) for place in places]
    told += [await attempt(engine.delete_document(caller, place, "k0")) for caller, place in by_all]
    told += [await attempt(engine.remove_collection(caller, place)) for caller, place in by_all]
    return told


async def test_everybody_sees_and_changes_what_is_theirs(database: ScratchDatabase, engine: SearchEngine) -> None:
    office, other = await make_office(database, "acme"), await make_office(database, "globex")
    ada, bob, cat = office.ada, office.bob, office.cat
    with pytest.raises(Forbidden):
        await engine.open_collection(bob, "notes", CollectionKind.ROLE, "readers")
    with pytest.raises(Forbidden):
        await engine.open_collection(bob, "notes", CollectionKind.TENANT)
    with pytest.raises(NotFound):
        await engine.open_collection(ada, "notes", CollectionKind.ROLE, "writers")
    mine = await engine.open_collection(ada, "notes")
    of_role = await engine.open_collection(ada, "notes", CollectionKind.ROLE, "readers")
    of_all = await engine.open_collection(ada, "notes", CollectionKind.TENANT, member_writes=True)
    assert (mine.can_write, of_role.can_write, of_all.can_write) == (True, True, True)
    assert {one.id for one in await engine.list_collections(bob)} == {of_role.id, of_all.id}
    assert [one.id for one in await engine.list_collections(cat)] == [of_all.id]
    assert await engine.list_collections(other.ada) == []
    assert await engine.list_collections(replace(ada, module="memo")) == []
    draft = DocumentDraft("k", "Tea", "green tea")
    for caller, place, refusal in (
        (bob, mine.id, NotFound),
        (bob, of_role.id, Forbidden),
        (cat, of_role.id, NotFound),
        (other.ada, of_all.id, NotFound),
        (replace(ada, module="memo"), mine.id, NotFound),
        (replace(ada, user_id=uuid4()), of_all.id, NotFound),
        (replace(ada, tenant_id=other.ada.tenant_id), of_all.id, NotFound),
    ):
        for call in (
            engine.put_document(caller, place, draft),
            engine.delete_document(caller, place, "k"),
            engine.remove_collection(caller, place),
            engine.reembed(caller, place, SMALL_MODEL.name),
        ):
            with pytest.raises(refusal):
                await call
        if refusal is NotFound:
            assert await engine.get_document(caller, place, "k") is None
            with pytest.raises(NotFound):
                await engine.search(caller, "tea", collections=[place])
    stored = await engine.put_document(ada, of_role.id, draft)
    assert (await engine.search(bob, "tea"))[0].document == stored.id
    assert await engine.search(cat, "tea") == []
    assert await engine.get_document_by_id(cat, stored.id) is None
    assert await engine.get_document_by_id(replace(bob, module="memo"), stored.id) is None
    assert (await engine.put_document(cat, of_all.id, draft)).version == 1


async def test_a_lost_role_ends_reading_at_once(database: ScratchDatabase, engine: SearchEngine) -> None:
    office = await make_office(database, "acme")
    place = await engine.open_collection(office.ada, "notes", CollectionKind.ROLE, "readers")
    await engine.put_document(office.ada, place.id, DocumentDraft("k", "Tea", "green tea"))
    assert await engine.search(office.bob, "tea")
    async with database.open("mcpist_console") as console:
        await directory.unassign_role(console, ACTOR, office.bob.tenant_id, "bob@mail.test", "readers")
    assert await engine.search(office.bob, "tea") == []
    assert await engine.list_collections(office.bob) == []


async def test_the_database_refuses_what_the_code_would_forget(
    database: ScratchDatabase, engine: SearchEngine, gateway: Database
) -> None:
    office = await make_office(database, "acme")
    place = await engine.open_collection(office.ada, "notes", CollectionKind.TENANT)
    hidden = await engine.open_collection(office.ada, "notes")
    await engine.put_document(office.ada, place.id, DocumentDraft("k", "Tea", "green tea"))
    await engine.put_document(office.ada, hidden.id, DocumentDraft("k", "Tea", "black tea"))
    nothing: tuple[tuple[LiteralString, int], ...] = (
        ("UPDATE search.collections SET documents = 7 WHERE $1::uuid <> $2", 0),
        ("DELETE FROM search.collections WHERE $1::uuid <> $2", 0),
        ("UPDATE search.documents SET title = 'x' WHERE $1::uuid <> $2", 0),
        ("DELETE FROM search.documents WHERE $1::uuid <> $2", 0),
        ("DELETE FROM search.chunks WHERE $1::uuid <> $2", 0),
        ("UPDATE search.token_counts SET chunks = 7 WHERE $1::uuid <> $2", 0),
        ("SELECT FROM search.documents WHERE $1::uuid <> $2", 1),
        ("SELECT FROM search.chunks WHERE $1::uuid <> $2", 1),
    )
    async with gateway.personal(office.bob.tenant_id, office.bob.user_id) as work:
        for sql, seen in nothing:
            assert await work.execute(sql) == seen, sql
    refused: tuple[LiteralString, ...] = (
        "INSERT INTO search.collections (tenant_id, module, name, owner, model, dimensions) "
        "SELECT $1, 'rag', 'x', 'tenant', 'toy', 512 WHERE $2::uuid IS NOT NULL",
        "INSERT INTO search.collections (tenant_id, module, name, owner, user_id, model, dimensions) "
        "SELECT $1, 'rag', 'x', 'user', gen_random_uuid(), 'toy', 512 WHERE $2::uuid IS NOT NULL",
        "INSERT INTO search.token_counts SELECT tenant_id, id, generation, 'x', 1 FROM search.collections "
        "WHERE tenant_id = $1 AND $2::uuid IS NOT NULL",
        "UPDATE search.collections SET member_writes = true WHERE tenant_id = $1 AND $2::uuid IS NOT NULL",
        "UPDATE search.usage SET bytes = 0 WHERE tenant_id = $1 AND $2::uuid IS NOT NULL",
        "SELECT core.rewrite_dirty_table('search.collections') WHERE $1::uuid <> $2",
        "SELECT * FROM core.dirty_tables WHERE $1::uuid <> $2",
    )
    for sql in refused:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with gateway.personal(office.bob.tenant_id, office.bob.user_id) as work:
                await work.execute(sql)


async def test_candidates_are_those_of_readable_collections(
    database: ScratchDatabase, engine: SearchEngine, gateway: Database
) -> None:
    office, other = await make_office(database, "acme"), await make_office(database, "globex")
    place = await engine.open_collection(office.ada, "notes")
    await engine.put_document(office.ada, place.id, DocumentDraft("k", "Tea", "green tea"))
    async with database.admin_connection() as admin:
        generation = await admin.fetchval("SELECT generation FROM search.collections")
    sql = """SELECT * FROM search.find_candidates(ARRAY[$3::uuid], ARRAY[$4::bigint], 512,
        array_fill(0.1::real, ARRAY[512]), ARRAY['tea'], ARRAY[false],
        ARRAY[1.0::real], ARRAY[1], '{}', NULL, '', NULL, NULL, 10) WHERE $1::uuid <> $2"""
    for caller, found in ((office.ada, 1), (office.bob, 0), (other.ada, 0), (replace(office.ada, user_id=uuid4()), 0)):
        async with gateway.personal(caller.tenant_id, caller.user_id) as work:
            assert len(await work.fetch(sql, place.id, generation)) == found


async def retell(engine: SearchEngine, mine: Office, monkeypatch: pytest.MonkeyPatch, mutator: Mutator) -> list[Any]:
    with monkeypatch.context() as patch:
        watched(patch, mutator)
        return await tell(engine, mine, "ours")


@pytest.fixture
async def offices(database: ScratchDatabase, engine: SearchEngine) -> tuple[Office, Callable[[], Any]]:
    """One's own tenant; and what another tenant has, which nobody touches."""
    mine, other = await make_office(database, "acme"), await make_office(database, "globex")
    places = [
        await engine.open_collection(other.ada, "notes", kind, role)
        for kind, role in ((CollectionKind.USER, ""), (CollectionKind.ROLE, "readers"), (CollectionKind.TENANT, ""))
    ]
    for place in places:
        for key in ("k0", "k1"):
            await engine.put_document(other.ada, place.id, DocumentDraft(key, SECRET, f"ours {SECRET} tea", ("ours",)))

    async def look() -> list[Any]:
        listed = [await engine.list_collections(caller) for caller in (other.ada, other.bob, other.cat)]
        return [listed, [await engine.get_document(other.ada, place.id, "k0") for place in places]]

    return mine, look


@together_and_alone
async def test_each_statement_without_its_filters_shows_and_changes_nothing_more(
    offices: tuple[Office, Callable[[], Any]], engine: SearchEngine, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    mine, look = offices
    before, noted = await look(), Mutator()
    expected = await retell(engine, mine, monkeypatch, noted)
    assert SECRET not in str(expected)
    assert len(noted.seen) > 40
    assert len(noted.list_unfiltered()) > 35

    async def tell(mutator: Mutator) -> tuple[list[Any], bool]:
        told = await retell(engine, mine, monkeypatch, mutator)
        return told, await look() == before

    assert await find_leaks(noted.mutants(), tell, (expected, True), alone=alone) == []
