"""Programs in a network of their own (Linux namespaces), which has a loopback interface and nothing else.

Some ports of that loopback lead to Unix sockets outside; to everything else there is no way. One port is a proxy that
refuses: programs are told to use it for the world, and it keeps whom they wanted to reach.

    async with no_network({8080: product_socket}) as place:
        run = await place.run([NODE, "agent.js"], environment, folder, seconds=60)
    assert place.wanted == []
"""

import asyncio
import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROXY_PORT = 9
_ROOT = Path(__file__).parents[2]
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 0x1
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Ended:
    """What a program left. `code` is None where it was ended after its time."""

    code: int | None
    out: str
    err: str


@dataclass(slots=True)
class NoNetwork:
    """A place without a network. `wanted` are the first lines that its proxy was sent."""

    sockets: Mapping[int, Path]
    wanted: list[str] = field(default_factory=list)

    async def run(self, command: Sequence[str], environment: Mapping[str, str], folder: Path, seconds: float) -> Ended:
        """Run a program to its end, and end all that it has started."""
        ports = [f"{port}={path}" for port, path in self.sockets.items()]
        inside = [sys.executable, "-m", "tests.support.without_network", str(folder), *ports, "--", *command]
        process = await asyncio.create_subprocess_exec(
            "unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", *inside,
            cwd=_ROOT, env={**proxies(), **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        said = asyncio.ensure_future(process.communicate())
        try:
            done, _ = await asyncio.wait({said}, timeout=seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        out, err = (part.decode(errors="replace") for part in await said)
        return Ended(process.returncode if done else None, out, err)


def proxies() -> dict[str, str]:
    """The variables by which programs are told to reach the world by the proxy, and loopback without it."""
    proxy, near = f"http://127.0.0.1:{PROXY_PORT}", "127.0.0.1,localhost"
    upper = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "ALL_PROXY": proxy, "NO_PROXY": near}
    return upper | {name.lower(): value for name, value in upper.items()}


def missing() -> str | None:
    """Why there are no such places on this machine, or None."""
    if shutil.which("unshare") is None:
        return "unshare (util-linux) is not installed"
    tried = subprocess.run(["unshare", "--map-root-user", "--net", "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else f"namespaces are not permitted: {tried.stderr.strip()}"


@contextlib.asynccontextmanager
async def no_network(sockets: Mapping[int, Path], folder: Path) -> AsyncIterator[NoNetwork]:
    """A place whose loopback has those ports."""
    path = folder / "proxy.sock"
    place = NoNetwork({**sockets, PROXY_PORT: path})

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place.wanted.append((await reader.readline()).decode(errors="replace").strip())
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_unix_server(refuse, path):
        yield place


@contextlib.asynccontextmanager
async def led_to(port: int, path: Path) -> AsyncIterator[None]:
    """A Unix socket that leads to a loopback port."""

    async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _joined((reader, writer), await asyncio.open_connection("127.0.0.1", port))

    async with await asyncio.start_unix_server(lead, path):
        yield


_Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _joined(one: _Ends, other: _Ends) -> None:
    """Carry bytes both ways until both are done, or the place is left."""
    try:
        # A server's task that ends as cancelled is written to stderr in full, into what the program has said.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(_carried(one[0], other[1]), _carried(other[0], one[1]))
    finally:
        one[1].close()
        other[1].close()


async def _carried(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


def _loopback_up() -> None:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP))


async def _inside(folder: str, sockets: Mapping[int, str], command: Sequence[str]) -> int:
    """What runs in the namespace: the ports, and the program."""
    _loopback_up()
    async with contextlib.AsyncExitStack() as stack:
        for port, path in sockets.items():

            async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str = path) -> None:
                await _joined((reader, writer), await asyncio.open_unix_connection(path))

            await stack.enter_async_context(await asyncio.start_server(lead, "127.0.0.1", port))
        process = await asyncio.create_subprocess_exec(*command, cwd=folder, preexec_fn=_die_with_parent)
        return await process.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _main(arguments: list[str]) -> Any:
    end = arguments.index("--")
    sockets = dict(one.split("=", 1) for one in arguments[1:end])
    return asyncio.run(_inside(arguments[0], {int(port): path for port, path in sockets.items()}, arguments[end + 1 :]))


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
