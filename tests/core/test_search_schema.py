"""The schema `search` is there where the database has pgvector, and comes as soon as it has."""

from typing import Any

import pytest

from core.database_url import DatabaseAddress
from core.db import Database
from core.migrations import SchemaChange, downgrade, get_head_revision, migrate
from core.search_schema import has_search_schema, is_pgvector_usable
from core.secret import Secret
from search.engine import SearchEngine
from search.records import CollectionCaller, DocumentDraft
from search.transactions import SearchOff
from tests.support.postgres import PASSWORDS, MadeTenant, MigrationHere, ScratchDatabase, add_tenant, own_server
from tests.support.search_engine import ToyEmbedders


@pytest.mark.parametrize(
    ("version", "is_usable"),
    [
        (None, False),
        ("0.5.1", False),
        ("0.7.4", False),
        ("0.8", True),
        ("0.8.6", True),
        ("0.10.0", True),
        ("1.0", True),
    ],
)
def test_the_oldest_pgvector(version: str | None, is_usable: bool) -> None:
    assert is_pgvector_usable(version) is is_usable


async def search(address: DatabaseAddress, tenant: MadeTenant) -> Any:
    """Store a document and find it, as a gateway."""
    database = Database(address.as_role("mcpist_gateway", PASSWORDS["mcpist_gateway"]))
    await database.open()
    try:
        engine, caller = SearchEngine(database, ToyEmbedders()), CollectionCaller(tenant.id, tenant.users[0], "rag")
        place = await engine.open_collection(caller, "notes")
        await engine.put_document(caller, place.id, DocumentDraft("k", "Tea", "green tea"))
        return [hit.text for hit in await engine.search(caller, "green tea")]
    finally:
        await database.close()


async def test_a_rented_server_gets_it_when_its_operator_creates_the_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever rents a database is no superuser; roles of a server of its own are not another test's."""
    monkeypatch.setattr("core.migrations.MigrationProcess", MigrationHere)
    with own_server() as server:
        async with server.database(migrated=False) as database:
            async with database.admin_connection() as admin:
                await admin.execute("CREATE ROLE renter LOGIN CREATEROLE PASSWORD 'renter'")
                await admin.execute(f'ALTER DATABASE "{database.name}" OWNER TO renter')
            renter = database.admin.as_role("renter", Secret("renter"))
            head = get_head_revision()
            assert await migrate(renter, PASSWORDS) == SchemaChange(None, head)
            tenant = await add_tenant(database)
            with pytest.raises(SearchOff, match="pgvector"):
                await search(renter, tenant)
            async with database.admin_connection() as admin:
                assert not await has_search_schema(admin)
                await admin.execute("CREATE SCHEMA extensions")
                await admin.execute("GRANT USAGE ON SCHEMA extensions TO PUBLIC")
                await admin.execute("CREATE EXTENSION vector SCHEMA extensions")
            assert await migrate(renter, PASSWORDS, upgrade=False) == SchemaChange(head, head)
            with pytest.raises(SearchOff):  # a command takes nobody by surprise
                await search(renter, tenant)
            assert await migrate(renter, PASSWORDS) == SchemaChange(head, head)
            assert await search(renter, tenant) == ["green tea"]
            await downgrade(renter, "0048")
            with pytest.raises(SearchOff):
                await search(renter, tenant)
            assert await migrate(renter, PASSWORDS) == SchemaChange("0048", head)
            assert await search(renter, tenant) == ["green tea"]


async def test_the_function_that_looks_through_all_rows_belongs_to_a_role_that_reads_no_more(
    database: ScratchDatabase,
) -> None:
    async with database.admin_connection() as admin:
        owner = await admin.fetchval(
            "SELECT proowner::regrole::text FROM pg_proc WHERE oid = to_regproc('search.find_candidates')"
        )
        readable = await admin.fetch(
            """SELECT c.oid::regclass::text AS relation,
                has_table_privilege($1, c.oid, 'INSERT, UPDATE, DELETE') AS writes
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p')
            AND has_any_column_privilege($1, c.oid, 'SELECT') ORDER BY 1""",
            owner,
        )
        reads_texts = await admin.fetchval(
            """SELECT has_column_privilege($1, 'search.documents', 'text', 'SELECT')
                OR has_column_privilege($1, 'modules.items', 'content', 'SELECT')""",
            owner,
        )
        role = await admin.fetchrow("SELECT * FROM pg_roles WHERE rolname = $1", owner)
    assert owner == "mcpist_search"
    assert not any(role[name] for name in ("rolcanlogin", "rolsuper", "rolbypassrls", "rolinherit", "rolcreaterole"))
    assert [tuple(row) for row in readable] == [
        ("core.role_assignments", False),
        ("core.users", False),
        ("modules.item_workspaces", False),
        ("modules.items", False),
        ("search.chunks", False),
        ("search.collections", False),
        ("search.documents", False),
    ]
    assert not reads_texts
