"""The schema goes up, down and up again; a second start has nothing to do."""

import asyncio
import os
import sys
from pathlib import Path

import asyncpg
import pytest

from core.migrations import (
    OLDEST_COMPATIBLE_REVISION,
    MigrationError,
    SchemaChange,
    build_tenant_policy_script,
    check_schema,
    create_roles,
    downgrade,
    get_current_revision,
    get_head_revision,
    list_revisions,
    migrate,
    prepare_migration,
)
from core.secret import Secret
from tests.support.eventually import within
from tests.support.postgres import PASSWORDS, DatabaseServer, MigrationHere, ScratchDatabase, own_server

UPGRADE = """
import asyncio, sys
from core.database_url import DatabaseAddress
from core.migration_process import MigrationProcess
from core.secret import Secret
asyncio.run(MigrationProcess().upgrade(DatabaseAddress(Secret(sys.argv[1]))))
"""
OURS = (
    "SELECT nspname FROM pg_namespace WHERE nspname IN ('core', 'auth', 'vault', 'audit', 'modules', 'jobs') ORDER BY 1"
)


async def _revision(database: ScratchDatabase) -> str | None:
    async with database.admin_connection() as admin:
        return await get_current_revision(admin)


async def _schemas(database: ScratchDatabase) -> list[str]:
    async with database.admin_connection() as admin:
        return [row["nspname"] for row in await admin.fetch(OURS)]


async def test_up_down_up_on_an_empty_database(database_server: DatabaseServer) -> None:
    await database_server.template()  # the roles exist before: as on any second database of a server
    async with database_server.database(migrated=False) as database:
        assert await migrate(database.admin, PASSWORDS) == SchemaChange(None, get_head_revision())
        assert await _revision(database) == get_head_revision()
        await downgrade(database.admin, "base")
        assert await _schemas(database) == []
        assert await migrate(database.admin, PASSWORDS) == SchemaChange(None, get_head_revision())
        assert await _schemas(database) == ["audit", "auth", "core", "jobs", "modules", "vault"]


async def test_every_revision_goes_down_and_up_by_itself(database_server: DatabaseServer) -> None:
    async with database_server.database(migrated=False) as database:
        await migrate(database.admin, PASSWORDS)
        for below in reversed(["base", *list_revisions()][:-1]):
            await downgrade(database.admin, below)
            assert await _revision(database) == (None if below == "base" else below)
        await migrate(database.admin, PASSWORDS)
        assert await _revision(database) == get_head_revision()


async def test_a_second_start_has_nothing_to_do(database: ScratchDatabase) -> None:
    assert await migrate(database.admin, PASSWORDS) == SchemaChange(get_head_revision(), get_head_revision())


async def test_a_newer_schema_is_refused(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE public.alembic_version SET version_num = '9999'")
        await admin.execute("COMMENT ON TABLE public.alembic_version IS 'serves versions since 9999'")
    with pytest.raises(MigrationError, match="9999"):
        await migrate(database.admin, PASSWORDS)


async def test_a_newer_schema_that_serves_this_version_is_left_alone(database: ScratchDatabase) -> None:
    gateway = database.as_role("mcpist_gateway")
    async with database.admin_connection() as admin:
        note = await admin.fetchval("SELECT obj_description('public.alembic_version'::regclass)")
        assert note == f"serves versions since {OLDEST_COMPATIBLE_REVISION}"
        await admin.execute("UPDATE public.alembic_version SET version_num = '9999'")
        await admin.execute(f"COMMENT ON TABLE public.alembic_version IS 'serves versions since {get_head_revision()}'")
        assert await migrate(database.admin, PASSWORDS) == SchemaChange("9999", "9999")
        await check_schema(gateway)
        for note in ("'serves versions since 9998'", "'something else'", "NULL"):
            await admin.execute(f"COMMENT ON TABLE public.alembic_version IS {note}")
            with pytest.raises(MigrationError, match="start the newer version"):
                await migrate(database.admin, PASSWORDS)
            with pytest.raises(MigrationError, match="start the newer version"):
                await check_schema(gateway)


def test_the_oldest_compatible_schema_is_one_of_ours() -> None:
    assert OLDEST_COMPATIBLE_REVISION in list_revisions()


async def test_a_failing_migration_leaves_nothing_behind(
    database_server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database_server.database(migrated=False) as database:
        async with database.admin_connection() as admin:
            await admin.execute("CREATE SCHEMA modules")  # in the way of the first migration, after three others
        with pytest.raises(MigrationError, match=r"changed nothing .SQLSTATE 42P06, DuplicateSchema") as caught:
            await migrate(database.admin, PASSWORDS)
        assert 'schema "modules" already exists' in str(caught.value.__cause__)
        assert await _schemas(database) == ["modules"]
        assert await _revision(database) is None


async def test_a_migration_ends_with_the_process_that_began_it(database_server: DatabaseServer) -> None:
    async with (
        database_server.database(migrated=False) as database,
        database.admin_connection() as admin,
        database.admin_connection() as holder,
    ):
        await create_roles(database.admin, PASSWORDS)
        waiting = (
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )

        async def waits() -> bool:
            return await admin.fetchval(waiting)

        async with holder.transaction():
            await holder.execute("CREATE SCHEMA modules")  # the first script waits for it
            parent = await asyncio.create_subprocess_exec(
                sys.executable, "-c", UPGRADE, database.admin.url.reveal(), cwd=Path(__file__).parents[2]
            )
            await within(20, waits)
            child = int(Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text())
            parent.kill()
            await parent.wait()

            async def has_ended() -> bool:
                stat = Path(f"/proc/{child}/stat")
                return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"

            await within(5, has_ended)
        assert await _revision(database) is None


async def test_a_prepared_process_that_has_nothing_to_do_ends(database: ScratchDatabase) -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text()
    prepare_migration()
    assert children.read_text() != before
    await migrate(database.admin, PASSWORDS)
    assert children.read_text() == before


@pytest.mark.parametrize("schema", ["auth", "vault"])
async def test_the_gateway_cannot_reach(schema: str, database: ScratchDatabase) -> None:
    connection = await asyncpg.connect(**database.as_role("mcpist_gateway").connect_args())
    try:
        assert await connection.fetchval("SELECT has_schema_privilege($1, 'USAGE')", schema) is False
    finally:
        await connection.close()


async def test_a_rented_server_without_a_superuser_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of its own, because elsewhere the roles exist already and belong to the superuser who made them."""
    monkeypatch.setattr("core.migrations.MigrationProcess", MigrationHere)
    with own_server() as server:
        async with server.database(migrated=False) as database:
            async with database.admin_connection() as admin:
                await admin.execute("CREATE ROLE renter LOGIN CREATEROLE PASSWORD 'renter'")
                await admin.execute(f'ALTER DATABASE "{database.name}" OWNER TO renter')
            renter = database.admin.as_role("renter", Secret("renter"))
            assert await migrate(renter, PASSWORDS) == SchemaChange(None, get_head_revision())
            await downgrade(renter, "base")
            assert await migrate(renter, PASSWORDS) == SchemaChange(None, get_head_revision())


async def test_a_server_that_is_too_old_is_refused(database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """No older server can be had here, so the newest is called too old."""
    monkeypatch.setattr("core.migrations.OLDEST_POSTGRES_VERSION", 99)
    with pytest.raises(MigrationError, match="99 or newer"):
        await migrate(database.admin, PASSWORDS)


_PROTECTION = """SELECT c.relrowsecurity, c.relforcerowsecurity, p.policyname, p.permissive, p.roles, p.cmd, p.qual,
    p.with_check FROM pg_class c JOIN pg_policies p ON c.oid = format('%I.%I', p.schemaname, p.tablename)::regclass
    WHERE c.oid = $1::text::regclass"""


async def test_the_policy_of_new_tables_is_that_of_the_old_ones(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        await admin.execute("CREATE TABLE core.sample (tenant_id uuid NOT NULL)")
        await admin.execute(build_tenant_policy_script("core.sample"))
        of_new = [tuple(row) for row in await admin.fetch(_PROTECTION, "core.sample")]
        of_old = [tuple(row) for row in await admin.fetch(_PROTECTION, "vault.credentials")]
    assert of_new
    assert all(policy in of_old for policy in of_new)
