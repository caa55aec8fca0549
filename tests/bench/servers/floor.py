"""The reference of budgets.md: a bare proxy, Starlette and aiohttp, that checks a bearer token and passes on.

/mcp goes to the upstream's /now, /slow to its /later.
"""

import argparse
import contextlib
from collections.abc import AsyncGenerator

import aiohttp
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.bench.servers.bearer import allowed
from tests.bench.servers.serving import serve


class Proxy:
    """Passes bodies on unread."""

    def __init__(self, upstream: int) -> None:
        self._base = f"http://127.0.0.1:{upstream}"

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncGenerator[None]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256)) as self._session:
            yield

    async def now(self, request: Request) -> Response:
        return await self._pass_on(request, "/now")

    async def later(self, request: Request) -> Response:
        return await self._pass_on(request, "/later")

    async def _pass_on(self, request: Request, path: str) -> Response:
        if not allowed(request.headers.get("authorization", "")):
            return Response(status_code=401)
        async with self._session.post(self._base + path, data=await request.body()) as answer:
            return Response(await answer.read(), answer.status, media_type=answer.content_type)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--upstream", type=int, required=True)
    proxy = Proxy(parser.parse_args().upstream)
    routes = [Route("/mcp", proxy.now, methods=["POST"]), Route("/slow", proxy.later, methods=["POST"])]
    serve(Starlette(routes=routes, lifespan=proxy.lifespan))


if __name__ == "__main__":
    main()
