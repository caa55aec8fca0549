"""What a login of the product's can do in the database beside its work: nothing that fills the disk."""

from urllib.parse import urlsplit

import asyncpg
import pytest

from core.database_url import DatabaseAddress
from core.migrations import LOGIN_ROLES, migrate
from core.secret import Secret
from tests.support.postgres import PASSWORDS, ScratchDatabase

REFUSED = (
    "CREATE TEMP TABLE t AS SELECT generate_series(1, 10)",
    "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "SELECT lo_create(0)",
    "SELECT lo_creat(-1)",
    "SELECT lo_from_bytea(0, decode(repeat('00', 1000), 'hex'))",
    "SELECT lo_put(1, 0, 'x')",
    "SELECT lo_unlink(1)",
    "CREATE TABLE public.t (n int)",
    "CREATE TABLE core.t (n int)",
    "CREATE SCHEMA mine",
    "CREATE EXTENSION pg_trgm",
    "DO $$ BEGIN EXECUTE 'CREATE TEMP TABLE t (n int)'; END $$",
)


@pytest.mark.parametrize("role", LOGIN_ROLES)
async def test_no_role_makes_objects_of_its_own(database: ScratchDatabase, role: str) -> None:
    await migrate(database.admin, PASSWORDS)  # a copy of a template has the rights of a new database
    async with database.open(role) as opened, opened.connection() as connection:
        for statement in REFUSED:
            with pytest.raises((asyncpg.InsufficientPrivilegeError, asyncpg.FeatureNotSupportedError)):
                await connection.execute(statement)
        assert await connection.fetchval("SHOW temp_file_limit") == "1GB"
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("SET temp_file_limit = -1")


@pytest.mark.parametrize("role", LOGIN_ROLES)
async def test_no_role_enters_the_database_that_every_server_has(database: ScratchDatabase, role: str) -> None:
    await migrate(database.admin, PASSWORDS)
    url = urlsplit(database.admin.url.reveal())._replace(path="/template1").geturl()
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="template1"):
        await asyncpg.connect(url, user=role, password=PASSWORDS[role].reveal())


async def test_an_administrator_of_the_database_who_is_no_superuser_is_told(
    database: ScratchDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """As at most providers of databases: what only a superuser can change stays, and the log says what."""
    async with database.admin_connection() as admin:
        name = f"owner_{database.name[-20:]}"
        await admin.execute(f"CREATE ROLE {name} LOGIN CREATEROLE PASSWORD 'p'")
        await admin.execute(f"GRANT mcpist_owner TO {name}")
        await admin.execute(f'ALTER DATABASE "{database.name}" OWNER TO {name}')
        await admin.execute("GRANT EXECUTE ON FUNCTION pg_catalog.lo_create(oid) TO PUBLIC")
        await admin.execute("GRANT SELECT ON public.alembic_version TO PUBLIC")
    try:
        owner = DatabaseAddress(database.admin.url, name, Secret("p"))
        assert not (await migrate(owner, PASSWORDS)).is_upgrade
        (told,) = [record for record in caplog.records if "rights" in record.__dict__]
        assert told.__dict__["rights"] == "large objects"
        async with database.open("mcpist_gateway") as opened, opened.connection() as connection:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute("CREATE TEMP TABLE t (n int)")
    finally:
        async with database.admin_connection() as admin:
            await admin.execute(f'ALTER DATABASE "{database.name}" OWNER TO postgres')
            await admin.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")
