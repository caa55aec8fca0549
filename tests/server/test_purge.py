"""What was deleted is in no file of the database any more, once tables have been rewritten."""

import asyncio
import json
import re
import secrets
import subprocess
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from core.config.settings import Settings
from core.database_url import DatabaseAddress
from core.db import Database, connect
from core.directory import deletion, roles, users
from core.directory.audit_trail import Actor
from modules.items import MODULE as ITEMS
from modules.knowledge_graph import MODULE as GRAPH
from search.engine import SearchEngine
from search.records import CollectionCaller, CollectionKind, DocumentDraft
from server.data_folder import attach_database
from server.deletion_maintenance import PurgeResult, purge_deleted, run_deletion_maintenance
from server.deployment import Deployment
from server.role_database import CONSOLE_ROLE, GATEWAY_ROLE, open_role_database
from tests.support import directory
from tests.support.eventually import within
from tests.support.modules import Person
from tests.support.postgres import MadeTenant, ScratchDatabase
from tests.support.running_product import MCPIST, data_folder, environment, free_port
from tests.support.search_engine import ToyEmbedders
from tests.support.stored_texts import (
    ADD_COUNT,
    ADD_DOCUMENT,
    replace_item,
    store_entity,
    store_everywhere,
    store_item,
    store_job,
    store_rows,
    store_workspace,
)

MakeTenant = Callable[..., Awaitable[MadeTenant]]
ACTOR = Actor("tester")
LETTERS = "bcdfghjkmnpqrtvwxz"
CANARY = re.compile(rb"zqx[bcdfghjkmnpqrtvwxz]{3}")
REPEATED = 7
"""Times that a canary has its six letters: compression puts a byte between eight, and leaves one of them whole."""


@dataclass(frozen=True, slots=True)
class Opened:
    deployment: Deployment
    gateway: Database
    console: Database
    engine: SearchEngine
    home: Path

    @property
    def admin(self) -> DatabaseAddress:
        return self.deployment.admin

    async def purge(self) -> PurgeResult:
        return await purge_deleted(self.admin, is_embedded=True)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with data_folder() as folder:
        yield folder


@pytest.fixture
async def opened(home: Path) -> AsyncIterator[Opened]:
    settings = Settings.from_environment({"MCPIST_HOME": str(home)})
    async with (
        attach_database(settings, lambda _line: None) as deployment,
        open_role_database(deployment, GATEWAY_ROLE, max_connections=4) as gateway,
        open_role_database(deployment, CONSOLE_ROLE, max_connections=2) as console,
    ):
        await stop_autovacuum(deployment.admin)
        yield Opened(deployment, gateway, console, SearchEngine(gateway, ToyEmbedders()), home)


async def stop_autovacuum(admin: DatabaseAddress) -> None:
    """Keep its snapshots away: a rewrite that meets one is postponed."""
    connection = await connect(admin)
    await connection.execute("ALTER SYSTEM SET autovacuum = off")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


def make_canary() -> str:
    return ("zqx" + "".join(secrets.choice(LETTERS) for _ in range(3))) * REPEATED


def find_files(home: Path, canary: str) -> list[str]:
    """The database's files, the write-ahead log among them, in which a canary is."""
    return find_canaries(home, {"": canary}).get("", [])


def find_canaries(home: Path, canaries: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of the canaries that are in files of the database, with these files."""
    names = {canary[: len(canary) // REPEATED].encode(): name for name, canary in canaries.items()}
    found = defaultdict[str, list[str]](list)
    for path, content in read_files(home):
        for canary in set(CANARY.findall(content)) & names.keys():
            found[names[canary]].append(path.name)
    return dict(found)


def find_bytes(home: Path, needles: Sequence[bytes]) -> list[str]:
    """The database's files in which one of these is."""
    return [path.name for path, content in read_files(home) if any(needle in content for needle in needles)]


def read_files(home: Path) -> Iterator[tuple[Path, bytes]]:
    for path in (home / "postgres").rglob("*"):
        if path.is_file() and not path.is_socket():
            yield path, path.read_bytes()


async def make_people(opened: Opened, slug: str) -> tuple[UUID, UUID, UUID]:
    """A tenant, its administrator with the role `readers`, and another user with that role."""
    tenant = await directory.create_tenant(opened.console, ACTOR, slug)
    await roles.create_role(opened.console, ACTOR, tenant.id, "readers", 0)
    made = [
        await users.create_user(
            opened.console, ACTOR, tenant.id, f"{name}@mail.test", system_role=role, roles=("readers",)
        )
        for name, role in (("ada", "admin"), ("bob", "user"))
    ]
    return tenant.id, made[0], made[1]


async def store(opened: Opened, caller: CollectionCaller, canary: str, kind: CollectionKind) -> UUID:
    """A document with the canary in each of its parts, and a long one with it in its text."""
    role = "readers" if kind is CollectionKind.ROLE else ""
    collection = await opened.engine.open_collection(caller, canary, kind, role)
    short = DocumentDraft(
        f"key/{canary}", f"Title {canary}", f"# Heading {canary}\n\nText {canary}", (canary,), {canary: canary}, canary
    )
    await opened.engine.put_document(caller, collection.id, short)
    long = DocumentDraft("long", "", f"{'some words that repeat. ' * 400} {canary} {'and more. ' * 400}")
    await opened.engine.put_document(caller, collection.id, long)
    assert await opened.engine.search(caller, canary)
    return collection.id


async def read_vectors(opened: Opened, collections: Sequence[UUID]) -> set[bytes]:
    """The first bytes of each stored vector, as they stand in the table."""
    connection = await connect(opened.admin)
    try:
        rows = await connection.fetch(
            "SELECT embedding::real[] AS v FROM search.chunks WHERE collection_id = ANY ($1)", list(collections)
        )
    finally:
        await connection.close()
    return {np.asarray(row["v"][:12], dtype=np.float16).tobytes() for row in rows}


async def test_nothing_deleted_can_be_read_from_the_files(opened: Opened) -> None:
    await opened.purge()
    tenant, ada, bob = await make_people(opened, "acme")
    mine, bobs = CollectionCaller(tenant, ada, "rag"), CollectionCaller(tenant, bob, "rag")
    away, of_away, _ = await make_people(opened, "globex")
    names = ("kept", "changed", "document", "collection", "user", "role", "tenant")
    canaries = {name: make_canary() for name in names}
    places = {
        name: await store(opened, caller, canaries[name], kind)
        for name, caller, kind in (
            ("kept", mine, CollectionKind.USER),
            ("changed", mine, CollectionKind.TENANT),
            ("document", mine, CollectionKind.USER),
            ("collection", mine, CollectionKind.TENANT),
            ("user", bobs, CollectionKind.USER),
            ("role", mine, CollectionKind.ROLE),
            ("tenant", CollectionCaller(away, of_away, "rag"), CollectionKind.USER),
        )
    }
    kept_vectors = await read_vectors(opened, [places["kept"]])  # some passages have no canary
    vectors = [*(await read_vectors(opened, [*places.values()]) - kept_vectors)]
    connection = await connect(opened.admin)
    await connection.execute("ANALYZE")
    await connection.execute("CHECKPOINT")
    assert find_canaries(opened.home, canaries).keys() == canaries.keys(), "the search of the files is blind"
    assert find_bytes(opened.home, vectors)
    assert await opened.purge() == PurgeResult((), ())

    for key in (f"key/{canaries['changed']}", "long"):
        await opened.engine.delete_document(mine, places["changed"], key)
    for key in (f"key/{canaries['document']}", "long"):
        await opened.engine.put_document(mine, places["document"], DocumentDraft(key, "", "else"))
        assert await opened.engine.delete_document(mine, places["document"], key)
    await opened.engine.remove_collection(mine, places["collection"])
    await opened.engine.remove_collection(mine, places["document"])
    await opened.engine.remove_collection(mine, places["changed"])
    await users.remove_user(opened.console, ACTOR, tenant, bob)
    role = await roles.find_role(opened.console, tenant, "readers")
    await roles.remove_role(opened.console, ACTOR, tenant, role.id)
    await deletion.remove_tenant(opened.console, ACTOR, away, "globex")
    await connection.execute("VACUUM")
    assert find_files(opened.home, canaries["document"]), "VACUUM alone would do"

    result = await opened.purge()
    assert result.postponed == ()
    assert "search.collections" in result.rewritten
    left = find_canaries(opened.home, canaries)
    assert left.keys() == {"kept"}, left
    assert find_bytes(opened.home, vectors) == []
    assert (await opened.engine.search(mine, canaries["kept"]))[0].collection == places["kept"]
    statistics = await connection.fetch(
        """SELECT tablename, attname FROM pg_stats s WHERE schemaname = 'search' AND NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = format('search.%I', s.tablename)::regclass
            AND a.attname = s.attname AND (a.atttypid = ANY ('{uuid,int,bigint,bool,timestamptz}'::regtype[])
                OR a.attname IN ('module', 'owner', 'model', 'next_model')))"""
    )
    assert [tuple(row) for row in statistics] == []
    await connection.close()


async def test_nothing_deleted_of_modules_can_be_read_from_the_files(opened: Opened) -> None:
    tenant, ada, bob = await make_people(opened, "stark")
    away, of_away, _ = await make_people(opened, "oscorp")
    items, graph = (Person(opened.gateway, module, tenant, ada) for module in (ITEMS, GRAPH))
    connection = await connect(opened.admin)
    names = ("kept", "changed", "item", "workspace", "entity", "rows", "job", "user", "role", "tenant")
    canaries = {name: make_canary() for name in names}
    for user, name in ((ada, "kept"), (bob, "user")):
        await store_everywhere(opened.gateway, tenant, user, canaries[name])
    await store_everywhere(opened.gateway, away, of_away, canaries["tenant"])
    changed = await store_item(items, canaries["changed"])
    await items.call("create_workspace", name=canaries["changed"])
    await graph.call("create_entities", entities=[{"name": "x", "entityType": canaries["changed"], "observations": []}])
    await store_rows(opened.gateway, tenant, ada, canaries["changed"], "x")
    await store_item(items, canaries["item"])
    board = await store_workspace(items, canaries["workspace"])
    await store_workspace(items, canaries["role"], "role", "readers")
    await store_entity(graph, canaries["entity"])
    await store_rows(opened.gateway, tenant, ada, canaries["rows"])
    await store_job(connection, tenant, ada, canaries["job"])
    await connection.execute("ANALYZE")
    await connection.execute("CHECKPOINT")
    assert find_canaries(opened.home, canaries).keys() == canaries.keys(), "the search of the files is blind"
    assert (await opened.purge()).postponed == ()
    assert await opened.purge() == PurgeResult((), ())
    assert find_canaries(opened.home, canaries).keys() == canaries.keys()

    await replace_item(items, changed)
    await items.call("rename_workspace", workspace=canaries["changed"], name="plans")
    await items.call("delete_item", type="note", id=2)
    await graph.call("create_entities", entities=[{"name": "x", "entityType": "y", "observations": []}])
    await store_rows(opened.gateway, tenant, ada, "else", "x")
    await items.call("delete_workspace", workspace=board)
    await graph.call("delete_entities", entityNames=[canaries["entity"], f"other {canaries['entity']}"])
    await connection.execute("DELETE FROM modules.activity_entries WHERE key = $1", canaries["rows"])
    await connection.execute("DELETE FROM modules.documents WHERE key = $1", canaries["rows"])
    await connection.execute("DELETE FROM core.resource_subscriptions WHERE uri !~ $1", canaries["kept"])
    for table in ("jobs.jobs", "jobs.schedules", "auth.mandates"):
        await connection.execute(f"DELETE FROM {table}")
    await users.remove_user(opened.console, ACTOR, tenant, bob)
    role = await roles.find_role(opened.console, tenant, "readers")
    await roles.remove_role(opened.console, ACTOR, tenant, role.id)
    await deletion.remove_tenant(opened.console, ACTOR, away, "oscorp")
    await connection.execute("VACUUM")
    assert find_files(opened.home, canaries["item"]), "VACUUM alone would do"

    assert (await opened.purge()).postponed == ()
    left = find_canaries(opened.home, canaries)
    assert left.keys() == {"kept"}, left
    found = await items.call("search_items", query=canaries["kept"], workspace=canaries["kept"])
    assert found["items"][0]["tags"] == [canaries["kept"]]
    await connection.close()


@asynccontextmanager
async def looking(opened: Opened) -> AsyncIterator[None]:
    """A transaction that may see what is deleted after its beginning."""
    connection = await connect(opened.admin)
    transaction = connection.transaction(isolation="repeatable_read")
    await transaction.start()
    await connection.fetchval("SELECT count(*) FROM core.tenants")
    try:
        yield
    finally:
        await transaction.rollback()
        await connection.close()


async def test_what_a_transaction_may_still_see_is_rewritten_later(opened: Opened) -> None:
    tenant, ada, _ = await make_people(opened, "initech")
    mine = CollectionCaller(tenant, ada, "rag")
    canary = make_canary()
    collection = await store(opened, mine, canary, CollectionKind.USER)
    async with looking(opened):
        await opened.engine.remove_collection(mine, collection)
        result = await opened.purge()
        assert result.postponed
    assert find_files(opened.home, canary)
    assert (await opened.purge()).postponed == ()
    assert find_files(opened.home, canary) == []


async def test_a_table_in_use_is_rewritten_later(opened: Opened) -> None:
    tenant, ada, _ = await make_people(opened, "hooli")
    mine = CollectionCaller(tenant, ada, "rag")
    collection = await store(opened, mine, make_canary(), CollectionKind.USER)
    await opened.engine.remove_collection(mine, collection)
    connection = await connect(opened.admin)
    async with connection.transaction():
        await connection.execute("LOCK TABLE search.collections IN ACCESS SHARE MODE")
        assert (await opened.purge()).postponed == ("search.collections",)
    await connection.close()
    assert await opened.purge() == PurgeResult(("search.collections",), ())


LATE_INDEX = """
CREATE FUNCTION modules.wait_for_gate(key text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN PERFORM pg_advisory_lock_shared(9); PERFORM pg_advisory_unlock_shared(9); RETURN key; END $$;
ALTER TABLE modules.documents DROP CONSTRAINT documents_pkey;
CREATE INDEX gate ON modules.documents (modules.wait_for_gate(key));
ALTER TABLE modules.documents ADD PRIMARY KEY (tenant_id, user_id, module, key);
"""
"""Between the copy of a rewrite and the new primary key, it waits for a lock."""


async def test_what_a_transaction_sees_until_the_middle_of_a_rewrite_is_not_left(
    database: ScratchDatabase, make_tenant: MakeTenant
) -> None:
    tenant = await make_tenant()
    async with (
        database.admin_connection() as admin,
        database.admin_connection() as looking,
        database.open("mcpist_gateway") as gateway,
    ):
        await admin.execute(LATE_INDEX)
        async with gateway.personal(tenant.id, tenant.users[0]) as work:
            await work.execute(ADD_COUNT)
            for key in range(100):
                await work.execute(ADD_DOCUMENT, f"{key}", "x" * 1_000)
        await looking.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await looking.fetchval("SELECT count(*) FROM core.tenants")
        await admin.execute("DELETE FROM modules.documents WHERE key <> '0'")
        await admin.execute("SELECT pg_advisory_lock(9)")
        purge = asyncio.create_task(purge_deleted(database.admin, is_embedded=False))

        async def has_ended_or_waits() -> bool:
            waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)"
            return purge.done() or await admin.fetchval(waits)

        await within(10, has_ended_or_waits)
        await looking.execute("ROLLBACK")
        await admin.execute("SELECT pg_advisory_unlock(9)")
        if "modules.documents" in (await purge).postponed:
            assert (await purge_deleted(database.admin, is_embedded=False)).rewritten == ("modules.documents",)
        assert await admin.fetchval("SELECT pg_relation_size('modules.documents')") == 8192, "the row that is kept"


async def test_nobody_waits_for_the_mark_of_somebody_else(opened: Opened) -> None:
    await opened.purge()
    tenant, *people = await make_people(opened, "tyrell")
    for user in people:
        await store_entity(Person(opened.gateway, GRAPH, tenant, user), "x")
    forget = "DELETE FROM modules.kg_observations WHERE tenant_id = $1 AND user_id = $2"
    async with opened.gateway.personal(tenant, people[0]) as first, asyncio.timeout(10):
        assert await first.execute(forget) == 2
        async with opened.gateway.personal(tenant, people[1]) as second:
            assert await second.execute(forget) == 2
    address = opened.deployment.get_role_address(CONSOLE_ROLE)  # `mcpist console`, which owns no table
    result = await purge_deleted(address, is_embedded=False)
    assert result == PurgeResult(("modules.kg_observations",), ())
    assert await opened.purge() == PurgeResult((), ())


async def test_maintenance_rewrites_what_was_deleted_a_day_ago(opened: Opened) -> None:
    tenant, ada, _ = await make_people(opened, "umbrella")
    mine = CollectionCaller(tenant, ada, "rag")
    canary = make_canary()
    await opened.engine.remove_collection(mine, await store(opened, mine, canary, CollectionKind.USER))

    async def is_gone() -> bool:
        return not find_files(opened.home, canary)

    async with run_deletion_maintenance(opened.admin, lambda: datetime.now(UTC), is_embedded=True):
        await asyncio.sleep(0)
    assert not await is_gone()
    async with run_deletion_maintenance(
        opened.admin, lambda: datetime.now(UTC) + timedelta(hours=21), is_embedded=True
    ):
        await within(10, is_gone)


async def test_the_command_works_beside_a_running_product_and_alone(home: Path) -> None:
    settings = Settings.from_environment({"MCPIST_HOME": str(home)})
    variables = environment(home, free_port())

    async def purge() -> dict[str, list[str]]:
        process = await asyncio.create_subprocess_exec(
            str(MCPIST), "purge", "--json", env=variables, stdout=subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert process.returncode == 0
        return json.loads(output)

    async with (
        attach_database(settings, lambda _line: None) as deployment,
        open_role_database(deployment, GATEWAY_ROLE, max_connections=4) as gateway,
        open_role_database(deployment, CONSOLE_ROLE, max_connections=2) as console,
    ):
        opened = Opened(deployment, gateway, console, SearchEngine(gateway, ToyEmbedders()), home)
        tenant, ada, _ = await make_people(opened, "wayne")
        mine = CollectionCaller(tenant, ada, "rag")
        canary = make_canary()
        await opened.engine.remove_collection(mine, await store(opened, mine, canary, CollectionKind.USER))
        assert "search.collections" in (await purge())["rewritten"]
        assert find_files(home, canary) == []
    assert await purge() == {"rewritten": []}
