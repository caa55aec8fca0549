"""Whoever is cancelled while a connection to the database is made, used, left or ended leaves none open."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from core.database_url import DatabaseAddress
from core.db import Database, check_sessions, connect
from core.errors import Unavailable
from core.secret import Secret
from tests.support.postgres import DatabaseServer
from tests.support.stepped import CancelledAt
from tests.support.test_socket_plugin import collect_lost

MOST_STEPS = 60
Work = Callable[[DatabaseAddress, Database], Awaitable[object]]


async def connects_and_ends(address: DatabaseAddress, database: Database) -> None:
    connection = await connect(address, timeout=2.0)
    await connection.close()


async def looks_at_the_pooler(address: DatabaseAddress, database: Database) -> None:
    await check_sessions(address)


async def looks_something_up(address: DatabaseAddress, database: Database) -> None:
    await database.lookup("lookup_tenants", "", "SELECT 1")


async def runs_into_a_time_limit(address: DatabaseAddress, database: Database) -> None:
    """Whose query has to be cancelled by a connection of its own."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.02):
            await database.call("SELECT pg_sleep(0.2)")
    await database.call("SELECT 1")


async def leaves_the_server(address: DatabaseAddress, database: Database) -> None:
    """While one connection is used, one is made, and one rests."""
    await database.call("SELECT 1")
    await asyncio.gather(database.call("SELECT pg_sleep(0.02)"), database.leave_server(), database.call("SELECT 2"))


@pytest.mark.parametrize(
    "late",
    [pytest.param(False, id="at once"), pytest.param(True, id="when it is done", marks=pytest.mark.long)],
)
@pytest.mark.parametrize(
    "work",
    [connects_and_ends, looks_at_the_pooler, looks_something_up, runs_into_a_time_limit, leaves_the_server],
    ids=lambda work: work.__name__,
)
def test_cancelled_at_each_step(database_server: DatabaseServer, work: Work, late: bool) -> None:
    collect_lost()  # what others have lost is not counted
    for step in range(MOST_STEPS):
        with asyncio.Runner() as runner:
            was_reached = runner.run(run_cancelled(database_server.admin, work, step, late))
        assert collect_lost() == [], step
        if not was_reached:
            assert step > 1
            return
    raise AssertionError("it never ends")


def test_cancelled_at_a_server_that_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = DatabaseAddress(Secret(f"postgresql://u:p@127.0.0.1:{listener.getsockname()[1]}/d?sslmode=disable"))
        for step in range(3):
            with asyncio.Runner() as runner:
                runner.run(run_cancelled(address, connects_and_ends, step, late=False, timeout=0.1))
            assert collect_lost() == [], step


async def run_cancelled(address: DatabaseAddress, work: Work, step: int, late: bool, *, timeout: float = 5.0) -> bool:
    """Whether there was such a step."""
    database = Database(address, max_connections=3, timeout=timeout)
    await database.open()

    async def run() -> None:
        with contextlib.suppress(Unavailable, asyncpg.PostgresError):
            await work(address, database)

    cancelled = CancelledAt(run(), step, late=late)
    try:
        await cancelled
    finally:
        await database.close()
    return cancelled.was_reached
