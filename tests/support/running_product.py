"""`mcpist up --json` as a process of its own on a data folder of its own, and a small client for it."""

import asyncio
import atexit
import contextlib
import functools
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.canary import SUITE
from tests.support.canary_homes import hear_home
from tests.support.fork_server import ForkedProcess, create_forked_process
from tests.support.postgres_process import roomy_folder

MCPIST = Path(sys.executable).with_name("mcpist")
START_SECONDS = 60
PORTS = range(12_000, 32_000)
WORKERS = 8
"""Of one test run, at most, that have ports of their own."""
_TAKEN = deque[int](maxlen=1000)
"""Ports that were given out last: what was to listen there may not have begun."""
_LOGS = deque[Path](maxlen=20)


@functools.cache
def _migrated_home() -> Path:
    """A data folder as `mcpist migrate` leaves it, made once in a worker."""
    folder = _passable_folder()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    home = folder / "home"
    with ForkedProcess([str(MCPIST), "migrate"], env=environment(home, 1), stderr=subprocess.PIPE) as process:
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return home


def _passable_folder() -> Path:
    """A folder with a short path that PostgreSQL's user may pass through: not pytest's own, which is 0700."""
    folder = Path(tempfile.mkdtemp(prefix="mcpist-home-", dir=roomy_folder()))
    folder.chmod(0o755)
    return folder


def copy_migrated_home(home: Path) -> None:
    """Fill a new data folder with a database at the newest schema, which spares its first start two seconds."""
    source = _migrated_home()
    subprocess.run(["cp", "-a", str(source), str(home)], check=True)


@contextlib.contextmanager
def data_folder(*, migrated: bool = True) -> Generator[Path]:
    """A data folder that no product has used; without `migrated` it does not exist yet."""
    folder = _passable_folder()
    if migrated:
        copy_migrated_home(folder / "home")
    try:
        yield folder / "home"
        hear_home(folder / "home")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A loopback port that nobody listens on now, that no outgoing connection will be given meanwhile, and that no
    other worker of the run takes: another test's server would answer there."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    while True:
        port = random.choice(PORTS[worker::WORKERS])
        if port not in _TAKEN:
            with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
                _TAKEN.append(port)
                return port


@dataclass
class Product:
    """A product that has said that it is ready."""

    process: asyncio.subprocess.Process
    ready: dict[str, Any]
    home: Path
    port: int

    @property
    def url(self) -> str:
        return self.ready["mcp_url"]

    async def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        return await self.wait()

    async def wait(self) -> int:
        async with asyncio.timeout(START_SECONDS):
            return await self.process.wait()

    def postmaster(self) -> int:
        """The process id of its PostgreSQL."""
        found = next(self.home.glob("**/postmaster.pid"))
        return int(found.read_text().splitlines()[0])


def environment(home: Path, port: int, **more: str) -> dict[str, str]:
    """The environment of every process of a test's product."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MCPIST_")}
    generous = {"MCPIST_RATE_PER_SECOND": "100000", "MCPIST_RATE_BURST": "100000"}
    return {**kept, "MCPIST_HOME": str(home), "MCPIST_PORT": str(port), **generous, **more}


async def start(
    home: Path, port: int, *arguments: str, program: Sequence[str] = (str(MCPIST),), **variables: str
) -> Product:
    """Start `mcpist up --json` (or another command, or another program) and wait for its one line."""
    process = await create_forked_process(
        *program, *(arguments or ("up", "--json")), env=environment(home, port, **variables),
        stdout=asyncio.subprocess.PIPE, stderr=log_of(home), stdin=asyncio.subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(START_SECONDS):
        line = await process.stdout.readline()
    assert line, f"the product ended with {await process.wait()} before it was ready"
    return Product(process, read_ready(line), home, port)


def read_ready(line: bytes) -> dict[str, Any]:
    """The one line of a start as its reader has it: with what the file says that it names, which is deleted then."""
    SUITE.hear_output("the product's ready line", line)
    ready: dict[str, Any] = json.loads(line)
    if "first_access_file" in ready:
        path = Path(ready.pop("first_access_file"))
        assert path.stat().st_mode & 0o777 == 0o600
        text = path.read_bytes()
        SUITE.hear_output("the file of the first access", text)
        ready |= json.loads(text)
        path.unlink()
    return ready


def log_of(home: Path) -> int:
    """The product's log, beside its data folder; `MCPIST_TEST_LOG` names a file to keep it in."""
    path = Path(os.environ.get("MCPIST_TEST_LOG") or home.with_name("log"))
    if path not in _LOGS:
        _LOGS.append(path)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def find_logs() -> list[Path]:
    """The logs of the products that this process started last."""
    return list(_LOGS)


@contextlib.asynccontextmanager
async def running(home: Path, port: int | None = None, **variables: str) -> AsyncGenerator[Product]:
    """A product that is stopped at the end of the block, if it still runs."""
    product = await start(home, port or free_port(), **variables)
    try:
        yield product
    finally:
        if product.process.returncode is None:
            await product.end()


class Client:
    """One caller over one kept connection pool."""

    def __init__(self, url: str, token: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        self._session = session

    async def tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of one tools/call; raises aiohttp.ClientError for anything but a 200."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {**self._headers, "MCP-Protocol-Version": "2025-11-25"}
        async with self._session.post(self._url, json=message, headers=headers) as response:
            response.raise_for_status()
            return (await response.json())["result"]

    async def call(self, tool: str, **params: Any) -> dict[str, Any]:
        """Run a tool of the knowledge graph; its structured result.

        Raises:
            ToolFailed: an isError result.
        """
        result = await self.tool("call", {"module": "knowledge_graph", "tool_name": tool, "params": params})
        if result.get("isError"):
            raise ToolFailed(result["content"][0]["text"])
        return result["structuredContent"]


class ToolFailed(Exception):
    """A tool answered isError."""


@contextlib.asynccontextmanager
async def client(url: str, token: str) -> AsyncGenerator[Client]:
    """A client that gives every request ten seconds."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
        yield Client(url, token, session)


def hear_command(arguments: Sequence[str], out: bytes, err: bytes) -> None:
    """Tell the suite's canary what a command printed."""
    name = f"mcpist {' '.join(arguments[:2])}"
    SUITE.hear_output(f"standard output of {name}", out)
    SUITE.hear(f"standard error of {name}", err)


async def command(
    home: Path, port: int, *arguments: str, program: Sequence[str] = (str(MCPIST),), given: str = "", **variables: str
) -> Any:
    """Run another `mcpist` command with --json and `given` on its standard input; what it printed.

    Raises:
        AssertionError: it failed.
    """
    process = await create_forked_process(
        *program, *arguments, "--json", env=environment(home, port, **variables),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(START_SECONDS):
        out, err = await process.communicate(given.encode())
    hear_command(arguments, out, err)
    assert process.returncode == 0, (arguments, process.returncode, err.decode())
    return json.loads(out)
