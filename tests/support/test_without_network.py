"""A place without a network has none, and tells who wanted to leave it."""

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path

import pytest

from tests.support.eventually import within
from tests.support.without_network import Ended, led_to, missing, no_network

TRIES = """
import json, socket, sys, urllib.request
def reach(address):
    try:
        with socket.create_connection(address, timeout=5) as there:
            return there.recv(100).decode()
    except OSError as error:
        return type(error).__name__
def ask(url):
    try:
        return urllib.request.urlopen(url, timeout=5).status
    except OSError as error:
        return str(error)
print(json.dumps([reach((host, int(port))) for host, port in (pair.rsplit(":", 1) for pair in sys.argv[2:])]))
print(ask(sys.argv[1]))
"""

LONG = f"1000.{os.getpid()}"  # seconds, and nobody else's

pytestmark = pytest.mark.skipif(missing() is not None, reason=f"NO NAMESPACES HERE: {missing()}")


async def tried(folder: Path, port: int, *addresses: str, url: str) -> tuple[Ended, list[str]]:
    sockets = {port: folder / "there.sock"}
    async with led_to(port, sockets[port]), no_network(sockets, folder) as place:
        ended = await place.run([sys.executable, "-c", TRIES, url, *addresses], {"PATH": "/usr/bin"}, folder, 30)
    return ended, place.wanted


async def test_only_the_ports_that_were_given_are_there(tmp_path: Path) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as open_one:
        port = open_one.sockets[0].getsockname()[1]
        async with await asyncio.start_server(greet, "127.0.0.1", 0) as other:
            hidden = other.sockets[0].getsockname()[1]
            addresses = f"127.0.0.1:{port}", f"127.0.0.1:{hidden}", "192.0.2.1:443", "example.com:443"
            ended, wanted = await tried(tmp_path, port, *addresses, url="https://example.com/who")
    assert ended.code == 0, ended
    reached, asked = ended.out.splitlines()
    assert json.loads(reached) == ["hello", "ConnectionRefusedError", "OSError", "gaierror"]
    assert "403" in asked
    assert [line.split(" HTTP/")[0] for line in wanted] == ["CONNECT example.com:443"]


async def test_a_program_that_goes_on_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "begun"
    script = f"(exec sleep {LONG}) & touch {mark}; exec sleep {LONG}"

    async def gone() -> bool:
        return running(LONG) == 0

    async with no_network({}, tmp_path) as place:
        ended = await place.run(["/bin/sh", "-c", script], {"PATH": "/usr/bin:/bin"}, tmp_path, 2)
    assert ended.code is None
    assert mark.exists()
    await within(5, gone)


def running(argument: str) -> int:
    """How many programs of this machine have that argument."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += argument.encode() in path.read_bytes().split(b"\0")
    return found
