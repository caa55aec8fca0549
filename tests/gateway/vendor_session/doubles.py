"""A vendor that speaks HTTP by hand, so that it can also speak it wrongly, slowly or not at all."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

Script = Callable[["Exchange"], Awaitable[None]]


@dataclass(slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int


@dataclass(slots=True)
class Exchange:
    """One request and the way to answer it."""

    request: Request
    writer: asyncio.StreamWriter

    def send(self, status: int = 200, body: bytes = b"{}", **headers: str) -> None:
        """A whole answer; header names are written with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named.setdefault("content-length", str(len(body)))
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        self.writer.write(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode("latin-1"))
        if self.request.method != "HEAD":
            self.writer.write(body)

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    def hang_up(self) -> None:
        self.writer.transport.abort()


def answering(status: int = 200, body: bytes = b"{}", **headers: str) -> Script:
    async def answer(exchange: Exchange) -> None:
        exchange.send(status, body, **headers)

    return answer


async def hanging_up(exchange: Exchange) -> None:
    exchange.hang_up()


async def silent(_exchange: Exchange) -> None:
    await asyncio.Event().wait()


@dataclass(slots=True)
class RawVendor:
    """Plays its scripts in turn, the last for ever. `port` is a loopback port; `accepted` counts connections."""

    scripts: list[Script] = field(default_factory=lambda: [answering()])
    requests: list[Request] = field(default_factory=list[Request])
    tls: ssl.SSLContext | None = None
    accepted: int = 0
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.accepted += 1
        number = self.accepted
        try:
            while (request := await _read(reader, number)) is not None:
                self.requests.append(request)
                script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
                await script(Exchange(request, writer))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client or the test has gone
        finally:
            self._tasks.discard(task)
            writer.close()


async def _read(reader: asyncio.StreamReader, connection: int) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body, connection)
