"""A GitHub in a thread of its own, so that its work is not measured, that inflates its answers on demand."""

import asyncio
import base64
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from tests.stalls.values import repeated
from tests.support.github_double import GitHubDouble
from tests.support.vendor_contract import contract

KEPT = frozenset({"type", "encoding", "state", "status", "event"})
TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"


@dataclass
class HostileGitHub:
    """Answers as GitHub would, each text replaced by so many of `unit` that all together have `size` bytes; or `raw`,
    whatever is asked."""

    double: GitHubDouble = field(default_factory=lambda: GitHubDouble(contract("github")))
    unit: str = ""
    size: int = 0
    raw: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.raw:
            return self._answer(self.raw)
        answer = await self.double.handle(request)
        assert isinstance(answer, web.Response)
        body = answer.body
        if not self.unit or not isinstance(body, bytes) or not body:
            return answer
        return self._answer(orjson.dumps(inflated(orjson.loads(body), self.unit, self.size)), dict(answer.headers))

    def _answer(self, body: bytes, headers: dict[str, str] | None = None) -> web.Response:
        kept = {name: value for name, value in (headers or {}).items() if not name.startswith("Content-")}
        return web.Response(
            status=self.status, body=body, headers={**kept, **self.headers}, content_type="application/json"
        )


def inflated(value: Any, unit: str, size: int, key: str = "") -> Any:
    """Lists become a hundred items, texts share the size; a file's content stays base64."""
    if isinstance(value, dict):
        share = size // max(1, len(value))
        return {name: inflated(inner, unit, share, name) for name, inner in value.items()}
    if isinstance(value, list):
        items = (value * 100)[:100]
        return [inflated(one, unit, size // max(1, len(items)), key) for one in items]
    if not isinstance(value, str) or key in KEPT:
        return value
    if key == "content":
        return base64.b64encode(repeated(unit, size).encode()).decode()
    return repeated(unit, size)


@contextlib.contextmanager
def hostile_github() -> Iterator[HostileGitHub]:
    github = HostileGitHub()
    ready, over = threading.Event(), threading.Event()

    async def serve() -> None:
        app = web.Application(client_max_size=8 << 20)
        app.router.add_route("*", "/{anything:.*}", github.handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        github.double.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        while not over.is_set():
            await asyncio.sleep(0.05)
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="hostile GitHub")
    thread.start()
    try:
        assert ready.wait(10)
        yield github
    finally:
        over.set()
        thread.join(10)
