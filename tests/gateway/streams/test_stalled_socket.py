"""A client on a real socket that reads no more: it is ended within the stall limit, what waits for it is bounded, and
others are told meanwhile as if it were not there."""

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

import pytest

from core.caller import Caller
from gateway.mcp.errors import ClientDisconnected
from gateway.mcp.transport_context import TransportContext
from gateway.streams.client_streams import RequestConnection
from gateway.streams.open_stream import ClientNotification, OpenStream
from gateway.streams.stream_hub import StreamHub
from tests.gateway.streams.test_news import CALLER
from tests.path.stream_app import until
from tests.support.http_server import served

PIECE = "x" * 100_000
STALL_SECONDS = 0.5


class Flood:
    """A source that always has 100 kB to tell."""

    is_over = False

    def __init__(self) -> None:
        self.taken = 0

    def is_ready(self, caller: Caller) -> bool:
        return True

    async def look_up(self, caller: Caller) -> None:
        raise AssertionError

    def take_news(self, caller: Caller) -> Sequence[ClientNotification]:
        self.taken += 1
        return [ClientNotification("notifications/message", {"data": PIECE})]


async def test_who_reads_no_more_is_ended_and_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.streams.stream_hub.STALL_SECONDS", STALL_SECONDS)
    monkeypatch.setattr("gateway.streams.stream_hub.PAUSE_SECONDS", 0)
    hub = StreamHub(lambda _caller: True, max_streams=9, max_per_credential=9)
    floods, ended = list[Flood](), list[float]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def verify(_request: TransportContext) -> Caller:
            return CALLER

        direct = scope["extensions"]["mcpist.direct"]
        request = TransportContext("r", send, direct, scope=scope, receive=receive, verify=verify)
        flood = Flood()
        stream = OpenStream(CALLER, RequestConnection(request), (flood,), asyncio.get_running_loop().time() + 60)
        with hub.register(stream):
            await request.start(200, b"text/event-stream")
            await request.send_chunk(b": listening\n\n")
            floods.append(flood)
            try:
                await hub.hold(stream, receive)
            except ClientDisconnected:
                ended.append(asyncio.get_running_loop().time())

    async with served(app) as (_, port):
        stalled = socket.create_connection(("127.0.0.1", port))
        stalled.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: floods, 5)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await until(lambda: len(floods) == 2, 5)
        slow, quick = floods
        read = 0
        async with asyncio.timeout(20):
            while not ended or quick.taken < 10:
                read += len(await reader.read(2**20))
                hub.wake_all()
        assert read > 10 * len(PIECE)
        assert slow.taken * len(PIECE) < 20 * 2**20, "more than the system's own buffers was taken for it"
        assert len(hub) == 1
        stalled.close()
        writer.close()
        hub.close()
