"""Database access: a unit of work bound to one tenant (threat-model.md §3.5).

Every statement gets the tenant as ``$1``. PostgreSQL refuses a parameter that a statement does not use, so no
statement can forget its tenant filter; forced row-level security holds behind it. ``LiteralString`` makes the type
checker refuse a statement that was put together from data (PEP 675).
"""

import asyncio
import contextlib
import functools
import secrets
import ssl
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any, LiteralString, Protocol, TypeVar
from uuid import UUID

import asyncpg

from core.database_login import DatabaseReadOnly, log_in
from core.database_tls import find_tls_problem
from core.database_url import DatabaseAddress
from core.errors import Invalid, Unavailable

CONNECTION_ERRORS = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what a connection that dies in the middle of an answer may end in
    TimeoutError,
)

# What one user's rows are asked is always asked by the same key, so one plan serves all. Where PostgreSQL thinks it
# could plan better with the values at hand, it plans at every call: 0.2 ms, twice as much as the statement itself.
_PLANS_KEPT = ", set_config('plan_cache_mode', 'force_generic_plan', true)"

_CHECK_MARK = """DO $$ BEGIN
    IF current_setting('mcpist.mark', true) IS DISTINCT FROM '{mark}' THEN RAISE EXCEPTION 'another session'; END IF;
END $$"""
_CHECK_SECONDS = 5.0
FIRST_UNRESERVED_OID = 10_000
"""OIDs below are those of PostgreSQL's own objects, the same in every database (PostgreSQL, 67.2.2 OID Assignment)."""

_T = TypeVar("_T")


class DatabaseNotTrusted(Unavailable):
    """The certificate of the database is not one that its URL trusts."""

    component_state = "not trusted"

    def __init__(self) -> None:
        super().__init__(
            "MCPist is not ready: the certificate of its database is not trusted; MCPIST_DATABASE_URL has to name its "
            "authority (sslrootcert=FILE) and the server by a name in its certificate"
        )


class Row(Protocol):
    """A record as asyncpg gives it: columns by name or position."""

    def __getitem__(self, key: str | int, /) -> Any: ...
    def get(self, key: str, default: Any = None, /) -> Any: ...
    def keys(self) -> Iterable[str]: ...
    def values(self) -> Iterable[Any]: ...


class UnitOfWork:
    """One transaction for one tenant. Statements use ``$1`` for the tenant; their own parameters start at ``$2``."""

    __slots__ = ("_connection", "_leading_arguments", "tenant_id")

    def __init__(self, connection: Any, tenant_id: UUID, *leading_arguments: Any) -> None:
        self._connection = connection
        self._leading_arguments = (tenant_id, *leading_arguments)
        self.tenant_id = tenant_id

    async def fetch(self, sql: LiteralString, *args: Any) -> Sequence[Row]:
        """Return all rows of one statement."""
        return await _call_database(self._connection.fetch, sql, *self._leading_arguments, *args)

    async def fetchrow(self, sql: LiteralString, *args: Any) -> Row | None:
        """Return the first row, or None."""
        return await _call_database(self._connection.fetchrow, sql, *self._leading_arguments, *args)

    async def fetchval(self, sql: LiteralString, *args: Any) -> Any:
        """Return the first column of the first row, or None."""
        return await _call_database(self._connection.fetchval, sql, *self._leading_arguments, *args)

    async def execute(self, sql: LiteralString, *args: Any) -> int:
        """Run one statement; the number of rows that it touched."""
        status: str = await _call_database(self._connection.execute, sql, *self._leading_arguments, *args)
        count = status.rsplit(" ", 1)[-1]
        return int(count) if count.isdigit() else 0


async def connect(address: DatabaseAddress, *, timeout: float = 10.0, command_timeout: float | None = None) -> Any:
    """Open a connection outside any pool, for LISTEN and for migrations.

    Raises:
        Unavailable: the database cannot be reached.
    """
    return await _call_database(log_in, address, timeout=timeout, command_timeout=command_timeout)


async def check_sessions(address: DatabaseAddress) -> None:
    """Make sure that a connection stays with one server process. In a pooler's transaction or statement mode it does
    not: announcements (LISTEN) get lost there, and prepared statements belong to another client.

    Raises:
        Invalid: it does not, or a TLS file of the URL cannot be used.
        Unavailable: the database cannot be reached.
    """
    if problem := find_tls_problem(address.url.reveal()):
        raise Invalid(problem)
    if not await _is_session_pinned(address):
        raise Invalid(
            "MCPIST_DATABASE_URL leads to a connection pooler in transaction or statement mode, in which MCPist cannot "
            "work: name the database itself, or a pool in session mode (PgBouncer: pool_mode = session)"
        )


async def _is_session_pinned(address: DatabaseAddress) -> bool:
    """Leave a mark in the session of one connection, keep its server process busy by another, and look for the mark.

    By the simple protocol alone: a pooler may lose prepared statements on the way, or carry them along.
    """
    mark = secrets.token_hex(8)
    first = await connect(address, command_timeout=_CHECK_SECONDS)
    try:
        await _call_database(first.execute, f"SET mcpist.mark = '{mark}'")
        second = await connect(address, command_timeout=_CHECK_SECONDS)
        try:
            await second.execute("BEGIN")  # a pooler gives it the server process that the first had
            await second.execute("SELECT 1")
            await first.execute(_CHECK_MARK.format(mark=mark))
        except asyncpg.RaiseError:
            return False
        except CONNECTION_ERRORS:  # in statement mode a transaction ends the connection
            return False
        finally:
            second.terminate()
    finally:
        first.terminate()
    return True


class Database:
    """A pool of connections, all logged in as one database role."""

    def __init__(self, address: DatabaseAddress, *, max_connections: int = 10, timeout: float = 10.0) -> None:
        self._url = address.url.reveal()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool: Any = asyncpg.create_pool(
            connect=functools.partial(_connect_pooled, address),
            min_size=0,
            max_size=max_connections,
            timeout=timeout,
            command_timeout=timeout,
            max_inactive_connection_lifetime=300,
            connection_class=Connection,
        )
        self._timeout = timeout

    async def open(self) -> None:
        """Make the pool usable; connections are made when first needed.

        Raises:
            Unavailable: the database cannot be reached.
        """
        await _call_database(self._initialize_pool)
        self._loop = asyncio.get_running_loop()
        _open_databases.add(self)

    async def _initialize_pool(self) -> None:
        await self._pool

    async def close(self) -> None:
        """Close every connection; work still under way after five seconds is cut off."""
        _open_databases.discard(self)
        try:
            async with asyncio.timeout(5):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    def count_connections(self) -> dict[str, float]:
        """Count the connections of the pool: used and idle ones, and the most that there may be."""
        idle = self._pool.get_idle_size()
        return {"used": self._pool.get_size() - idle, "idle": idle, "most": self._pool.get_max_size()}

    @contextlib.asynccontextmanager
    async def tenant(self, tenant_id: UUID) -> AsyncGenerator[UnitOfWork]:
        """Open a transaction in which only `tenant_id`'s rows exist; committed at the end, rolled back on any error."""
        async with self._transaction(_build_begin(tenant_id=tenant_id)) as connection:
            yield UnitOfWork(connection, tenant_id)

    @contextlib.asynccontextmanager
    async def personal(self, tenant_id: UUID, user_id: UUID) -> AsyncGenerator[UnitOfWork]:
        """Like :meth:`tenant`, for tables that belong to one user each; ``$2`` is that user."""
        begin = _build_begin(tenant_id=tenant_id, user_id=user_id) + _PLANS_KEPT
        async with self._transaction(begin) as connection:
            yield UnitOfWork(connection, tenant_id, user_id)

    async def lookup(self, key: LiteralString, value: str, sql: LiteralString, *args: Any) -> Sequence[Row]:
        """Read before a tenant is known: one statement under the named look-up policy that `key` switches on.

        `key` names the transaction-local setting ``app.<key>``; `value` is what the policy compares with.
        """
        async with self._transaction("BEGIN READ ONLY") as connection:
            await _call_database(connection.execute, "SELECT set_config($1, $2, true)", "app." + key, value)
            return await _call_database(connection.fetch, sql, *args)

    async def call(self, sql: LiteralString, *args: Any) -> Any:
        """Call one of the database's own functions (``SELECT audit.append(…)``) in a transaction of its own."""
        async with self.connection() as connection:
            return await _call_database(connection.fetchval, sql, *args)

    async def ping(self) -> bool:
        """Ask the database for nothing; return True.

        Raises:
            Unavailable: it does not answer.
        """
        return await self.call("SELECT true")

    async def fetch(self, sql: LiteralString, *args: Any) -> Sequence[Row]:
        """Run one statement on a table that belongs to no tenant (``auth.sign_ins``), in a transaction of its own."""
        async with self.connection() as connection:
            return await _call_database(connection.fetch, sql, *args)

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncGenerator[Any]:
        """Open a bare connection, for LISTEN and for the audit writer; no tenant, so no row of any tenant table."""
        connection = await _call_database(self._pool.acquire, timeout=self._timeout)
        try:
            yield connection
        except (asyncpg.ReadOnlySQLTransactionError, DatabaseReadOnly) as error:
            await self.leave_server()
            raise DatabaseReadOnly from error
        except Unavailable as error:
            if isinstance(error.__cause__, TimeoutError):
                await self.leave_server()
            raise
        finally:
            await _call_database(self._pool.release, connection)

    async def leave_server(self) -> None:
        """Use no open connection to this database again, in any pool of the process, so that the next use looks for a
        server that accepts writes: one that became read-only, or whose machine is gone, closes none."""
        for database in list(_open_databases):
            if database._url == self._url and database._loop is self._loop:
                await database._drop_connections()

    async def _drop_connections(self) -> None:
        # asyncpg would end idle ones with a farewell in a task of its own, which a server that hangs lets fail.
        await self._pool.expire_connections()
        for holder in self._pool._holders:
            if holder.is_idle():
                holder.terminate()

    @contextlib.asynccontextmanager
    async def _transaction(self, begin: str) -> AsyncGenerator[Any]:
        async with self.connection() as connection:
            try:
                await _call_database(connection.execute, begin)  # BEGIN and the tenant in one round trip
                yield connection
            except BaseException:
                await _roll_back(connection)
                raise
            await _call_database(connection.execute, "COMMIT")


_open_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()


async def _connect_pooled(address: DatabaseAddress, _dsn: None, **options: Any) -> Any:
    """Open a connection for a pool, whose own arguments are `options`; it has no address of its own."""
    return await log_in(address, **options)


class Connection(asyncpg.Connection):
    """Connection whose settings are all transaction-local, so that it needs no reset query between two users.

    What PostgreSQL says of arrays of its built-in types (``uuid[]``) is asked once per process: asyncpg asks on every
    connection, which costs PostgreSQL 10 ms.
    """

    def get_reset_query(self) -> str:
        return ""

    async def _introspect_types(self, typeoids: Collection[int], timeout: float | None) -> Any:
        key = frozenset(typeoids)
        if key not in _builtin_types:
            asyncpg_connection: Any = super()
            answer = await asyncpg_connection._introspect_types(typeoids, timeout)
            if max(key) >= FIRST_UNRESERVED_OID:
                return answer
            _builtin_types[key] = answer
        return _builtin_types[key]


_builtin_types: dict[frozenset[int], Any] = {}


def _build_begin(**settings: UUID) -> str:
    """BEGIN with transaction-local settings; only UUIDs go in, so quoting is not at stake."""
    calls = ", ".join(f"set_config('app.{name}', '{value}', true)" for name, value in settings.items())
    return f"BEGIN; SELECT {calls}"


async def _roll_back(connection: Any) -> None:
    try:
        await connection.execute("ROLLBACK", timeout=2)
    except (*CONNECTION_ERRORS, asyncpg.PostgresError):
        with contextlib.suppress(asyncpg.InterfaceError):  # the pool has taken a dead connection back already
            connection.terminate()


async def _call_database(call: Callable[..., Awaitable[_T]], *args: Any, **options: Any) -> _T:
    """Await a call; a database that is away becomes one expected error.

    The call is made here because a pooled connection that has died raises before there is anything to await.
    """
    try:
        return await call(*args, **options)
    except ssl.SSLCertVerificationError as error:
        raise DatabaseNotTrusted from error
    except asyncpg.ReadOnlySQLTransactionError as error:
        raise DatabaseReadOnly from error
    except CONNECTION_ERRORS as error:
        raise Unavailable() from error
