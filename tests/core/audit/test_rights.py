"""Who may do what to the audit log: append, and read the events of one tenant: the console, and the trust zone, which
streams them."""

import itertools
from typing import LiteralString

import asyncpg
import pytest

from core.audit.event import DEPLOYMENT_CHAIN
from core.audit.sealer import AuditSealer
from core.audit.writer import append_events
from core.db import Database
from tests.core.audit.support import OTHER, TENANT, call
from tests.support.postgres import ScratchDatabase

ROLES = ["mcpist_gateway", "mcpist_broker", "mcpist_console"]
TABLES = ["audit.incoming", "audit.events", "audit.heads"]
EVERY_ROW: dict[str, LiteralString] = {  # without a tenant filter: row-level security alone decides
    "audit.events": "SELECT tenant_id FROM audit.events WHERE $1::uuid IS NOT NULL",
    "audit.heads": "SELECT tenant_id FROM audit.heads WHERE $1::uuid IS NOT NULL",
}
RIGHTS = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"]
FUNCTIONS = {
    "mcpist_gateway": {"append_signed"},
    "mcpist_broker": {"append", "anchors"},
    "mcpist_console": {"append", "take", "doubles", "anchors", "seal", "prepare_month"},
}


async def test_what_each_role_may_call(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        for role, functions in FUNCTIONS.items():
            rows = await admin.fetch(
                "SELECT proname FROM pg_proc WHERE pronamespace = 'audit'::regnamespace "
                "AND has_function_privilege($1, oid, 'EXECUTE')",
                role,
            )
            assert {row["proname"] for row in rows} == functions


async def test_nobody_writes_and_the_console_and_the_trust_zone_read(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        held = {
            (role, table, right)
            for role, table, right in itertools.product(ROLES, TABLES, RIGHTS)
            if await admin.fetchval("SELECT has_table_privilege($1, $2, $3)", role, table, right)
        }
    readers = ("mcpist_console", "mcpist_broker")
    assert held == {(role, table, "SELECT") for role in readers for table in ("audit.events", "audit.heads")}


async def test_the_console_alone_says_how_long_the_log_is_kept(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        held = {
            (role, right)
            for role, right in itertools.product(ROLES, RIGHTS)
            if await admin.fetchval("SELECT has_table_privilege($1, 'audit.retention', $2)", role, right)
        }
        assert held == {("mcpist_console", "SELECT")}, "and it changes columns of the one row"
        changed = "SELECT has_column_privilege('mcpist_console', 'audit.retention', $1, 'UPDATE')"
        assert [await admin.fetchval(changed, column) for column in ("keep_months", "single")] == [True, False]


@pytest.mark.parametrize("role", ["mcpist_broker", "mcpist_console"])
async def test_who_appends_for_any_tenant(database: ScratchDatabase, role: str) -> None:
    async with database.open(role) as opened:
        await append_events(opened, [call()])


async def test_the_gateway_reads_nothing(database: ScratchDatabase) -> None:
    async with database.open("mcpist_gateway") as gateway, gateway.connection() as connection:
        for table in TABLES:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"SELECT FROM {table}")


async def test_a_reader_sees_one_tenant_at_a_time(broker: Database, console: Database, sealer: AuditSealer) -> None:
    await append_events(broker, [call(tenant_id=tenant) for tenant in (TENANT, OTHER, None)])
    await sealer.seal_all()
    for table, reader in itertools.product(EVERY_ROW, (console, broker)):
        for tenant in (TENANT, OTHER, DEPLOYMENT_CHAIN):
            async with reader.tenant(tenant) as work:
                rows = await work.fetch(EVERY_ROW[table])
                assert [row["tenant_id"] for row in rows] == [tenant]
        async with reader.connection() as connection:
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0


@pytest.mark.guarantee("G15")
async def test_not_even_the_functions_owner_changes_an_event(
    database: ScratchDatabase, broker: Database, sealer: AuditSealer
) -> None:
    await append_events(broker, [call()])
    await sealer.seal_all()
    async with database.admin_connection() as admin:
        await admin.execute("SET ROLE mcpist_owner")
        assert await admin.fetchval("SELECT count(*) FROM audit.events") == 1
        assert await admin.execute("UPDATE audit.events SET tool = ''") == "UPDATE 0"
        assert await admin.execute("DELETE FROM audit.events") == "DELETE 0"


async def test_a_record_has_a_limit(broker: Database) -> None:
    async with broker.connection() as connection:
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.fetchval("SELECT audit.append($1, $2)", [TENANT], [bytes(98_305)])
