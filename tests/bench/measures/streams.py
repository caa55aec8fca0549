"""ST: open streams of clients: memory of each, and the time in which all of them are told of something.

Every 50 streams come from a loopback address of their own, every 10 from a credential of their own, every 1,000 from a
user of their own. A burst is told when the last stream has it; it begins in the moment in which the database is told.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import asyncpg

from core.directory.audit_trail import Actor
from core.directory.services import set_service
from core.directory.users import create_user
from server.operator_context import OperatorContext, open_operator_context
from tests.bench.lab import Lab, Product
from tests.bench.processes import cpu_seconds, pss_mib, wait_until_idle
from tests.bench.product import unlimited
from tests.bench.report import Result, Row

ACTOR = Actor("bench")
OF_ADDRESS, OF_TOKEN, OF_USER = 50, 10, 1_000
OPENING_AT_ONCE = 100
QUIET_SECONDS = 30.0
PATIENCE = 120.0
_ROLES = """SELECT r.name FROM core.role_assignments a
    JOIN core.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id WHERE a.user_id = $1"""
URI = "resource://bench/watched"


def measure(lab: Lab) -> list[Result]:
    """On a product of its own, of one tenant."""
    return asyncio.run(_measure(lab, lab.new_product("streams")))


async def _measure(lab: Lab, product: Product) -> list[Result]:
    settings = unlimited(product.home, product.port, product.upstream)
    async with open_operator_context(settings, lambda _text: None) as operating:
        admin: Any = await asyncpg.connect(**operating.deployment.admin.connect_args())
        try:
            return await _measure_bursts(lab, product, operating, admin)
        finally:
            await admin.close()


async def _measure_bursts(lab: Lab, product: Product, operating: OperatorContext, admin: Any) -> list[Result]:
    user = await admin.fetchrow("SELECT tenant_id, id FROM core.users WHERE email = 'admin@localhost'")
    assert user is not None
    tenant_id, count = user["tenant_id"], lab.options.streams
    roles = tuple(row["name"] for row in await admin.fetch(_ROLES, user["id"]))
    users = [
        await create_user(
            operating.console,
            ACTOR,
            tenant_id,
            f"streams{number}@bench.test",
            roles=roles,
        )
        for number in range(-(-count // OF_USER))
    ]
    tokens = [await _make_token(operating, tenant_id, users[first // OF_USER]) for first in range(0, count, OF_TOKEN)]
    for token in tokens:
        await _subscribe(product, token)
    wait_until_idle([product.pid], 30)
    before = pss_mib([product.pid])
    streams = await _open_streams(lab, product, tokens, count)
    wait_until_idle([product.pid], 30)
    added = (pss_mib([product.pid]) - before) * 1024 / count
    lab.progress(f"{count} streams: {added:.1f} KiB each")
    cpu, began = cpu_seconds([product.pid]), time.monotonic()
    await asyncio.sleep(2.0 if lab.options.quick else QUIET_SECONDS)
    quiet = (cpu_seconds([product.pid]) - cpu) * 1e3 / (time.monotonic() - began)

    async def change_resource() -> None:
        await admin.execute("SELECT pg_notify('mcpist_resource', $1)", f'["{tenant_id}",null,["{URI}"]]')

    async def change_service() -> None:
        await set_service(operating.console, ACTOR, tenant_id, "bench", enabled=False)

    cpu = cpu_seconds([product.pid])
    updates = await _burst(streams, b"resources/updated", change_resource)
    each = (cpu_seconds([product.pid]) - cpu) * 1e6 / count
    cpu = cpu_seconds([product.pid])
    lists = await _burst(streams, b"resources/list_changed", change_service)
    each_list = (cpu_seconds([product.pid]) - cpu) * 1e6 / count
    for stream in streams:
        stream.close()
    rows = (
        Row("ST", f"PSS added by each of {count} open streams", "KiB", (added,), 20, 10, more_is_better=False),
        Row("ST", "CPU of the quiet streams", "ms/s", (quiet,)),
        Row("ST", f"a changed resource told on {count} streams", "s", (updates,), 2, 1, more_is_better=False),
        Row("ST", "CPU of that for one stream", "µs", (each,)),
        Row("ST", f"changed lists told on them, {len(tokens)} credentials", "s", (lists,), 2, 1, more_is_better=False),
        Row("ST", "CPU of that for one stream, the embedded database not counted", "µs", (each_list,)),
    )
    return [Result(rows)]


async def _make_token(operating: OperatorContext, tenant_id: UUID, user_id: UUID) -> str:
    _, token = await operating.tokens.create(ACTOR, tenant_id, user_id, "streams")
    return token.reveal()


class _StreamClient(asyncio.Protocol):
    """One stream, of which what came last is kept."""

    def __init__(self, head: bytes) -> None:
        self._head = head
        self._received = b""
        self._waited: bytes = b": listening"
        self._came: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._head)

    def data_received(self, data: bytes) -> None:
        self._received = self._received[-200:] + data
        if self._waited in self._received and not self._came.done():
            self._came.set_result(None)

    def wait_for(self, text: bytes) -> "asyncio.Future[None]":
        """Wait until a text comes; what came before does not count."""
        self._received, self._waited = b"", text
        self._came = asyncio.get_running_loop().create_future()
        return self._came

    @property
    def opened(self) -> "asyncio.Future[None]":
        return self._came

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


async def _open_streams(lab: Lab, product: Product, tokens: list[str], count: int) -> list[_StreamClient]:
    loop, streams = asyncio.get_running_loop(), list[_StreamClient]()
    for first in range(0, count, OPENING_AT_ONCE):
        opening = [
            _open(loop, product, tokens[n // OF_TOKEN], n) for n in range(first, min(count, first + OPENING_AT_ONCE))
        ]
        made = await asyncio.gather(*opening)
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(stream.opened for stream in made))
        streams += made
        if not len(streams) % 1_000:
            lab.progress(f"{len(streams)} streams are open")
    return streams


async def _open(loop: asyncio.AbstractEventLoop, product: Product, token: str, number: int) -> _StreamClient:
    group = number // OF_ADDRESS
    head = (
        f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{product.port}\r\nAccept: text/event-stream\r\n"
        f"Authorization: Bearer {token}\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n"
    )
    local = (f"127.1.{group // 200}.{group % 200 + 1}", 0)
    made: Callable[[], _StreamClient] = lambda: _StreamClient(head.encode())  # noqa: E731
    _, stream = await loop.create_connection(made, "127.0.0.1", product.port, local_addr=local)
    return stream


async def _burst(streams: list[_StreamClient], text: bytes, change: Callable[[], Awaitable[None]]) -> float:
    """How many seconds pass from a change until every stream was told."""
    told = [stream.wait_for(text) for stream in streams]
    began = time.monotonic()
    await change()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*told)
    return time.monotonic() - began


async def _subscribe(product: Product, token: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", product.port)
    body = b'{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"%b"}}' % URI.encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{product.port}\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Type: application/json\r\nAuthorization: Bearer {token}\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    if b'"result":{}' not in answer:
        raise RuntimeError(answer.decode()[-500:])
