"""A database of two servers: connections go to the one that accepts writes, and leave one that no longer does."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from core.audit.event import AuditEvent, AuditEventKind
from core.audit.writer import AuditWriter
from core.database_login import DatabaseReadOnly
from core.database_url import DatabaseAddress, list_servers
from core.db import Database, check_sessions, connect
from core.errors import Unavailable
from core.generations import Generations
from core.secret import Secret
from tests.support.eventually import within
from tests.support.postgres import DatabaseServer, ScratchDatabase, add_tenant
from tests.support.postgres_pair import PairedServer, PostgresPair, postgres_pair

pytestmark = pytest.mark.timeout(180)

MAKE_NOTES = "CREATE TABLE IF NOT EXISTS notes (text text)"
WRITE = "INSERT INTO notes VALUES ('x') RETURNING text"


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with postgres_pair() as made:
        yield made


@pytest.fixture
async def scratch(pair: PostgresPair) -> AsyncIterator[ScratchDatabase]:
    """A database at the newest schema, on both."""
    server = DatabaseServer(address(pair.url))
    async with server.database() as made:
        yield made
    with contextlib.suppress(Exception):  # its first server may have ended in the test
        server.close()


def address(url: str) -> DatabaseAddress:
    return DatabaseAddress(Secret(url))


@contextlib.asynccontextmanager
async def opened(where: DatabaseAddress, *, timeout: float = 10.0) -> AsyncIterator[Database]:
    database = Database(where, max_connections=4, timeout=timeout)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def server_of(database: Database) -> int:
    return await database.call("SELECT inet_server_port()")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://u:p@a,b/m?target_session_attrs=read-write", (("a", 5432), ("b", 5432))),
        ("postgresql://u:p%2C@a:1,b:2/m", (("a", 1), ("b", 2))),
        ("postgresql://u:p@/m?host=a,/run/b&port=5,6", (("a", 5), ("/run/b", 6))),
        ("postgresql://u:p@/m?host=a,b&port=7", (("a", 7), ("b", 7))),
        ("postgresql://u@[::1]:55/m", (("::1", 55),)),
        ("postgresql:///m", ()),
    ],
)
def test_the_servers_of_a_url(url: str, expected: tuple[tuple[str, int], ...]) -> None:
    assert list_servers(url) == expected


@pytest.mark.parametrize("url", ["postgresql://u@a:x,b/m", "postgresql://u@/m?host=a,b,c&port=1,2"])
def test_ports_that_do_not_fit_the_servers(url: str) -> None:
    with pytest.raises(ValueError, match=r"port|invalid literal"):
        list_servers(url)


async def test_a_standby_is_refused_by_name(pair: PostgresPair) -> None:
    for url in (pair.second.url, pair.second.url + "?target_session_attrs=any"):
        with pytest.raises(DatabaseReadOnly, match="MCPIST_DATABASE_URL has to lead to the primary"):
            await check_sessions(address(url))
        async with opened(address(url)) as database:
            with pytest.raises(DatabaseReadOnly):
                await database.call("SELECT 1")


async def test_of_two_servers_the_one_that_accepts_writes_is_used(pair: PostgresPair) -> None:
    await pair.first.execute(MAKE_NOTES)
    swapped = pair.url.replace(f"127.0.0.1:{pair.first.port},127.0.0.1:{pair.second.port}", "both")
    swapped = swapped.replace("both", f"127.0.0.1:{pair.second.port},127.0.0.1:{pair.first.port}")
    for url in (pair.url, swapped):
        async with opened(address(url)) as database:
            assert await database.call(WRITE) == "x"
            assert await server_of(database) == pair.first.port


async def test_open_connections_leave_a_primary_that_becomes_read_only(pair: PostgresPair) -> None:
    """As a planned switch does it: the old primary is set to read-only while connections to it are open."""
    await pair.first.execute(MAKE_NOTES)
    await pair.wait_for_standby()
    async with opened(address(pair.url)) as database:
        await asyncio.gather(*(database.call("SELECT pg_sleep(0.05)") for _ in range(4)))  # each has a connection
        assert database.count_connections()["idle"] == 4
        await pair.first.execute("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")

        async def refused() -> bool:
            try:
                await database.call(WRITE)
            except DatabaseReadOnly:
                return True
            return False

        await within(5, refused)  # a session takes over the setting with its next statement
        with pytest.raises(DatabaseReadOnly):
            await database.call("SELECT 1")  # and nobody reads there, either
        pair.second.promote()
        assert await database.call(WRITE) == "x"
        assert await server_of(database) == pair.second.port


async def test_a_machine_that_does_not_answer_takes_its_share_of_the_time_alone(pair: PostgresPair) -> None:
    async with opened(address(pair.url), timeout=3.0) as database:
        assert await server_of(database) == pair.first.port
        pair.first.freeze()
        pair.second.promote()
        connection = await connect(address(pair.url), timeout=6.0)
        await connection.close()
        await database.leave_server()
        assert await server_of(database) == pair.second.port


@pytest.mark.parametrize("machine", ["killed", "silent"])
async def test_a_name_that_moves_to_the_new_primary(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a name server or a fail-over manager does it: the URL names one server, whose address changes."""
    with postgres_pair(same_port=True) as pair:
        named = alone(pair.first).replace(pair.first.host, "db.test")
        moving = MovingName("db.test", pair.first.host)
        monkeypatch.setattr(socket, "getaddrinfo", moving.resolve)
        await pair.first.execute(MAKE_NOTES)
        await pair.wait_for_standby()
        async with opened(address(named), timeout=3.0) as database:
            assert await database.call(WRITE) == "x"
            pair.first.kill() if machine == "killed" else pair.first.freeze()
            pair.second.promote()
            with pytest.raises(Unavailable):
                await database.call(WRITE)  # the name has not moved yet
            moving.host = pair.second.host
            await within(20, lambda: accepts(database))
            assert await database.call("SELECT host(inet_server_addr())") == pair.second.host


class MovingName:
    """A name of one address, as `socket.getaddrinfo` knows it."""

    def __init__(self, name: str, host: str) -> None:
        self._name = name
        self._resolve = socket.getaddrinfo
        self.host = host

    def resolve(self, host: str | None, *rest: Any, **named: Any) -> Any:
        return self._resolve(self.host if host == self._name else host, *rest, **named)


async def test_the_listener_moves_and_nothing_older_counts(scratch: ScratchDatabase, pair: PostgresPair) -> None:
    """The new primary lacks the last change of the old one, and gives its number to another change."""
    tenant = await add_tenant(scratch)
    rename = f"""BEGIN; SELECT set_config('app.tenant_id', '{tenant.id}', true);
        UPDATE core.tenants SET name = 'x' || name WHERE tenant_id = '{tenant.id}'; COMMIT"""
    async with scratch.open("mcpist_gateway") as gateway:
        generations = Generations(scratch.as_role("mcpist_gateway"), gateway)
        running = asyncio.create_task(generations.run())
        await within(5, lambda: true(generations.listening))
        await pair.cut_replication()
        async with scratch.admin_connection() as admin:
            first = await admin.fetchval("SELECT value FROM core.generations WHERE tenant_id = $1", tenant.id)
            generations.observe(tenant.id, first)
            await admin.execute(rename)
        lost = await until_it_changes(generations, tenant.id, first)
        await pair.fail_over()

        async def listens_there() -> bool:
            return generations.listening and generations.server == 1

        generations.observe(tenant.id, lost)  # a late answer that was read from the old primary …
        await within(10, listens_there)
        assert generations.current(tenant.id) != lost
        assert generations.observe(tenant.id, lost, server=0) == lost, "… is known as one of the old primary"
        assert generations.current(tenant.id) != lost
        seen = generations.observe(tenant.id, first, generations.server)
        async with scratch.admin_connection() as admin:
            await admin.execute(rename)
        assert await until_it_changes(generations, tenant.id, seen) != lost
        running.cancel()


async def until_it_changes(generations: Generations, tenant: object, known: int) -> int:
    async def changed() -> bool:
        return generations.current(tenant) not in (None, known)  # pyright: ignore[reportArgumentType]

    await within(5, changed)
    current = generations.current(tenant)  # pyright: ignore[reportArgumentType]
    assert current is not None
    return current


async def true(value: bool) -> bool:
    return value


async def test_the_audit_log_goes_on_at_the_new_primary(scratch: ScratchDatabase, pair: PostgresPair) -> None:
    await pair.wait_for_standby()
    async with scratch.open("mcpist_broker") as database:
        writer = AuditWriter(database)
        running = asyncio.create_task(writer.run())
        await writer.write(event())
        await pair.fail_over()

        async def written() -> bool:
            try:
                await writer.write(event())
            except Unavailable:
                return False
            return True

        await within(10, written)
        await writer.close()
        await running
        async with scratch.admin_connection() as admin:
            assert await admin.fetchval("SELECT count(*) FROM audit.incoming") >= 2


def event() -> AuditEvent:
    return AuditEvent(at=1, kind=AuditEventKind.OPERATOR_ADOPTED, outcome="ok", actor=str(uuid4()))


async def test_a_primary_that_comes_back_as_standby_is_not_used(pair: PostgresPair) -> None:
    await pair.first.execute(MAKE_NOTES)
    await pair.wait_for_standby()
    async with opened(address(pair.url)) as database:
        assert await server_of(database) == pair.first.port
        await pair.fail_over()
        await within(10, lambda: accepts(database))
        pair.copy_to(pair.first, pair.second)
        await database.leave_server()
        assert await server_of(database) == pair.second.port
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await pair.first.execute("INSERT INTO notes VALUES ('y')")
        async with opened(address(alone(pair.first))) as old:
            with pytest.raises(DatabaseReadOnly):
                await old.call(WRITE)


def alone(server: PairedServer) -> str:
    return server.url


async def accepts(database: Database) -> bool:
    try:
        return await database.call(WRITE) == "x"
    except Unavailable:
        return False
