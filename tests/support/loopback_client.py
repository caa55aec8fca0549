"""An OAuth client on this computer: it opens a port, sends a browser to us, and hears what the browser brings back."""

import base64
import contextlib
import hashlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

PATH = "/callback"


@dataclass(slots=True)
class LoopbackClient:
    """It listens at `origin`; `answers` are the parameters of every answer, in order."""

    origin: str
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    state: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    answers: list[dict[str, str]] = field(default_factory=list)

    @property
    def redirect_uri(self) -> str:
        return self.origin + PATH

    def authorize(self, issuer: str, client_id: str, *, scope: str = "mcp:read mcp:write", **more: str) -> str:
        """Where it sends the browser."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": self.redirect_uri,
            "scope": scope,
            "state": self.state,
            "resource": f"{issuer}/mcp",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            **more,
        }
        return f"{issuer}/oauth/authorize?{urlencode(asked)}"

    def redemption(self, code: str, client_id: str) -> dict[str, str]:
        """The form that turns a code into tokens."""
        return {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": client_id,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
        }


@contextlib.asynccontextmanager
async def loopback_client() -> AsyncIterator[LoopbackClient]:
    """Listen on a port of this machine until the block is left."""
    client = LoopbackClient("")

    async def heard(request: web.Request) -> web.Response:
        client.answers.append(dict(request.query))
        return web.Response(text="<!doctype html><title>Done</title><p>You may close this", content_type="text/html")

    app = web.Application()
    app.router.add_get(PATH, heard)
    app.router.add_get("/favicon.ico", _nothing)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        listening: Any = runner.addresses[0]
        client.origin = f"http://127.0.0.1:{listening[1]}"
        yield client
    finally:
        await runner.cleanup()


async def _nothing(request: web.Request) -> web.Response:
    return web.Response(status=204)
