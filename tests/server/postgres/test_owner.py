"""One owner per data folder; what the next start finds after an owner was killed."""
# ruff: noqa: ASYNC220 -- nothing else runs in these tests' loops meanwhile

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from server.postgres.errors import HomeInUse, OwnerGone, PostgresError
from server.postgres.layout import DataFolderLayout
from server.postgres.lock import HomeLock, is_held
from server.postgres.process import find_server_pids, read_pid_file
from server.postgres.supervisor import EmbeddedPostgres, attach_server
from tests.server.postgres.conftest import Processes, execute, needs_root, until, value


async def test_the_second_process_attaches(home: Path, processes: Processes) -> None:
    owner = processes.own(home)
    with pytest.raises(HomeInUse, match="Another MCPist is running"):
        await EmbeddedPostgres(home).start()
    address = await attach_server(home)
    assert address.socket_dir == owner.socket_dir
    assert await value(address, "SELECT 1") == 1
    assert owner.process.poll() is None, "the refused start left the owner alone"


async def test_attaching_waits_until_the_owner_is_ready(home: Path, postgres: EmbeddedPostgres) -> None:
    lines: list[str] = []
    starting = asyncio.create_task(postgres.start())
    await until(lambda: home.exists() and is_held(home / "lock"))
    address = await attach_server(home, on_progress=lines.append)
    assert address == await starting
    assert len(lines) == 1


async def test_attaching_waits_behind_the_file_of_a_server_that_was_killed(
    home: Path, processes: Processes, postgres: EmbeddedPostgres
) -> None:
    """A new owner holds the lock, and the file that says `ready` is of a server that is dead."""
    killed = processes.own(home)
    killed.kill()
    os.kill(killed.postmaster, signal.SIGKILL)
    await until(lambda: find_server_pids(DataFolderLayout(home)) == [])
    noted = read_pid_file(DataFolderLayout(home).data)
    assert noted is not None
    assert (noted.pid, noted.ready) == (killed.postmaster, True)
    lock, lines = await HomeLock.acquire(home / "lock"), list[str]()
    attaching = asyncio.create_task(attach_server(home, on_progress=lines.append))
    await until(lambda: attaching.done() or bool(lines))
    assert not attaching.done(), "it believed the file of a dead server"
    lock.release()
    with pytest.raises(OwnerGone):
        await attaching
    starting = asyncio.create_task(postgres.start())
    await until(lambda: is_held(home / "lock"))
    assert await value(await attach_server(home), "SELECT 1") == 1
    await starting


async def test_there_is_nothing_to_attach_to(home: Path, postgres: EmbeddedPostgres) -> None:
    with pytest.raises(OwnerGone):
        await attach_server(home)
    await postgres.start()
    await postgres.stop()
    with pytest.raises(OwnerGone):
        await attach_server(home)


@needs_root
async def test_attaching_to_somebody_elses_folder_is_refused(new_home: Path) -> None:
    new_home.mkdir(mode=0o700)
    os.chown(new_home, 65534, 65534)
    with pytest.raises(PostgresError, match="belongs to nobody"):
        await attach_server(new_home)


async def test_looking_at_the_lock_does_not_disturb_a_start(home: Path, postgres: EmbeddedPostgres) -> None:
    looked = 0

    async def look() -> None:
        nonlocal looked
        while True:
            looked += is_held(home / "lock") if home.exists() else 0
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    for _ in range(3):
        await postgres.start()
        await postgres.stop()
    looking.cancel()
    assert looked


async def test_a_child_does_not_inherit_the_lock(place: Path) -> None:
    lock = await HomeLock.acquire(place / "lock")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    lock.release()
    try:
        # Another test's process may stand between its fork and its exec just now, with a copy of everything open.
        async with asyncio.timeout(10):
            while is_held(place / "lock"):
                await asyncio.sleep(0.01)
        assert child.poll() is None
    finally:
        child.communicate(b"\n")


async def test_the_orphan_of_a_killed_owner_is_taken_over(
    home: Path, processes: Processes, postgres: EmbeddedPostgres
) -> None:
    owner = processes.own(home)
    await execute(await attach_server(home), "CREATE TABLE kept AS SELECT 7 AS n")
    owner.kill()
    assert owner.postmaster in find_server_pids(DataFolderLayout(home)), "the server lives on"
    with pytest.raises(OwnerGone):
        await attach_server(home)
    address = await postgres.start()
    assert owner.postmaster not in find_server_pids(DataFolderLayout(home))
    assert await value(address, "SELECT n FROM kept") == 7


async def test_an_orphan_that_hangs_is_ended_too(
    home: Path, processes: Processes, postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    ladder = ((signal.SIGINT, 0.5), (signal.SIGQUIT, 0.5), (signal.SIGKILL, 5.0))
    monkeypatch.setattr("server.postgres.process.STOP_SIGNALS", ladder)
    owner = processes.own(home)
    os.kill(owner.postmaster, signal.SIGSTOP)
    owner.kill()
    assert await value(await postgres.start(), "SELECT 1") == 1


@pytest.mark.parametrize("kill_order", ["owner first", "postmaster first"])
async def test_a_zombie_is_not_a_live_server(
    home: Path, processes: Processes, postgres: EmbeddedPostgres, kill_order: str
) -> None:
    """As in a container whose PID 1 does not reap."""
    owner = processes.own(home, "ADOPT")
    await execute(await attach_server(home), "CREATE TABLE kept AS SELECT 7 AS n")
    if kill_order == "owner first":
        owner.kill()
        os.kill(owner.postmaster, signal.SIGKILL)
    else:
        os.kill(owner.pid, signal.SIGSTOP)
        os.kill(owner.postmaster, signal.SIGKILL)
        owner.kill()
    await until(lambda: _state(owner.postmaster) == "Z")
    os.kill(owner.postmaster, 0)  # it still looks alive to this
    noted = read_pid_file(DataFolderLayout(home).data)
    assert noted is not None
    assert noted.pid == owner.postmaster
    assert await value(await postgres.start(), "SELECT n FROM kept") == 7
    assert _state(owner.postmaster) == "Z"


async def test_an_orphan_that_nobody_reaps_is_taken_over(
    home: Path, processes: Processes, postgres: EmbeddedPostgres
) -> None:
    owner = processes.own(home, "ADOPT")
    owner.kill()
    assert await value(await postgres.start(), "SELECT 1") == 1
    assert _state(owner.postmaster) == "Z"


@pytest.mark.parametrize("title", ["sleep", "/usr/lib/postgresql/bin/postgres"])
async def test_a_reused_pid_is_not_taken_for_the_server(home: Path, postgres: EmbeddedPostgres, title: str) -> None:
    """Another process of the same user, even another PostgreSQL, has the pid that the dead server noted."""
    await postgres.start()
    pid_file = DataFolderLayout(home).data / "postmaster.pid"
    noted = pid_file.read_text().splitlines()
    await postgres.stop()
    owner = DataFolderLayout(home).data.stat().st_uid
    bystander = subprocess.Popen([title, "60"], executable="/bin/sleep", user=owner)
    try:
        pid_file.write_text("\n".join([str(bystander.pid), *noted[1:]]) + "\n")
        os.chown(pid_file, owner, -1)
        assert await value(await postgres.start(), "SELECT 1") == 1
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


async def test_ctrl_c_on_the_terminal_does_not_reach_the_server(home: Path, processes: Processes) -> None:
    owner = processes.own(home)
    os.killpg(owner.pid, signal.SIGINT)  # what a terminal does
    assert await value(await attach_server(home), "SELECT 1") == 1
    owner.process.terminate()
    assert owner.process.wait(20) == 0
    assert find_server_pids(DataFolderLayout(home)) == []
    assert not (DataFolderLayout(home).data / "postmaster.pid").exists(), "it was stopped in order"


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
