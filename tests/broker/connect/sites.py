"""A vendor's list of the sites that a grant covers, as Atlassian has one."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class Sites:
    """What it answers, to whoever shows a token."""

    url: str = ""
    found: list[dict[str, Any]] = field(default_factory=list)

    async def serve(self, request: web.Request) -> web.Response:
        if not request.headers.get("Authorization", "").startswith("Bearer "):
            return web.json_response({}, status=401)
        return web.json_response(self.found)


@contextlib.asynccontextmanager
async def sites(port: int = 0) -> AsyncIterator[Sites]:
    made = Sites()
    app = web.Application()
    app.router.add_get("/sites", made.serve)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/sites"
    try:
        yield made
    finally:
        await runner.cleanup()
