"""kill -9 under a live supervisor and under writers: the server comes back and no acknowledged row is missing."""

import asyncio
import contextlib
import itertools
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from server.postgres import postmaster
from server.postgres.layout import DataFolderLayout
from server.postgres.postmaster import ServerAddress
from server.postgres.process import find_server_pids, read_pid_file
from server.postgres.supervisor import EmbeddedPostgres, attach_server
from tests.server.postgres.conftest import Owner, Processes, connect, execute, until, value

WRITERS = 4


def _postmaster(home: Path) -> int:
    noted = read_pid_file(DataFolderLayout(home).data)
    assert noted is not None
    return noted.pid


async def test_a_killed_server_is_restarted(postgres: EmbeddedPostgres, home: Path) -> None:
    address = await postgres.start()
    await execute(address, "CREATE TABLE kept AS SELECT 7 AS n")
    killed = _postmaster(home)
    os.kill(killed, signal.SIGKILL)
    await until(lambda: not postgres.ready.is_set())
    async with asyncio.timeout(20):
        await postgres.ready.wait()
    assert _postmaster(home) != killed
    assert await value(address, "SELECT n FROM kept") == 7, "at the same address"


@pytest.mark.long
async def test_a_busy_backend_does_not_keep_the_server_from_coming_back(postgres: EmbeddedPostgres, home: Path) -> None:
    address = await postgres.start()
    busy = asyncio.create_task(execute(address, "DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$"))
    await until(lambda: any("DO" in _title(pid) for pid in find_server_pids(DataFolderLayout(home))))
    os.kill(_postmaster(home), signal.SIGKILL)
    await until(lambda: not postgres.ready.is_set())
    async with asyncio.timeout(30):
        await postgres.ready.wait()
    with pytest.raises((asyncpg.PostgresError, OSError)):
        await busy
    assert await value(address, "SELECT 1") == 1


@pytest.mark.long
async def test_the_pauses_between_restarts_grow_and_end_with_success(home: Path) -> None:
    lines: list[str] = []
    postgres = EmbeddedPostgres(home, on_progress=lines.append)
    await postgres.start()
    control = DataFolderLayout(home).data / "global" / "pg_control"
    hidden = control.with_name("hidden")
    control.rename(hidden)
    os.kill(_postmaster(home), signal.SIGKILL)
    await until(lambda: sum("restarting it in" in line for line in lines) >= 4)
    assert not postgres.ready.is_set()
    hidden.rename(control)
    async with asyncio.timeout(30):
        await postgres.ready.wait()
    await postgres.stop()
    pauses = [line.rpartition(" in ")[2] for line in lines if "restarting it in" in line]
    assert pauses[:4] == ["0.1 s", "0.2 s", "0.4 s", "0.8 s"]
    assert any("pg_control" in line for line in lines), "and each failure is reported"


async def test_stopping_while_it_is_being_restarted(postgres: EmbeddedPostgres, home: Path) -> None:
    await postgres.start()
    os.kill(_postmaster(home), signal.SIGKILL)
    await until(lambda: not postgres.ready.is_set())
    await postgres.stop()
    # Children of the postmaster that was killed end by themselves when they notice.
    await until(lambda: find_server_pids(DataFolderLayout(home)) == [])
    await postgres.start()


async def test_a_start_that_takes_long_is_waited_for_and_reported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The postmaster is held still before it is ready, while the clock runs through hours."""
    lines: list[str] = []
    real = postmaster.spawn

    def held(*args: Any) -> Any:
        process = real(*args)
        process.send_signal(signal.SIGSTOP)
        return process

    monkeypatch.setattr(postmaster, "spawn", held)
    postgres = EmbeddedPostgres(home, on_progress=lines.append, clock=itertools.count(0, 600).__next__)
    starting = asyncio.create_task(postgres.start())
    await until(lambda: sum("recovering" in line for line in lines) >= 20)
    assert not starting.done()
    for pid in find_server_pids(DataFolderLayout(home)):
        os.kill(pid, signal.SIGCONT)
    assert await value(await starting, "SELECT 1") == 1
    await postgres.stop()


@pytest.mark.parametrize("victims", [("postmaster",), ("owner",), ("owner", "postmaster"), ("postmaster", "owner")])
async def test_no_acknowledged_row_is_lost(home: Path, processes: Processes, victims: tuple[str, ...]) -> None:
    await _kill_and_count(home, processes, victims, rounds=2)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("victims", [("postmaster",), ("owner",), ("owner", "postmaster"), ("postmaster", "owner")])
async def test_no_acknowledged_row_is_lost_in_many_kills(
    home: Path, processes: Processes, victims: tuple[str, ...]
) -> None:
    await _kill_and_count(home, processes, victims, rounds=25)


async def _kill_and_count(home: Path, processes: Processes, victims: tuple[str, ...], rounds: int) -> None:
    owner = processes.own(home)
    await execute(await attach_server(home), "CREATE TABLE ledger (writer int, n bigint, PRIMARY KEY (writer, n))")
    acknowledged: set[tuple[int, int]] = set()
    slowest = 0.0
    for _ in range(rounds):
        writing = await _write_until(await attach_server(home), acknowledged, partial(_kill, owner, home, victims))
        assert writing, "the kill came in the middle of writing"
        began = time.monotonic()
        if "owner" in victims:
            owner = processes.own(home)
        address = await _answering(home)
        slowest = max(slowest, time.monotonic() - began)
        found = await _rows(address)
        assert acknowledged - found == set()
    print(
        f"{' + '.join(victims)}: {rounds} kills, {len(acknowledged)} acknowledged rows, 0 lost, slowest {slowest:.2f} s"
    )


async def _write_until(
    address: ServerAddress, acknowledged: set[tuple[int, int]], kill: Callable[[], Awaitable[None]]
) -> int:
    """Write with several connections, kill in the middle; the number of rows acknowledged in this round."""
    before = len(acknowledged)
    writers = [asyncio.create_task(_write(address, writer, acknowledged)) for writer in range(WRITERS)]
    wanted = before + random.randint(50, 500)
    await until(lambda: len(acknowledged) >= wanted)
    await kill()
    for writer in writers:
        writer.cancel()
    await asyncio.gather(*writers, return_exceptions=True)
    return len(acknowledged) - before


async def _write(address: ServerAddress, writer: int, acknowledged: set[tuple[int, int]]) -> None:
    connection = await connect(address)
    try:
        number = await connection.fetchval("SELECT coalesce(max(n), 0) FROM ledger WHERE writer = $1", writer)
        while True:
            number += 1
            await connection.execute("INSERT INTO ledger VALUES ($1, $2)", writer, number)
            acknowledged.add((writer, number))
    finally:
        connection.terminate()


async def _kill(owner: Owner, home: Path, victims: tuple[str, ...]) -> None:
    postmaster = _postmaster(home)
    for victim in victims:
        if victim == "owner":
            owner.kill()
        else:
            os.kill(postmaster, signal.SIGKILL)
    if "postmaster" in victims:
        await until(lambda: postmaster not in find_server_pids(DataFolderLayout(home)))


async def _answering(home: Path) -> ServerAddress:
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(OSError, asyncpg.PostgresError):
                address = await attach_server(home)
                await value(address, "SELECT 1")
                return address


async def _rows(address: ServerAddress) -> set[tuple[int, int]]:
    connection = await connect(address)
    try:
        return {(row["writer"], row["n"]) for row in await connection.fetch("SELECT writer, n FROM ledger")}
    finally:
        await connection.close()


def _title(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()
