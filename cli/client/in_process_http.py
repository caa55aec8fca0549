"""HTTP to an application in this process: the same requests and answers as over a socket, without one."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import httpx2
import orjson

from cli.client.server_http import ServerResponse
from core.secret import Secret

if TYPE_CHECKING:
    from starlette.types import ASGIApp


class InProcessHttp:
    """Implements :class:`cli.client.admin_api.HttpSender` for a synchronous caller in another thread than `loop`, which
    the application's database belongs to."""

    def __init__(self, app: "ASGIApp", base_url: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app), base_url=base_url, timeout=None, trust_env=False
        )

    def send(
        self,
        method: str,
        url: str,
        *,
        body: Any = None,
        bearer: Secret | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ServerResponse:
        """Send one request and wait for its answer."""
        sent = {**(headers or {}), **({} if bearer is None else {"Authorization": f"Bearer {bearer.reveal()}"})}
        content = None if body is None else orjson.dumps(body, default=str)
        if content is not None:
            sent["Content-Type"] = "application/json"
        response = asyncio.run_coroutine_threadsafe(
            self._client.request(method, url, content=content, headers=sent), self._loop
        ).result()
        return ServerResponse(url, response.status_code, response.content)
