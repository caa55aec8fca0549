"""A dump restores to the same database, with its owners, grants and policies; everything else is refused."""

import asyncio
import os
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from server.postgres import backup
from server.postgres.backup import dump, restore
from server.postgres.binaries import find_bundled_binaries
from server.postgres.errors import BackupError
from server.postgres.postmaster import ServerAddress
from server.postgres.supervisor import EmbeddedPostgres
from tests.server.postgres.conftest import connect, execute, value

ROLES = """
CREATE ROLE test_owner NOLOGIN;
CREATE ROLE test_reader LOGIN PASSWORD 'p@ss/wörd';
"""
SCHEMA = """
CREATE EXTENSION pg_trgm;
CREATE SCHEMA core AUTHORIZATION test_owner;
SET ROLE test_owner;
CREATE TABLE core.tenant (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE core.note (id serial PRIMARY KEY, tenant int NOT NULL REFERENCES core.tenant, text text);
ALTER TABLE core.note ENABLE ROW LEVEL SECURITY;
ALTER TABLE core.note FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON core.note TO test_reader USING (tenant = current_setting('app.tenant', true)::int);
GRANT USAGE ON SCHEMA core TO test_reader;
GRANT SELECT ON core.note TO test_reader;
CREATE FUNCTION core.everything() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = ''
    AS 'SELECT count(*) FROM core.note';
RESET ROLE;
INSERT INTO core.tenant VALUES (1, 'one'), (2, '二');
INSERT INTO core.note (tenant, text)
    SELECT 1 + n % 2, E'SET transaction_timeout = 0;\\n\\\\.\\n日本語' FROM generate_series(1, 5000) n;
"""
PARTIAL = "echo 'CREATE TABLE public.half ();'; echo 'pg_restore: error: half of it' >&2; exit 1"


@pytest.fixture(scope="module")
def module_place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mcpist-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
async def server(module_place: Path) -> AsyncIterator[ServerAddress]:
    """A server with the roles, and one filled database `full`."""
    postgres = EmbeddedPostgres(module_place / "home")
    address = await postgres.start()
    if not await value(address, "SELECT count(*) FROM pg_roles WHERE rolname = 'test_owner'"):
        await execute(address, ROLES)
        await execute(address, "CREATE DATABASE full_one")
        await execute(replace(address, database="full_one"), SCHEMA)
    yield replace(address, database="full_one")
    await postgres.stop()


@pytest.fixture
async def empty(server: ServerAddress) -> AsyncIterator[ServerAddress]:
    await execute(replace(server, database="postgres"), "CREATE DATABASE empty_one")
    yield replace(server, database="empty_one")
    await execute(replace(server, database="postgres"), "DROP DATABASE empty_one WITH (FORCE)")


async def _tables(address: ServerAddress) -> int:
    return await value(address, "SELECT count(*) FROM pg_tables WHERE schemaname IN ('core', 'public')")


async def test_round_trip(server: ServerAddress, empty: ServerAddress, place: Path) -> None:
    file = place / "backup"
    await dump(server, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [left.name for left in place.iterdir()] == ["backup"]
    await restore(empty, file)
    for query in (
        "SELECT array_agg(n ORDER BY id)::text FROM core.note n",
        "SELECT relforcerowsecurity AND relrowsecurity FROM pg_class WHERE oid = 'core.note'::regclass",
        "SELECT array_agg(p)::text FROM pg_policies p",
        "SELECT array_agg(tableowner::text) FROM pg_tables WHERE schemaname = 'core'",
        "SELECT proowner::regrole::text FROM pg_proc WHERE proname = 'everything'",
        "SELECT nextval('core.note_id_seq')",
    ):
        assert await value(empty, query) == await value(server, query), query
    reader = await connect(empty, user="test_reader", password="p@ss/wörd")
    await reader.execute("SET app.tenant = '1'")
    assert await reader.fetchval("SELECT count(*) FROM core.note") == 2500
    await reader.close()


async def test_a_url_with_any_driver_and_an_odd_password(
    server: ServerAddress, empty: ServerAddress, place: Path
) -> None:
    await execute(server, "ALTER ROLE test_reader SUPERUSER")
    try:
        for name, query in (("a", ""), ("b", "&application_name=x")):
            url = f"postgresql+asyncpg://test_reader:p%40ss%2Fw%C3%B6rd@/{server.database}?host={server.socket_dir}{query}"
            await dump(url, place / name)
        await dump(
            f"postgresql://test_reader@/{server.database}?host={server.socket_dir}&password=p%40ss%2Fwörd", place / "c"
        )
    finally:
        await execute(server, "ALTER ROLE test_reader NOSUPERUSER")
    await restore(empty, place / "c")
    assert await value(empty, "SELECT count(*) FROM core.note") == 5000


async def test_a_role_bound_by_row_level_security_gets_no_dump(server: ServerAddress, place: Path) -> None:
    """As an own server's role that owns the tables: the policies are forced on it too."""
    await execute(server, "GRANT test_owner TO test_reader; GRANT SELECT ON ALL TABLES IN SCHEMA core TO test_reader")
    url = f"postgresql://test_reader:p%40ss%2Fw%C3%B6rd@/{server.database}?host={server.socket_dir}"
    with pytest.raises(BackupError, match="bound by row-level security"):
        await dump(url, place / "backup")
    assert not list(place.iterdir())


async def test_the_password_is_in_no_argument(
    server: ServerAddress, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = asyncio.create_subprocess_exec

    async def recording(*argv: str, **options: object) -> object:
        seen.extend(argv)
        return await real(*argv, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", recording)
    await dump(server, place / "a")
    with pytest.raises(BackupError):
        await dump("postgresql://user:hush-hush@127.0.0.1:1/x?password=more-hush", place / "b")
    assert seen
    assert not [argument for argument in seen if server.password in argument or "hush" in argument]


async def test_an_existing_file_is_replaced_only_on_demand(server: ServerAddress, place: Path) -> None:
    file = place / "backup"
    file.write_text("precious")
    with pytest.raises(BackupError, match="exists already"):
        await dump(server, file)
    assert file.read_text() == "precious"
    await dump(server, file, force=True)
    assert file.read_bytes().startswith(b"PGDMP")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_file_that_appears_meanwhile_is_kept(
    server: ServerAddress, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def racing(descriptor: int) -> None:
        (place / "backup").write_text("precious")
        real(descriptor)

    monkeypatch.setattr(backup.os, "fsync", racing)
    with pytest.raises(BackupError, match="exists already"):
        await dump(server, place / "backup")
    assert (place / "backup").read_text() == "precious"


async def test_a_folder_that_is_not_there_is_named(server: ServerAddress, place: Path) -> None:
    with pytest.raises(BackupError, match=f"Cannot write into {place}/none"):
        await dump(server, place / "none" / "backup")


async def test_only_an_empty_database_is_restored_into(
    server: ServerAddress, empty: ServerAddress, place: Path
) -> None:
    await dump(server, place / "backup")
    with pytest.raises(BackupError, match="not empty"):
        await restore(server, place / "backup")
    await execute(empty, "CREATE SCHEMA something")
    with pytest.raises(BackupError, match="not empty"):
        await restore(empty, place / "backup")


async def test_a_damaged_file_restores_nothing(server: ServerAddress, empty: ServerAddress, place: Path) -> None:
    file = place / "backup"
    await dump(server, file)
    whole = file.read_bytes()
    for size in (len(whole) * 3 // 4, len(whole) // 2, 2000, 100):
        file.write_bytes(whole[:size])
        with pytest.raises(BackupError, match="Nothing was restored"):
            await restore(empty, file)
        assert await _tables(empty) == 0
    file.write_bytes(b"CREATE TABLE x ();")
    with pytest.raises(BackupError, match="not a backup"):
        await restore(empty, file)
    with pytest.raises(BackupError, match="Cannot read"):
        await restore(empty, place / "none")


async def test_nothing_is_committed_when_the_reader_fails(
    server: ServerAddress, empty: ServerAddress, place: Path
) -> None:
    """pg_restore breaks off between two statements."""
    await dump(server, place / "backup")
    for name, script in (
        ("psql", f'exec "{find_bundled_binaries().get_program_path("psql")}" "$@"'),
        ("pg_restore", PARTIAL),
    ):
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)
    with pytest.raises(BackupError, match="Nothing was restored: pg_restore: error: half of it"):
        await restore(empty, place / "backup", program_dir=place)
    assert await _tables(empty) == 0


async def test_a_missing_role_is_named(server: ServerAddress, place: Path) -> None:
    await dump(server, place / "backup")
    other = EmbeddedPostgres(place / "other")
    try:
        address = await other.start()
        with pytest.raises(BackupError, match=r"no role test_\w+\. Create"):
            await restore(address, place / "backup")
        assert await _tables(address) == 0
        await execute(address, ROLES)
        await restore(address, place / "backup")
        assert await value(address, "SELECT count(*) FROM core.note") == 5000
    finally:
        await other.stop()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql://x/y", "must be given as a URL"),
        ("host=x password=y", "must be given as a URL"),
        ("postgresql://u:p@127.0.0.1:1/x", "refused"),
        ("postgresql://u:p@127.0.0.1:1/x?sslmode=require", "no TLS"),
    ],
)
async def test_an_unusable_server_is_explained(place: Path, url: str, reason: str) -> None:
    with pytest.raises(BackupError, match=reason) as caught:
        await dump(url, place / "backup")
    assert "p@" not in str(caught.value)


async def test_programs_that_are_not_there_are_named(server: ServerAddress, place: Path) -> None:
    with pytest.raises(BackupError, match=f"Cannot run {place}/pg_dump"):
        await dump(server, place / "backup", program_dir=place)


async def test_a_cancelled_dump_leaves_no_file_and_no_process(server: ServerAddress, place: Path) -> None:
    """pg_dump waits for a lock that this test holds."""
    holder: asyncpg.Connection = await connect(server)
    async with holder.transaction():
        await holder.execute("LOCK TABLE core.note IN ACCESS EXCLUSIVE MODE")
        dumping = asyncio.create_task(dump(server, place / "backup"))
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        async with asyncio.timeout(20):
            while not await holder.fetchval(waiting):
                pass
        dumping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dumping
    await holder.close()
    assert not list(place.iterdir())
