"""What docs/split.md asks of a load balancer: people's and OAuth clients' paths go to the broker, all else to gateways.

An HTTP proxy without affinity or memory. The next answer of the broker can be lost on its way.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from yarl import URL

BROKER_PATHS = (
    "/oauth/",
    "/sign-in",
    "/sign-out",
    "/signed-out",
    "/login",
    "/register",
    "/account",
    "/docs",
    "/connect",
    "/api/",
    "/scim/",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
)
_OF_ONE_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "content-length", "expect"})


@dataclass(slots=True)
class Front:
    """It runs; `lose` answers of the broker do not arrive."""

    http: aiohttp.ClientSession
    broker: int
    gateways: int
    lose: int = 0
    lost: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        is_broker_s = request.path.startswith(BROKER_PATHS)
        url = URL(f"http://127.0.0.1:{self.broker if is_broker_s else self.gateways}{request.raw_path}", encoded=True)
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _OF_ONE_HOP]
        body = await request.read()
        try:
            async with self.http.request(
                request.method, url, headers=headers, data=body or None, allow_redirects=False
            ) as found:
                if is_broker_s and self.lose:
                    await found.read()
                    self.lose, self.lost = self.lose - 1, self.lost + 1
                    return _broken(request)
                return await _passed_on(request, found)
        except aiohttp.ClientConnectorError:
            return web.Response(status=502)
        except (aiohttp.ClientError, ConnectionError):
            return _broken(request)


async def _passed_on(request: web.Request, found: aiohttp.ClientResponse) -> web.StreamResponse:
    answer = web.StreamResponse(status=found.status)
    for name, value in found.headers.items():
        if name.lower() not in _OF_ONE_HOP:
            answer.headers.add(name, value)
    await answer.prepare(request)
    async for part in found.content.iter_any():
        await answer.write(part)
    await answer.write_eof()
    return answer


def _broken(request: web.Request) -> web.StreamResponse:
    """The client's connection ends without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response(status=502)


@contextlib.asynccontextmanager
async def front(port: int, *, broker: int, gateways: int) -> AsyncIterator[Front]:
    """Listen on a loopback port for as long as the block lasts; `broker` and `gateways` are loopback ports."""
    connector = aiohttp.TCPConnector(force_close=True)  # a kept connection would stay with one gateway
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
    ) as http:
        made = Front(http, broker, gateways)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", made.handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
            yield made
        finally:
            await runner.cleanup()
