"""Schema `search`: collections, documents and their chunks; only where the database has pgvector.

pgvector is no trusted extension, so a database may get it long after its first migration. The script is therefore run
by migration 0049 or, where there was no pgvector then, by the next `mcpist migrate` or start of the embedded database.
A later migration that changes the schema changes the script, too, and does nothing where the schema is missing.
"""

import contextlib
from typing import Any, LiteralString

import asyncpg

from core.search_schema import functions, policies, tables

OLDEST_PGVECTOR = (0, 8)
"""The first whose index scans go on until a filter has let enough pass."""

# As the administrator. Nobody logs in as this role: it owns the function that finds candidates over many rows.
CREATE_SEARCH_ROLE_SCRIPT = """
DO $$ BEGIN
    CREATE ROLE mcpist_search NOLOGIN NOSUPERUSER NOBYPASSRLS NOINHERIT;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
GRANT mcpist_search TO mcpist_owner WITH INHERIT FALSE, SET TRUE;
"""

# Types and operators of pgvector are found where the extension is, and the function that uses them keeps that path.
_OPEN = """
SELECT set_config('app.search_path_before', current_setting('search_path'), true),
    set_config('search_path', 'pg_catalog, ' || quote_ident(n.nspname) || ', pg_temp', true)
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector';
"""
_CLOSE = "SELECT set_config('search_path', current_setting('app.search_path_before'), true);"

CREATE_SEARCH_SCRIPT: LiteralString = "".join(
    (
        _OPEN,
        tables.TABLES,
        tables.PARTITIONS,
        policies.TENANT_POLICIES,
        policies.ORPHAN_POLICIES,
        policies.CALLER_POLICIES,
        policies.GRANTS,
        functions.MARKS,
        functions.TRIGGERS,
        functions.LIST_ORPHANS,
        functions.REMOVE_ORPHANS,
        functions.FIND,
        functions.RIGHTS,
        functions.FIND_RIGHTS,
        functions.ORPHAN_RIGHTS,
        _CLOSE,
    )
)
REPLACE_FIND_SCRIPT: LiteralString = "".join(
    (_OPEN, functions.DROP_FIND, functions.FIND, functions.FIND_RIGHTS, _CLOSE)
)
"""For a schema that an earlier version has created."""
DROP_SEARCH_SCRIPT = """
DROP SCHEMA IF EXISTS search CASCADE;
DROP POLICY IF EXISTS owner_finds_parents ON modules.documents;
REVOKE SELECT ON core.role_assignments, core.users FROM mcpist_search;
REVOKE SELECT (tenant_id, id) ON core.users FROM mcpist_search;
REVOKE USAGE ON SCHEMA core FROM mcpist_search;
REVOKE EXECUTE ON FUNCTION core.current_tenant(), core.current_user_id() FROM mcpist_search;
"""
PGVECTOR_QUERY = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
_AVAILABLE_QUERY = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
_HAS_SEARCH_QUERY = "SELECT to_regclass('search.collections') IS NOT NULL"


def is_pgvector_usable(version: str | None) -> bool:
    """Check whether this version of pgvector, None where there is none, is new enough."""
    if version is None:
        return False
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) >= OLDEST_PGVECTOR


async def install_pgvector(connection: Any) -> bool:
    """Create the extension where the server has it and the administrator may; tell whether it is there and usable."""
    version = await connection.fetchval(PGVECTOR_QUERY)
    if version is None and is_pgvector_usable(await connection.fetchval(_AVAILABLE_QUERY)):
        with contextlib.suppress(asyncpg.PostgresError):  # a superuser's right
            await connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        version = await connection.fetchval(PGVECTOR_QUERY)
    return is_pgvector_usable(version)


async def has_search_schema(connection: Any) -> bool:
    """Check whether the database has the schema."""
    return await connection.fetchval(_HAS_SEARCH_QUERY)


async def add_search_schema(connection: Any) -> bool:
    """Add the schema, as the administrator, to a database at revision 0049 or newer that has none; tell whether it was
    added."""
    if await has_search_schema(connection) or not await install_pgvector(connection):
        return False
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE mcpist_owner")
        await connection.execute("SET LOCAL lock_timeout = '10s'")
        await connection.execute(CREATE_SEARCH_SCRIPT)
    return True
