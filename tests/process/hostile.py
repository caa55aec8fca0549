"""Hostile peers of a running gateway: clients that drip or go away, huge and deep requests, a vendor of bombs."""

import asyncio
import contextlib
import json
import math
import statistics
import sys
import time
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.support.eventually import within

ROOT = Path(__file__).resolve().parents[2]
MEBIBYTE = 1 << 20


def make_bomb() -> bytes:
    """Make 64 MiB in 64 KiB."""
    return zlib.compress(bytes(1 << 26), 9, wbits=31)


@dataclass(frozen=True, slots=True)
class Pulse:
    """How long health checks took, in seconds; beside them a server that does nothing, on the same machine; and how
    many times longer than alone the machine let work take."""

    health: list[float]
    idle: list[float]
    slow: list[float]

    @property
    def delay(self) -> float:
        """The 99th percentile of health, without what the machine itself makes everybody wait."""
        return (p99(self.health) - p99(self.idle)) / max(1.0, statistics.median(self.slow))


def p99(times: list[float]) -> float:
    return sorted(times)[math.ceil(0.99 * len(times)) - 1]


async def pulse(port: int, until: Awaitable[None]) -> Pulse:
    """Check the health of what listens there while `until` runs, from a process of its own: tests/process/pulse.py."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.process.pulse", str(port), cwd=ROOT, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        await process.stdout.readline()
        await until
        told, _ = await process.communicate(b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Pulse(**json.loads(told))


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


OF_ONE_ADDRESS = 200
"""Fewer than one address may have open."""


async def connect(port: int, number: int) -> Connection:
    """A connection from one of this machine's addresses: the first 200 from one, the next 200 from another."""
    address = (f"127.0.1.{number // OF_ONE_ADDRESS + 1}", 0)
    return await asyncio.open_connection("127.0.0.1", port, local_addr=address)


@contextlib.asynccontextmanager
async def connections(port: int, count: int, first: bytes = b"") -> AsyncGenerator[list[Connection]]:
    """So many, each of which has sent `first`; at the end they are gone without a word."""
    made: list[Connection] = []
    try:
        for number in range(count):
            reader, writer = await connect(port, number)
            made.append((reader, writer))
            writer.write(first)
        yield made
    finally:
        for _, writer in made:
            writer.transport.abort()
        await asyncio.sleep(0)  # until then they count as open


async def drip(made: list[Connection], seconds: float) -> int:
    """Send one byte a second on each, for so long or until the server has closed all; how many it has closed."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        for _, writer in made:
            if not writer.is_closing():
                writer.write(b"x")
        await asyncio.sleep(1)  # the attack's own pace
        if closed(made) == len(made):
            break
    return closed(made)


def closed(made: list[Connection]) -> int:
    return sum(reader.at_eof() or writer.is_closing() or reader.exception() is not None for reader, writer in made)


async def settles_below(pid: int, most: float, seconds: float = 30) -> int:
    """Wait until the process holds at most so many bytes; how many it holds."""
    process = psutil.Process(pid)

    async def small() -> bool:
        return process.memory_info().rss <= most

    try:
        await within(seconds, small)
    except (TimeoutError, AssertionError):
        raise AssertionError(f"{process.memory_info().rss >> 20} MiB are held, not {int(most) >> 20}") from None
    return process.memory_info().rss


@contextlib.asynccontextmanager
async def watched(pid: int) -> AsyncGenerator[Callable[[], int]]:
    """The most memory that the process held while the block lasted, looked at every 20 ms."""
    process, most, over = psutil.Process(pid), 0, asyncio.Event()

    async def look() -> None:
        nonlocal most
        while not over.is_set():
            most = max(most, process.memory_info().rss)
            await asyncio.sleep(0.02)

    looking = asyncio.create_task(look())
    try:
        yield lambda: most
    finally:
        over.set()
        await looking


async def at_once(count: int, parallel: int, one: Callable[[], Awaitable[int]]) -> dict[int, int]:
    """Run `one` so often; how often it answered what."""
    turns, told = asyncio.Semaphore(parallel), dict[int, int]()

    async def turn() -> None:
        async with turns:
            answer = await one()
            told[answer] = told.get(answer, 0) + 1

    await asyncio.gather(*(turn() for _ in range(count)))
    return told


async def sent(port: int, request: bytes) -> int:
    """The status of the answer to a request, 0 where the connection was closed before one."""
    async with connections(port, 1, request) as made:
        ((reader, _),) = made
        async with asyncio.timeout(30):
            try:
                return int((await reader.readline()).split()[1])
            except (IndexError, ConnectionError):
                return 0


TOO_LARGE = b'"' + b"x" * (4 * MEBIBYTE - 1) + b'"'
"""One byte more than a request may have."""

DEEP = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 2_000_000
WIDE = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[' + b"{}," * 1_000_000 + b"{}]}}"
