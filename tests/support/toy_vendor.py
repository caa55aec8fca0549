"""A vendor on loopback that knows one token at a time, and a module for it."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated

from aiohttp import web
from pydantic import BaseModel, Field

from modules.kit import AccountRequest, Context, Hints, Module, VendorApi, tool

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=True)
WRITES = Hints(read_only=False, destructive=False, idempotent=False, open_world=True)


class Seen(BaseModel):
    """What the vendor said."""

    said: str


@tool(hints=READS, scopes=["shop:read"])
async def look(context: Context, what: Annotated[str, Field(description="What to look at", max_length=100)]) -> Seen:
    """Look at something in the shop."""
    answer = await context.vendor.request("GET", "/look", query={"what": what})
    return Seen(said=answer.json()["said"])


@tool(hints=WRITES, scopes=["shop:write"])
async def buy(context: Context, what: Annotated[str, Field(description="What to buy", max_length=100)]) -> Seen:
    """Buy something in the shop."""
    answer = await context.vendor.request("POST", "/buy", json={"what": what})
    return Seen(said=answer.json()["said"])


def shop_module(base_url: str) -> Module:
    """The module ``shop``, whose vendor is at `base_url`."""
    api = VendorApi(base_url=base_url, account=AccountRequest("/me", name="/name"))
    scopes = frozenset({"shop:read", "shop:write"})
    return Module("shop", "Shop", "Look and buy in a shop.", scopes, (look, buy), vendor=api)


@dataclass
class Shop:
    """The vendor: who may come in, and what was asked of it with which token."""

    tokens: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    stray: int = 0
    """How many of the next requests get a 401 for no reason."""

    bomb: bytes = b""
    """What every answer's body is, packed by gzip, if anything."""

    refusal: tuple[int, dict[str, str]] | None = None
    """Status and headers of every answer to those whom it knows, if any."""

    link: str = ""
    """Where every answer to those whom it knows points, if anywhere."""

    says_twice: bool = False
    """Whether every answer comes a second time, a moment later and unasked."""

    delay: float = 0.0
    """Seconds that every answer takes."""

    resume: asyncio.Event | None = None
    """Until it is set, answers wait, where it is there."""

    together: Counter[str] = field(default_factory=Counter[str])
    """The most requests for a path that stood open at the same time; those of whom has gone do not count."""

    _open: dict[str, list[web.Request]] = field(default_factory=dict[str, list[web.Request]])

    host: str = ""
    url: str = ""
    _said: list[asyncio.Task[None]] = field(default_factory=list)

    async def all_said(self) -> None:
        """Wait until every answer has come a second time."""
        await asyncio.gather(*self._said)

    async def _say_again(self, request: web.Request, body: bytes) -> None:
        await asyncio.sleep(0.02)  # by then the connection rests
        if request.transport is not None:
            request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _serve(self, request: web.Request) -> web.Response:
        open_here = self._open.setdefault(request.path, [])
        open_here.append(request)
        alive = sum(one.transport is not None and not one.transport.is_closing() for one in open_here)
        self.together[request.path] = max(self.together[request.path], alive)
        try:
            return await self._answer(request)
        finally:
            open_here.remove(request)

    async def _answer(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.asked.append((token, f"{request.method} {request.path}"))
        name = self.tokens.get(token)
        if self.resume is not None:
            await self.resume.wait()
        await asyncio.sleep(self.delay)
        self.stray -= 1
        if name is None or self.stray >= 0:
            return web.json_response({"secret": "a vendor's own words"}, status=401)
        if self.refusal is not None:
            return web.json_response(
                {"secret": "a vendor's own words"}, status=self.refusal[0], headers=self.refusal[1]
            )
        if self.link:
            return web.Response(status=302, headers={"Location": self.link})
        if self.bomb:
            packed = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
            return web.Response(body=self.bomb, headers=packed)
        answer = web.json_response({"name": name, "said": f"{name}: {request.query.get('what', 'bought')}"})
        if self.says_twice and isinstance(answer.body, bytes):
            self._said.append(asyncio.create_task(self._say_again(request, answer.body)))
        return answer


@contextlib.asynccontextmanager
async def shop() -> AsyncIterator[Shop]:
    """The vendor while the block lasts."""
    vendor = Shop()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", vendor._serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    vendor.host, vendor.url = f"127.0.0.1:{port}", f"http://127.0.0.1:{port}"
    try:
        yield vendor
    finally:
        await runner.cleanup()
