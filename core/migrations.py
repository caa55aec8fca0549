"""Bring a database to the newest schema: roles first, then the one Alembic history in ``alembic/``."""

import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString, NoReturn

import asyncpg

from core.database_login import log_in
from core.database_url import DatabaseAddress
from core.db import connect
from core.migration_process import MigrationError, MigrationProcess, run_scripts
from core.migration_scripts import get_migration_scripts_path
from core.search_schema import CREATE_SEARCH_ROLE_SCRIPT, add_search_schema, install_pgvector
from core.secret import Secret

if TYPE_CHECKING:
    from sqlalchemy import Connection

OWNER_ROLE = "mcpist_owner"
OLDEST_POSTGRES_VERSION = 16
LOGIN_ROLES = ("mcpist_gateway", "mcpist_console", "mcpist_broker", "mcpist_worker")
MIGRATION_LOCK = 0x6D637069  # one migration at a time per database
READABLE_SINCE = "before 0030"
OLDEST_COMPATIBLE_REVISION = "0030"
"""The oldest schema whose version of MCPist may serve a database at this version's schema. Raise it with the migration
that takes away what that version uses (docs/upgrade.md)."""
_COMPATIBILITY = "serves versions since "

_prepared: list[MigrationProcess] = []

log = logging.getLogger(__name__)

CREATE_OWNER_SCRIPT = """
DO $$ BEGIN
    CREATE ROLE mcpist_owner NOLOGIN NOSUPERUSER NOBYPASSRLS;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$ BEGIN
    EXECUTE format('GRANT mcpist_owner TO %I', current_user);
    EXECUTE format('GRANT CREATE ON DATABASE %I TO mcpist_owner', current_database());
    GRANT USAGE, CREATE ON SCHEMA public TO mcpist_owner;
END $$;
"""

# Names and passwords go in as settings because DDL takes no parameters; format(%L) quotes them on the server.
CREATE_LOGIN_SCRIPT = """
DO $$
DECLARE
    r text := current_setting('app.role_name');
    p text := current_setting('app.role_password');
BEGIN
    BEGIN
        EXECUTE format('CREATE ROLE %I NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT LOGIN', r);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    EXECUTE format('ALTER ROLE %I LOGIN PASSWORD %L', r, p);
    EXECUTE format('ALTER ROLE %I SET search_path = pg_catalog', r);
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), r);
END $$;
"""

# A worker runs modules as a gateway does. It cannot become a gateway, so what it does stays its own.
GRANT_WORKER_SCRIPT = "GRANT mcpist_gateway TO mcpist_worker WITH INHERIT TRUE, SET FALSE"

_LARGE_OBJECTS = (
    "lo_creat(integer)", "lo_create(oid)", "lo_from_bytea(oid, bytea)", "lo_open(oid, integer)", "lo_import(text)",
    "lo_import(text, oid)", "lo_put(oid, bigint, bytea)", "lo_truncate(integer, integer)",
    "lo_truncate64(integer, bigint)", "lo_unlink(oid)", "lowrite(integer, bytea)",
)  # fmt: skip
HARDENING_STATEMENTS: Mapping[str, Sequence[str]] = {
    "temporary tables": (
        "DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$",
    ),
    "large objects": tuple(f"REVOKE EXECUTE ON FUNCTION pg_catalog.{name} FROM PUBLIC" for name in _LARGE_OBJECTS),
    "the database template1": ("REVOKE CONNECT ON DATABASE template1 FROM PUBLIC",),
    "temporary files without limit": tuple(f"ALTER ROLE {role} SET temp_file_limit = '1GB'" for role in LOGIN_ROLES),
}
# A revocation without the right to it is a warning and no error, so what is left is looked at.
REMAINING_RIGHTS_QUERY = """
SELECT 'temporary tables' AS what FROM unnest($1::text[]) AS r
    WHERE has_database_privilege(r, current_database(), 'TEMPORARY')
UNION SELECT 'large objects' FROM unnest($1::text[]) AS r
    WHERE has_function_privilege(r, 'pg_catalog.lo_from_bytea(oid, bytea)', 'EXECUTE')
    OR has_function_privilege(r, 'pg_catalog.lo_create(oid)', 'EXECUTE')
UNION SELECT 'the database template1' FROM unnest($1::text[]) AS r JOIN pg_database d ON d.datname = 'template1'
    WHERE has_database_privilege(r, d.oid, 'CONNECT')
UNION SELECT 'temporary files without limit' FROM unnest($1::text[]) AS r
    WHERE NOT EXISTS (
        SELECT FROM pg_db_role_setting s JOIN pg_roles o ON o.oid = s.setrole
        WHERE o.rolname = r AND 'temp_file_limit=1GB' = ANY (s.setconfig)
    )
ORDER BY what
"""


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """What a migration did: the revisions before and after it; `before` is None where the database was empty."""

    before: str | None
    after: str

    @property
    def is_upgrade(self) -> bool:
        """Check whether an existing schema was changed."""
        return self.before not in (None, self.after)


async def migrate(admin: DatabaseAddress, passwords: Mapping[str, Secret], *, upgrade: bool = True) -> SchemaChange:
    """Create the database roles and run every missing migration. Without `upgrade` only an empty database gets a
    schema: an older one may be served by an older version, which a command must not take by surprise.

    `admin` may create roles and owns the database; `passwords` holds one for each of ``LOGIN_ROLES``.

    Raises:
        MigrationError: the server is too old, or the schema newer than this version of MCPist, or older and not to be
            changed.
    """
    connection = await _connect(admin)
    try:
        if connection.get_server_version() < (OLDEST_POSTGRES_VERSION,):
            raise MigrationError(
                f"MCPist needs PostgreSQL {OLDEST_POSTGRES_VERSION} or newer; MCPIST_DATABASE_URL names an older server"
            )
        await connection.execute("SELECT pg_advisory_lock($1)", MIGRATION_LOCK)
        current, head = await get_current_revision(connection), get_head_revision()
        if current is not None and current not in list_revisions():
            await _check_compatible(connection, current)
            return SchemaChange(current, current)
        if current not in (None, head) and not upgrade:
            _refuse_older(current)
        if current != head:
            await _create_roles(connection, passwords)
            await install_pgvector(connection)
            await (_prepared.pop() if _prepared else MigrationProcess()).upgrade(admin)
        if upgrade or current is None:
            await add_search_schema(connection)
        await _harden(connection)
        await _note_compatibility(connection)
    finally:
        while _prepared:  # there was nothing to do for it
            _prepared.pop().end()
        await connection.close()
    return SchemaChange(current, head)


async def check_schema(address: DatabaseAddress) -> None:
    """Make sure that the database is not older than this version, as a role that cannot change it.

    Raises:
        MigrationError: it is older, or empty, or so much newer that this version cannot serve it.
        Unavailable: the database cannot be reached.
    """
    connection = await connect(address)
    try:
        current = await get_current_revision(connection)
        if current is not None and current not in list_revisions():
            await _check_compatible(connection, current)
    except asyncpg.InsufficientPrivilegeError:  # until 0030 no role but the administrator's might read it
        current = READABLE_SINCE
    finally:
        await connection.close()
    if current is None:
        raise MigrationError("the database has no schema of MCPist yet; run `mcpist migrate`")
    if current == READABLE_SINCE or (current in list_revisions() and current != get_head_revision()):
        _refuse_older(current)


async def _check_compatible(connection: Any, current: str) -> None:
    """Raises:
    MigrationError: this version is too old for the database's newer schema.
    """
    if not await is_compatible(connection, current):
        raise MigrationError(
            f"the database has schema {current}, newer than this MCPist knows ({get_head_revision()}): "
            "start the newer version"
        )
    log.warning(
        "the database has the schema of a newer version, which this one can serve",
        extra={"event": "schema_newer", "schema": current, "known": get_head_revision()},
    )


async def is_compatible(connection: Any, current: str) -> bool:
    """Check whether this version may serve a database with a newer schema, as the version says that made it."""
    note = await connection.fetchval("SELECT obj_description(to_regclass('public.alembic_version'), 'pg_class')")
    if not isinstance(note, str) or not note.startswith(_COMPATIBILITY):
        return False
    return note.removeprefix(_COMPATIBILITY) <= get_head_revision() < current


async def _note_compatibility(connection: Any) -> None:
    """Note in the database which versions may serve it. A comment is read without a right to the table."""
    note = f"{_COMPATIBILITY}{OLDEST_COMPATIBLE_REVISION}"
    if await connection.fetchval("SELECT obj_description('public.alembic_version'::regclass, 'pg_class')") != note:
        await connection.execute(
            f"COMMENT ON TABLE public.alembic_version IS '{note}'"  # composed-sql: two constants; DDL has no parameters
        )


def _refuse_older(current: str) -> NoReturn:
    raise MigrationError(
        f"the database has schema {current}, and this version of MCPist needs {get_head_revision()}. Nothing was "
        "changed, because an older version may be running on it. Make a backup, then run `mcpist migrate`"
    )


def prepare_migration() -> None:
    """Start the process that runs the scripts before there is a database: it takes 0.5 s to load, and a new database
    needs it at once."""
    _prepared.append(MigrationProcess())


async def create_roles(admin: DatabaseAddress, passwords: Mapping[str, Secret]) -> None:
    """Create the database roles and no table: what a backup's grants name must be there before it is restored."""
    connection = await _connect(admin)
    try:
        await _create_roles(connection, passwords)
    finally:
        await connection.close()


async def get_current_revision(connection: Any) -> str | None:
    """Return the revision that the database is at, None for an empty one."""
    if await connection.fetchval("SELECT to_regclass('public.alembic_version')") is None:
        return None
    return await connection.fetchval("SELECT version_num FROM public.alembic_version")


def list_revisions() -> list[str]:
    """List the revisions in order. A file is called ``NNNN_title.py`` after its revision, so that knowing
    whether there is anything to do costs no import of Alembic (half a second of every start)."""
    return sorted(path.name.split("_", 1)[0] for path in (get_migration_scripts_path() / "versions").glob("[0-9]*.py"))


def get_head_revision() -> str:
    """Return the newest revision."""
    return list_revisions()[-1]


async def _connect(admin: DatabaseAddress) -> Any:
    return await log_in(admin)  # unit-of-work: the administrator's, before there is a tenant


async def _harden(connection: Any) -> None:
    """Take from the product's roles what PostgreSQL gives everybody: temporary tables and functions, large objects,
    temporary files without limit, and a second database. No migration can: a dump holds none of it, nor does a copy
    made from a template."""
    remaining = await _list_remaining_rights(connection)
    for right in remaining:
        for statement in HARDENING_STATEMENTS[right]:
            # "tuple concurrently updated": another process does the same for another database of this server.
            with contextlib.suppress(asyncpg.InsufficientPrivilegeError, asyncpg.InternalServerError):
                await connection.execute(statement)
    if remaining and (kept_rights := await _list_remaining_rights(connection)):
        log.warning(
            "the database roles keep rights that only a superuser can revoke; see docs/security.md",
            extra={"event": "database_rights_not_revoked", "rights": ", ".join(kept_rights)},
        )


async def _list_remaining_rights(connection: Any) -> list[str]:
    return [row["what"] for row in await connection.fetch(REMAINING_RIGHTS_QUERY, list(LOGIN_ROLES))]


async def _create_roles(connection: Any, passwords: Mapping[str, Secret]) -> None:
    await connection.execute(CREATE_OWNER_SCRIPT)
    for role in LOGIN_ROLES:
        await connection.execute("SELECT set_config('app.role_name', $1, false)", role)
        await connection.execute("SELECT set_config('app.role_password', $1, false)", passwords[role].reveal())
        await connection.execute(CREATE_LOGIN_SCRIPT)
    await connection.execute(GRANT_WORKER_SCRIPT)
    await connection.execute(CREATE_SEARCH_ROLE_SCRIPT)
    await connection.execute("RESET ALL")


async def downgrade(admin: DatabaseAddress, revision: str) -> None:
    """Take the schema back to `revision` (``base`` empties it); for tests and for operators who know why."""
    await run_scripts(admin, revision)


def build_tenant_policy_script(table: LiteralString) -> LiteralString:
    """Build the script that forces row-level security on a table with a column `tenant_id`: a transaction sees and
    writes the rows of the tenant that it has named, as the table's owner too. Migrations from 0016 on use it."""
    return f"""
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY by_tenant ON {table}
    USING (tenant_id = core.current_tenant()) WITH CHECK (tenant_id = core.current_tenant());
"""


def run_script(bind: "Connection", script: LiteralString) -> None:
    """Run several statements in the migration's own transaction.

    asyncpg prepares what SQLAlchemy sends, and a prepared statement is one statement; its simple protocol takes many.
    """
    bind.exec_driver_sql("SELECT 1")  # the driver opens its transaction at the first cursor, not before
    adapted: Any = bind.connection.dbapi_connection

    async def run(connection: Any) -> None:
        await connection.execute(script)

    adapted.run_async(run)
