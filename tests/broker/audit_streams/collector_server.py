"""A log collector: an HTTP server of its own, which checks the signature of each request as a receiver would."""

import asyncio
import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

RAW_SECRET = b"0123456789abcdef0123456789abcdef"
SECRET = "whsec_" + base64.b64encode(RAW_SECRET).decode()


@dataclass
class CollectorServer:
    """`status` is what it answers; `gate` holds it back; `taken` are records that it answered with 2xx."""

    status: int = 200
    requests: list[tuple[dict[str, str], list[dict[str, Any]]]] = field(default_factory=list)
    taken: list[dict[str, Any]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    max_records: int = 10_000
    port: int = 0
    _runner: Any = None

    async def __aenter__(self) -> Self:
        self.gate.set()
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.router.add_post("/logs", self._take)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await self._listen(self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.gate.set()
        await self._runner.cleanup()

    async def _listen(self, port: int) -> None:
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/logs"

    @property
    def numbers(self) -> list[int]:
        """Numbers of the records in the order in which they were taken first."""
        return list(dict.fromkeys(record["seq"] for record in self.taken))

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        signed = b".".join(
            (request.headers["webhook-id"].encode(), request.headers["webhook-timestamp"].encode(), body)
        )
        expected = "v1," + base64.b64encode(hmac.digest(RAW_SECRET, signed, hashlib.sha256)).decode()
        assert request.headers["webhook-signature"] == expected
        assert body.endswith(b"\n")
        records = [json.loads(line) for line in body.splitlines()]
        self.requests.append((dict(request.headers), records))
        self.arrived.set()
        await self.gate.wait()
        status = 413 if len(records) > self.max_records else self.status
        if 200 <= status < 300:
            self.taken += [record for record in records if record["kind"] != "mcpist.test"]
        return web.Response(status=status, text="text of a stranger", headers={"Location": "http://127.0.0.1:1/"})
