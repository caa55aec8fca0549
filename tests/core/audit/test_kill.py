"""kill -9 of writers, sealers and PostgreSQL under load: nothing acknowledged is lost, nothing stands there twice."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from core.audit.query import verify_chain
from core.audit.sealer import AuditSealer
from core.audit.slices import SLICE_RECORDS
from core.audit.writer import append_events
from core.database_url import DatabaseAddress
from core.db import Database
from core.migrations import migrate
from core.secret import Secret
from server.postgres.layout import DataFolderLayout
from server.postgres.process import find_server_pids
from server.postgres.supervisor import EmbeddedPostgres
from tests.core.audit.support import TENANT, call, until, utc_now
from tests.support.fork_server import create_forked_process
from tests.support.postgres import PASSWORDS

BROKER, CONSOLE = "mcpist_broker", "mcpist_console"
REPOSITORY = Path(__file__).parents[3]


@dataclass(slots=True)
class Process:
    """One child, and the lines that it has said."""

    child: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)

    async def listen(self) -> None:
        assert self.child.stdout is not None
        async for line in self.child.stdout:
            if line.endswith(b"\n"):  # a line that the kill cut off says nothing
                self.lines.append(line.decode().strip())

    async def says_more(self, count: int) -> None:
        wanted = len(self.lines) + count
        await until(lambda: len(self.lines) >= wanted, 60)


@dataclass(frozen=True, slots=True)
class Running:
    """A real server under its supervisor."""

    layout: DataFolderLayout
    admin: DatabaseAddress

    @contextlib.asynccontextmanager
    async def process(self, *work: str, role: str) -> AsyncIterator[Process]:
        """A child that does `work`; killed with -9 at the end of the block."""
        child = await create_forked_process(
            sys.executable, "-m", "tests.core.audit.process", *work,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=REPOSITORY,
        )  # fmt: skip
        assert child.stdin is not None
        address = {"url": self.admin.url.reveal(), "user": role, "password": PASSWORDS[role].reveal()}
        child.stdin.write(json.dumps(address).encode() + b"\n")
        process = Process(child)
        listening = asyncio.create_task(process.listen())
        try:
            yield process
        finally:
            if child.returncode is None:
                child.kill()
            await listening
            await child.wait()

    def kill_postgres(self) -> None:
        """Every process of the server at once, as when the machine takes them."""
        for pid in find_server_pids(self.layout):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def count_sealed(self) -> int:
        admin = await self._connected()
        try:
            return await admin.fetchval("SELECT count(*) FROM audit.events")
        finally:
            await admin.close()

    async def check(self, acknowledged: list[str]) -> int:
        """Seal what is left and look for every acknowledged event; how many events there are."""
        admin = await self._connected()
        database = Database(self.admin.as_role(CONSOLE, PASSWORDS[CONSOLE]))
        await database.open()
        await AuditSealer(database, utc_now).seal_all()
        found = await verify_chain(database, TENANT)
        await database.close()
        assert found.ok, found
        ids = [row["id"].hex() for row in await admin.fetch("SELECT id FROM audit.events")]
        left = await admin.fetchval("SELECT count(*) FROM audit.incoming")
        await admin.close()
        assert len(set(ids)) == len(ids) == found.checked, "an event stands there twice"
        assert set(acknowledged) <= set(ids), "an acknowledged event is lost"
        assert left == 0
        return len(ids)

    async def _connected(self) -> Any:
        """A connection to the server, which may be on its way back."""
        deadline = time.monotonic() + 60
        while True:
            try:
                return await asyncpg.connect(**self.admin.connect_args())
            except (OSError, asyncpg.PostgresError):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """One data folder for all tests here: making it takes longer than they do."""
    folder = Path(tempfile.mkdtemp(prefix="mcpist-test-"))
    folder.chmod(0o755)  # PostgreSQL's user passes through
    yield folder / "home"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def server(home: Path) -> AsyncIterator[Running]:
    postgres = EmbeddedPostgres(home)
    try:
        address = await postgres.start()
        admin = DatabaseAddress(Secret(address.build_url()), address.superuser, Secret(address.password))
        await migrate(admin, PASSWORDS)
        yield Running(DataFolderLayout(home), admin)
    finally:
        await postgres.stop()


@pytest.mark.long
async def test_writers_are_killed(server: Running) -> None:
    acknowledged: list[str] = []
    for _ in range(5):
        async with server.process("write", role=BROKER) as writer:
            await writer.says_more(100)
        acknowledged += writer.lines
        assert await server.check(acknowledged) >= len(acknowledged)


async def test_sealers_are_killed(server: Running) -> None:
    async with server.process("write", role=BROKER) as writer:
        await writer.says_more(2_000)
    for _ in range(5):
        async with (
            server.process("seal", role=CONSOLE) as first,
            server.process("seal", role=CONSOLE) as second,
        ):
            await until(lambda a=first, b=second: len(a.lines) + len(b.lines) >= 5, 60)
    await server.check(writer.lines)


async def test_postgres_is_killed_under_writers_and_sealers(server: Running) -> None:
    before = await server.check([])
    async with server.process("write", role=BROKER) as writer, server.process("seal", role=CONSOLE) as sealer:
        for _ in range(3):
            await writer.says_more(100)
            await sealer.says_more(2)
            server.kill_postgres()
            await writer.says_more(50)
    outcomes = await server.check(writer.lines) - before - len(writer.lines)
    assert outcomes >= len(writer.lines) - 100, "outcomes outlive the server's absence in their process"


async def test_a_sealer_is_killed_between_two_slices(server: Running) -> None:
    """Whether it has decoded, chained or written a part of the batch: all of it is there, and none of it sealed."""
    before = await server.check([])
    broker = Database(server.admin.as_role(BROKER, PASSWORDS[BROKER]))
    await broker.open()
    await append_events(broker, [call() for _ in range(5 * SLICE_RECORDS)])
    await broker.close()
    for turn in (1, 5, 6, 9, 11, 12):
        async with server.process("seal-until", str(turn), role=CONSOLE) as sealer:
            assert await sealer.child.wait() == -signal.SIGKILL
            assert not sealer.lines
        assert await server.count_sealed() == before
    assert await server.check([]) == before + 5 * SLICE_RECORDS


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_everything_is_killed_for_long(server: Running) -> None:
    acknowledged: list[str] = []
    for turn in range(25):
        async with (
            server.process("write", role=BROKER) as writer,
            server.process("seal", role=CONSOLE) as sealer,
        ):
            await writer.says_more(50 + turn * 7)
            if turn % 3:
                await sealer.says_more(1)
            if turn % 2:
                server.kill_postgres()
            if turn % 5 == 0:
                await writer.says_more(30)
        acknowledged += writer.lines
    await server.check(acknowledged)
