"""The stream on which a handshake client hears that an account is connected: to whom, how many, and until when."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from tests.path.shop_app import ShopApp, people
from tests.support.mcp_client import MODERN
from tests.support.product import ACTOR, Node, Person

CALL = {"name": "call", "arguments": {"module": "shop", "tool_name": "look", "params": {"what": "tea"}}}
SESSION = {"mcp-session-id": "url-0123456789abcdef"}


@dataclass
class Stream:
    """One GET, as its client sees it."""

    status: int = 0
    sent: list[bytes] = field(default_factory=list[bytes])
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    reading: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.reading.set()

    def stall(self) -> None:
        """Read no more."""
        self.reading.clear()

    async def receive(self) -> dict[str, Any]:
        await self.leaving.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        await self.reading.wait()
        self.sent.append(message["body"])
        self.opened.set()
        if not message.get("more_body"):
            self.over.set()

    @property
    def messages(self) -> list[dict[str, Any]]:
        lines = [line[6:] for line in b"".join(self.sent).splitlines() if line.startswith(b"data: ")]
        return [orjson.loads(line) for line in lines]

    @property
    def told(self) -> list[str]:
        return [one["params"]["elicitationId"] for one in self.messages if "elicitationId" in one["params"]]


def scope(token: str, **headers: str) -> dict[str, Any]:
    fields = {"host": "127.0.0.1:8080", "accept": "text/event-stream", "authorization": f"Bearer {token}", **headers}
    raw = [(name.encode(), value.encode()) for name, value in fields.items()]
    asked = {"type": "http", "method": "GET", "path": "/mcp", "raw_path": b"/mcp", "query_string": b"", "headers": raw}
    return asked | {"client": ("127.0.0.1", 5000), "server": ("127.0.0.1", 8080)}


@contextlib.asynccontextmanager
async def listening(
    node: Node, token: str, headers: dict[str, str] | None = None, *, query: bytes = b""
) -> AsyncIterator[Stream]:
    stream = Stream()
    given = SESSION if headers is None else headers
    asked = scope(token, **given) | {"query_string": query}
    task = asyncio.ensure_future(node.gateway.app(asked, stream.receive, stream.send))
    try:
        async with asyncio.timeout(10):
            await stream.opened.wait()
        yield stream
    finally:
        stream.leaving.set()
        async with asyncio.timeout(10):
            await task


async def elicitation_id(app: ShopApp, person: Person) -> str:
    answer = await app.node.post(person.token, "tools/call", CALL, headers=SESSION)
    return answer.message["error"]["data"]["elicitations"][0]["elicitationId"]


async def test_who_was_asked_hears_of_it_and_nobody_else(app: ShopApp) -> None:
    ada, eve = await people(app)
    expected = await elicitation_id(app, ada)
    async with listening(app.node, ada.token) as hers, listening(app.node, eve.token) as others:
        await app.add(ada, "adas-token-0123456789")
        async with asyncio.timeout(2):
            while not hers.told:
                await asyncio.sleep(0.01)
        assert hers.told == [expected]
        assert others.told == []


async def test_a_revoked_token_ends_its_stream_within_a_second(app: ShopApp) -> None:
    ada, eve = await people(app)
    async with listening(app.node, ada.token) as hers, listening(app.node, eve.token) as others:
        await app.product.tokens.revoke(ACTOR, ada.tenant.id, ada.token_id)
        async with asyncio.timeout(2):
            await hers.over.wait()
        assert not others.over.is_set()


async def test_streams_end_when_the_process_stops(app: ShopApp) -> None:
    ada, _ = await people(app)
    async with listening(app.node, ada.token) as stream:
        app.node.gateway.endpoint.end_streams()
        async with asyncio.timeout(2):
            await stream.over.wait()


async def test_no_stream_stays_open_for_longer_than_it_may(app: ShopApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client opens the next one by itself."""
    monkeypatch.setattr("gateway.streams.stream_hub.TICK_SECONDS", 0.02)
    monkeypatch.setattr("gateway.streams.client_streams.MAX_STREAM_SECONDS", 0.1)
    ada, _ = await people(app)
    async with listening(app.node, ada.token) as stream:
        async with asyncio.timeout(10):
            await stream.over.wait()
        assert stream.status == 200
    async with listening(app.node, ada.token) as again:
        assert again.status == 200


async def test_every_handshake_client_finds_a_stream(app: ShopApp) -> None:
    ada, _ = await people(app)
    for headers in ({}, {"mcp-session-id": "another-server-s"}, {"mcp-protocol-version": "2025-03-26"}):
        async with listening(app.node, ada.token, headers) as stream:
            assert stream.status == 200


@pytest.mark.parametrize(
    "headers", [{"mcp-protocol-version": "2026-07-28"}, {"mcp-protocol-version": "x"}, {"accept": "text/html"}]
)
async def test_others_find_none(app: ShopApp, headers: dict[str, str]) -> None:
    ada, _ = await people(app)
    async with listening(app.node, ada.token, headers) as stream:
        assert stream.status == 405


async def test_without_a_credential_there_is_none(app: ShopApp) -> None:
    await people(app)
    async with listening(app.node, "mcpist_made-up") as stream:
        assert stream.status == 401


async def test_all_together_are_bounded(app: ShopApp) -> None:
    ada, eve = await people(app)
    async with (
        app.product.gateway(streams=1) as node,
        listening(node, ada.token),
        listening(node, eve.token) as second,
    ):
        assert second.status == 429
        wanted = {"notifications": {"promptsListChanged": True}}
        refused = await node.post(eve.token, "subscriptions/listen", wanted, revision=MODERN)
        assert (refused.status, refused.header("retry-after")) == (429, "15")
        assert refused.message["error"]["code"] == -32000
        assert refused.message["error"]["data"] == {"retryAfterSeconds": 15}


@pytest.mark.guarantee("G17")
async def test_one_tenant_leaves_streams_for_others(app: ShopApp) -> None:
    ada, eve = await people(app)
    async with (
        app.product.gateway(streams=3, streams_per_tenant=1) as node,
        listening(node, ada.token),
        listening(node, (await app.product.with_token(ada)).token) as second,
        listening(node, eve.token) as others,
    ):
        assert (second.status, others.status) == (429, 200)


@pytest.mark.guarantee("G17")
async def test_one_credential_has_so_many_and_no_more(app: ShopApp) -> None:
    ada, eve = await people(app)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(8):
            assert (await stack.enter_async_context(listening(app.node, ada.token))).status == 200
        assert (await stack.enter_async_context(listening(app.node, ada.token))).status == 429
        assert (await stack.enter_async_context(listening(app.node, eve.token))).status == 200
    async with listening(app.node, ada.token) as again:
        assert again.status == 200
