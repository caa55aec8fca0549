"""A vendor of embeddings, as far as a trial of a key goes: an HTTP server of its own.

As the vendors describe it: a key that is not known gets 401, at OpenAI with a part of the key in the text
(https://platform.openai.com/docs/guides/error-codes, https://docs.voyageai.com/docs/error-codes).
"""

from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from broker.tenant_keys.key_kinds import KeyProbe, TenantKeyKind, TenantKeyKinds


@dataclass
class EmbeddingVendor:
    """`keys` are those that it knows; `status` is what it answers to them."""

    keys: set[str] = field(default_factory=set)
    status: int = 200
    asked: list[Any] = field(default_factory=list)
    port: int = 0
    _runner: Any = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/v1/embeddings", self._embed)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def kinds(self) -> TenantKeyKinds:
        """The product's kinds, of which those that are tried are tried here; and one that is not tried."""
        here = f"http://{self.host}"
        kinds = [
            TenantKeyKind(
                one.name,
                one.title,
                one.prefixes,
                (here,),
                one.manage_url,
                one.probe and KeyProbe(f"{here}/v1/embeddings", one.probe.body),
            )
            for one in TenantKeyKinds().list()
        ]
        return TenantKeyKinds([*kinds, TenantKeyKind("pigeon", "Pigeon Post", (), (here,), f"{here}/keys")])

    async def _embed(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.asked.append(asked)
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if key not in self.keys:
            text = f"Incorrect API key provided: {key}."
            return web.json_response({"error": {"message": text, "code": "invalid_api_key"}}, status=401)
        if self.status != 200:
            return web.json_response({"detail": f"not for {key}"}, status=self.status)
        assert set(asked) == {"model", "input"}
        data = [{"object": "embedding", "index": n, "embedding": [0.6, 0.8]} for n, _ in enumerate(asked["input"])]
        return web.json_response({"object": "list", "data": data, "model": asked["model"], "usage": {}})
