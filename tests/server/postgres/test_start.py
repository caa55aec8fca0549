"""The first start, later starts, and every data folder that is refused."""

import asyncio
import os
import shutil
import stat
import time
from pathlib import Path

import asyncpg
import pytest

from server.postgres import cluster, process
from server.postgres.binaries import find_bundled_binaries
from server.postgres.errors import PostgresError
from server.postgres.layout import SOCKET_NAME, DataFolderLayout
from server.postgres.supervisor import EmbeddedPostgres
from server.postgres.system_account import find_runtime_account
from tests.server.postgres.conftest import Processes, connect, execute, needs_root, python_for, until, value


async def _timed(postgres: EmbeddedPostgres) -> float:
    began = time.monotonic()
    await postgres.start()
    return time.monotonic() - began


async def test_first_and_later_start(new_home: Path) -> None:
    lines: list[str] = []
    postgres = EmbeddedPostgres(new_home, on_progress=lines.append)
    first = await _timed(postgres)
    address = await postgres.start()
    assert postgres.ready.is_set()
    await execute(address, "CREATE TABLE kept AS SELECT 7 AS n")
    await postgres.stop()
    assert not postgres.ready.is_set()
    await postgres.stop()
    assert "Creating the database" in lines
    lines.clear()
    later = await _timed(postgres)
    assert await value(await postgres.start(), "SELECT n FROM kept") == 7
    await postgres.stop()
    assert "Creating the database" not in lines
    print(f"first start {first:.2f} s, later start {later:.3f} s")


async def test_two_starts_at_once_give_one_server(postgres: EmbeddedPostgres, home: Path) -> None:
    first, second = await asyncio.gather(postgres.start(), postgres.start())
    assert first is second


async def test_only_a_socket_and_only_with_the_password(postgres: EmbeddedPostgres, home: Path) -> None:
    address = await postgres.start()
    assert await value(address, "SHOW listen_addresses") == ""
    assert stat.S_IMODE(address.socket_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE(DataFolderLayout(home).password.stat().st_mode) == 0o600
    assert stat.S_IMODE(DataFolderLayout(home).log.stat().st_mode) == 0o600
    assert address.password not in repr(address)
    assert address.password not in address.build_url()
    for password in ("wrong", ""):
        with pytest.raises(asyncpg.InvalidPasswordError):
            await connect(address, password=password)


async def test_data_is_synced_and_unicode_is_known(postgres: EmbeddedPostgres) -> None:
    address = await postgres.start()
    assert await value(address, "SHOW fsync") == "on"
    assert await value(address, "SHOW synchronous_commit") == "on"
    await execute(address, "CREATE EXTENSION pg_trgm")
    assert await value(address, "SELECT show_trgm('日本語検索')") != []
    assert await value(address, "SELECT upper('éß') || lower('ÄΩ')") == "Éßäω"


async def test_the_log_keeps_statements_and_rows_to_itself(postgres: EmbeddedPostgres, home: Path) -> None:
    address = await postgres.start()
    await execute(address, "CREATE TABLE person (email text PRIMARY KEY)")
    for _ in range(2):
        try:
            await execute(address, "INSERT INTO person VALUES ('someone@example.com')")
        except asyncpg.UniqueViolationError:
            break
    log = DataFolderLayout(home).log.read_text()
    assert "duplicate key" in log
    assert "someone@example.com" not in log


async def test_the_server_inherits_neither_environment_nor_session(
    postgres: EmbeddedPostgres, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPIST_SECRET_OF_OURS", "hush")
    await postgres.start()
    noted = process.read_pid_file(DataFolderLayout(home).data)
    assert noted is not None
    assert b"hush" not in Path(f"/proc/{noted.pid}/environ").read_bytes()
    assert os.getsid(noted.pid) == noted.pid
    held = {os.readlink(link) for link in Path(f"/proc/{noted.pid}/fd").iterdir() if link.is_symlink()}
    assert str(home / "lock") not in held


@needs_root
async def test_root_drops_to_nobody_and_opens_only_its_own_folder(new_home: Path, place: Path) -> None:
    before = place.stat().st_mode
    new_home.mkdir(mode=0o700)
    postgres = EmbeddedPostgres(new_home)
    await postgres.start()
    noted = process.read_pid_file(DataFolderLayout(new_home).data)
    assert noted is not None
    assert Path(f"/proc/{noted.pid}").stat().st_uid == 65534
    await postgres.stop()
    assert stat.S_IMODE(new_home.stat().st_mode) == 0o701
    assert place.stat().st_mode == before
    assert new_home.stat().st_uid == 0


@needs_root
async def test_old_copies_of_the_programs_are_removed(new_home: Path) -> None:
    for left in ("17.2.0", ".new-abc"):
        (new_home / "bin" / left / "bin").mkdir(parents=True)
    new_home.chmod(0o700)
    postgres = EmbeddedPostgres(new_home)
    await postgres.start()
    await postgres.stop()
    assert [folder.name for folder in (new_home / "bin").iterdir()] == [find_bundled_binaries().version]


@needs_root
async def test_an_untraversable_parent_is_named_and_left_alone(place: Path) -> None:
    private = place / "private"
    private.mkdir(mode=0o700)
    with pytest.raises(PostgresError, match=f"pass through {private},.*MCPIST_HOME"):
        await EmbeddedPostgres(private / "deep" / "home").start()
    assert stat.S_IMODE(private.stat().st_mode) == 0o700


@needs_root
async def test_a_plain_user_starts_it_too(place: Path, processes: Processes) -> None:
    python = python_for("nobody")
    mine = place / "nobody's"
    mine.mkdir(mode=0o700)
    shutil.chown(mine, "nobody")
    began = time.monotonic()
    owner = processes.own(mine / "home", python=python, user="nobody")
    print(f"first start as a plain user {time.monotonic() - began:.2f} s, Python's own start included")
    assert Path(f"/proc/{owner.postmaster}").stat().st_uid == 65534
    assert not (mine / "home" / "bin").exists(), "a plain user runs the programs in place"
    owner.process.terminate()
    assert owner.process.wait(20) == 0


@needs_root
@pytest.mark.parametrize("name", ["no-such-user-here", "root"])
async def test_an_unusable_account_is_refused(home: Path, name: str) -> None:
    with pytest.raises(PostgresError, match="system user"):
        await EmbeddedPostgres(home, run_as=name).start()


@pytest.mark.parametrize("mode", [0o770, 0o702])
async def test_a_folder_that_others_can_write_to_is_refused(new_home: Path, mode: int) -> None:
    new_home.mkdir()
    new_home.chmod(mode)
    with pytest.raises(PostgresError, match="chmod go-w"):
        await EmbeddedPostgres(new_home).start()


@needs_root
async def test_somebody_elses_folder_is_refused(new_home: Path) -> None:
    new_home.mkdir(mode=0o700)
    shutil.chown(new_home, "nobody")
    with pytest.raises(PostgresError, match="belongs to nobody"):
        await EmbeddedPostgres(new_home).start()


@pytest.mark.parametrize("name", ["n" * 120, "with, comma", "it's; 日本語 & more"])
async def test_odd_and_long_folder_names(place: Path, name: str) -> None:
    postgres = EmbeddedPostgres(place / name, short_parent=place)
    address = await postgres.start()
    assert len(os.fsencode(address.socket_dir / SOCKET_NAME)) < 100
    assert await value(address, "SELECT 1") == 1
    await postgres.stop()
    assert not (address.socket_dir / SOCKET_NAME).exists()
    assert [folder.name for folder in place.iterdir()] == [name], "the short folder is removed"


async def test_a_folder_that_cannot_be_made_is_named(place: Path) -> None:
    (place / "file").touch()
    with pytest.raises(PostgresError, match=f"Cannot make the folder {place}/file/home: Not a directory"):
        await EmbeddedPostgres(place / "file" / "home").start()


@pytest.mark.parametrize("name", ['"', "$(id)", "`id`", "\\", "new\nline"])
async def test_a_name_that_postgres_hands_to_a_shell_is_refused(place: Path, name: str) -> None:
    with pytest.raises(PostgresError, match="cannot work in a path"):
        await EmbeddedPostgres(place / name).start()
    assert not list(place.iterdir())


async def test_a_planted_short_folder_is_refused(place: Path) -> None:
    home = place / ("n" * 120)
    DataFolderLayout(home).get_socket_dir(place).symlink_to("/")
    with pytest.raises(PostgresError, match="private folder"):
        await EmbeddedPostgres(home, short_parent=place).start()


async def test_another_major_version_is_refused(postgres: EmbeddedPostgres, home: Path) -> None:
    await postgres.start()
    await postgres.stop()
    (DataFolderLayout(home).data / "PG_VERSION").write_text("17\n")
    with pytest.raises(PostgresError, match=r"written by PostgreSQL 17.*mcpist restore"):
        await postgres.start()


async def test_a_lost_password_file_is_named(postgres: EmbeddedPostgres, home: Path) -> None:
    await postgres.start()
    await postgres.stop()
    DataFolderLayout(home).password.unlink()
    with pytest.raises(PostgresError, match=r"superuser\.password is missing"):
        await postgres.start()


async def test_a_server_that_cannot_start_says_why(postgres: EmbeddedPostgres, home: Path) -> None:
    await postgres.start()
    await postgres.stop()
    (DataFolderLayout(home).data / "global" / "pg_control").unlink()
    with pytest.raises(PostgresError, match=r"before it was ready: .*pg_control"):
        await postgres.start()


async def test_an_interrupted_initdb_is_done_again(
    postgres: EmbeddedPostgres, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """initdb really runs and is killed when half of its files are there; the folder holds no cluster then."""
    real = cluster.spawn

    def interrupted(argv: list[str], *rest: object) -> object:
        started = real(argv, *rest)  # type: ignore[arg-type]
        target = Path(argv[-1].removeprefix("--pgdata="))
        while not (target / "base" / "1").exists():
            assert started.poll() is None
        started.kill()
        return started

    monkeypatch.setattr(cluster, "spawn", interrupted)
    with pytest.raises(PostgresError, match="initdb failed"):
        await postgres.start()
    assert not DataFolderLayout(home).data.exists()
    assert list(DataFolderLayout(home).folder.glob("initdb-*"))
    monkeypatch.undo()
    assert await value(await postgres.start(), "SELECT 1") == 1
    assert not list(DataFolderLayout(home).folder.glob("initdb-*"))


async def test_a_cancelled_first_start_leaves_nothing_running(postgres: EmbeddedPostgres, home: Path) -> None:
    task = asyncio.create_task(postgres.start())
    await until(lambda: bool(list(DataFolderLayout(home).folder.glob("initdb-*"))))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not list(DataFolderLayout(home).folder.glob("initdb-??????.*")), "initdb has ended"
    assert process.find_server_pids(DataFolderLayout(home)) == []
    assert await value(await postgres.start(), "SELECT 1") == 1


def test_the_process_list_of_ps_and_of_proc_agree(home: Path, processes: Processes) -> None:
    processes.own(home)
    layout = DataFolderLayout(home)
    owner = layout.data.stat().st_uid

    def listed() -> set[int]:
        return {pid for pid, line in process._list_from_ps(owner) if layout.name in line and process._is_postgres(line)}

    # The server's own processes come and go between two looks; one pair of looks without that is enough.
    pairs = ((set(process.find_server_pids(layout)), listed()) for _ in range(20))
    assert any(wanted == found != set() for wanted, found in pairs)


def test_without_root_no_account_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert find_runtime_account("no-such-user-here") is None
