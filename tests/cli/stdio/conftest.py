"""A server that answers as it is told, and a relay on pipes in front of it."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from cli.stdio.lines import LineReader, LineWriter
from cli.stdio.relay import StdioRelay
from cli.stdio.upstream import FixedUpstream, Upstream, UpstreamEndpoint, create_http_session
from core.secret import Secret

DEADLINE = 10  # seconds
Answer = Callable[[web.Request, Any], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Server:
    """What it was sent, and how it answers: `answer` may be replaced."""

    url: str = ""
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answer: Answer | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append((dict(request.headers), body))
        assert self.answer is not None
        try:
            message = json.loads(body)
        except ValueError:
            message = None
        return await self.answer(request, message)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/mcp", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    yield made
    await runner.cleanup()


@dataclass(slots=True)
class Client:
    """The other ends of a relay's pipes."""

    to_relay: int
    from_relay: int
    relaying: "asyncio.Task[None]"
    _reader: LineReader

    def send(self, *messages: Any) -> None:
        for message in messages:
            data = message if isinstance(message, bytes) else json.dumps(message).encode()
            os.write(self.to_relay, data + b"\n")

    async def send_much(self, data: bytes) -> None:
        await asyncio.to_thread(_write_all, self.to_relay, data)

    async def receive(self) -> Any:
        async with asyncio.timeout(DEADLINE):
            line = await self._reader.read_line()
        return None if line is None else json.loads(line)

    async def end(self) -> None:
        """Close the input; the relay ends."""
        self.hang_up()
        async with asyncio.timeout(DEADLINE):
            await self.relaying

    def hang_up(self) -> None:
        if self.to_relay >= 0:
            os.close(self.to_relay)
            self.to_relay = -1  # the number may be somebody else's from now on


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


@pytest.fixture
async def connect() -> AsyncIterator[Callable[[Upstream | str], Awaitable[Client]]]:
    """``await connect(url or upstream)``: a client of a new relay."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(upstream: Upstream | str) -> Client:
            if isinstance(upstream, str):
                upstream = FixedUpstream(upstream, Secret("the-token"))
            session = await stack.enter_async_context(create_http_session("test"))
            (input_end, to_relay), (from_relay, output_end) = os.pipe(), os.pipe()
            lines, reader = LineReader(input_end), LineReader(from_relay, max_bytes=64 * 1024 * 1024)
            lines.start()
            reader.start()

            async def relay() -> None:
                try:
                    await StdioRelay(upstream, session, LineWriter(output_end)).run(lines)
                finally:
                    os.close(output_end)

            task = asyncio.create_task(relay())
            client = Client(to_relay, from_relay, task, reader)
            stack.push_async_callback(_closed, client)
            return client

        yield start


async def _closed(client: Client) -> None:
    client.hang_up()
    client.relaying.cancel()
    await asyncio.wait([client.relaying])
    async with asyncio.timeout(DEADLINE):
        while await client.receive() is not None:
            pass
    os.close(client.from_relay)


class Moving:
    """An upstream that knows another endpoint once the first is refused."""

    def __init__(self, *endpoints: UpstreamEndpoint) -> None:
        self._endpoints = list(endpoints)

    async def get_endpoint(self) -> UpstreamEndpoint:
        return self._endpoints[0]

    async def renew_endpoint(self, old: UpstreamEndpoint) -> UpstreamEndpoint:
        if len(self._endpoints) > 1 and old == self._endpoints[0]:
            del self._endpoints[0]
        return self._endpoints[0]
