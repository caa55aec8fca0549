"""As much of Raindrop.io as its module asks for, written from https://developer.raindrop.io."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class RaindropDouble:
    """The bookmarks of one account, newest first, and its one token."""

    token: str
    bookmarks: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def add(self, link: str, title: str = "", **more: Any) -> dict[str, Any]:
        created = "2026-01-31T12:00:00.000Z"
        number = len(self.bookmarks) + 1
        bookmark = {"_id": number, "link": link, "title": title, "tags": [], "note": "", "created": created, **more}
        self.bookmarks.insert(0, bookmark)
        return bookmark

    @web.middleware
    async def authenticate(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"result": False, "errorMessage": "Unauthorized"}, status=401)
        return await handler(request)

    async def get_user(self, request: web.Request) -> web.Response:
        return web.json_response({"result": True, "user": {"_id": 32, "fullName": "Ada"}})

    async def search(self, request: web.Request) -> web.Response:
        size, page = int(request.query["perpage"]), int(request.query["page"])
        assert size <= 50
        found = [one for one in self.bookmarks if request.query["search"].lower() in one["title"].lower()]
        rows = found[page * size : (page + 1) * size]
        return web.json_response({"result": True, "items": rows, "count": len(found)})

    async def get_bookmark(self, request: web.Request) -> web.Response:
        for one in self.bookmarks:
            if str(one["_id"]) == request.match_info["id"]:
                return web.json_response({"result": True, "item": one})
        return web.json_response({"result": False, "errorMessage": "Not found"}, status=404)

    async def save(self, request: web.Request) -> web.Response:
        body = await request.json()
        if "refused" in body["link"]:
            return web.json_response({"result": False, "errorMessage": "Incorrect link"})
        return web.json_response({"result": True, "item": self.add(**body)})


@contextlib.asynccontextmanager
async def raindrop_double(token: str) -> AsyncIterator[RaindropDouble]:
    """The service while the block lasts."""
    double = RaindropDouble(token)
    app = web.Application(middlewares=[double.authenticate])
    app.router.add_get("/rest/v1/user", double.get_user)
    app.router.add_get("/rest/v1/raindrops/0", double.search)
    app.router.add_get("/rest/v1/raindrop/{id}", double.get_bookmark)
    app.router.add_post("/rest/v1/raindrop", double.save)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        double.url = f"http://127.0.0.1:{runner.addresses[0][1]}/rest/v1"
        yield double
    finally:
        await runner.cleanup()
