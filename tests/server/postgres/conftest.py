"""Data folders that PostgreSQL's user can reach, and processes that own them."""

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from server.postgres.binaries import copy_binaries, find_bundled_binaries
from server.postgres.layout import DataFolderLayout
from server.postgres.postmaster import ServerAddress
from server.postgres.process import find_server_pids
from server.postgres.supervisor import EmbeddedPostgres
from tests.support.postgres_process import roomy_folder

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder that every user can pass through (pytest's own are 0700)."""
    folder = Path(tempfile.mkdtemp(prefix="mcpist-test-", dir=roomy_folder()))
    folder.chmod(0o755)
    yield folder
    for layout in map(DataFolderLayout, folder.iterdir()):
        if layout.data.is_dir():
            for pid in find_server_pids(layout):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """What root's first start copies into a data folder, for the tests to link to."""
    with tempfile.TemporaryDirectory(prefix="mcpist-test-", dir=roomy_folder()) as name:
        if os.geteuid() == 0:
            copy_binaries(find_bundled_binaries(), Path(name))
        yield Path(name)


@pytest.fixture
def new_home(place: Path) -> Path:
    """A data folder that does not exist yet."""
    return place / "home"


@pytest.fixture
def home(place: Path, programs: Path) -> Path:
    """A data folder in which nothing but the programs is yet: copying them takes half of a first start."""
    folder = place / "home"
    folder.mkdir(mode=0o700)
    if any(programs.iterdir()):
        shutil.copytree(programs, folder / "bin", copy_function=os.link)
    return folder


@pytest.fixture
async def postgres(home: Path) -> AsyncIterator[EmbeddedPostgres]:
    """One that is not started yet, and is stopped after the test."""
    server = EmbeddedPostgres(home)
    yield server
    await server.stop()


@pytest.fixture
def processes() -> Iterator["Processes"]:
    with Processes() as made:
        yield made


def connect(address: ServerAddress, **options: Any) -> Any:
    return asyncpg.connect(
        **{
            "host": str(address.socket_dir),
            "port": address.port,
            "user": address.superuser,
            "password": address.password,
            "database": address.database,
            "timeout": 10,
        }
        | options
    )


async def execute(address: ServerAddress, script: str, **options: Any) -> None:
    connection = await connect(address, **options)
    try:
        await connection.execute(script)
    finally:
        await connection.close()


async def value(address: ServerAddress, query: str, **options: Any) -> Any:
    connection = await connect(address, **options)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Owner:
    """A running `owner.py`: `pid` is the process that holds the lock."""

    process: "subprocess.Popen[str]"
    pid: int
    postmaster: int
    socket_dir: Path

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        if self.pid == self.process.pid:
            self.process.wait()


@dataclass(slots=True)
class Processes:
    _running: list["subprocess.Popen[str]"] = field(default_factory=list)

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def own(self, home: Path, *extra: str, python: str = sys.executable, user: str | None = None) -> Owner:
        """Start an owner and wait until its server is ready."""
        entry = pwd.getpwnam(user) if user else None
        process = subprocess.Popen(
            [python, "-m", "tests.server.postgres.owner", str(home), *extra],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *site_packages()])},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            user=entry.pw_uid if entry else None,
            group=entry.pw_gid if entry else None,
            extra_groups=[] if entry else None,
        )
        self._running.append(process)
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[:1] == ["ready"], f"the owner ended with {process.wait()}"
        return Owner(process, int(words[3]), int(words[1]), Path(words[2]))


def site_packages() -> list[str]:
    return [path for path in sys.path if path.endswith("site-packages")]


def python_for(user: str) -> str:
    """A Python that this user may run (a virtual environment's often lies below root's home)."""
    entry = pwd.getpwnam(user)
    for candidate in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if candidate is None:
            continue
        probe = [candidate, "-c", "import sys; raise SystemExit(sys.version_info < (3, 11))"]
        with contextlib.suppress(OSError):
            if subprocess.run(probe, cwd="/", user=entry.pw_uid, group=entry.pw_gid, extra_groups=[]).returncode == 0:
                return candidate
    pytest.skip(f"no Python >= 3.11 on this machine that {user} may run: the start as a plain user is NOT tested")


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: changes to another user are NOT tested")
