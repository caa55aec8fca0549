"""A double of HashiCorp Vault's transit engine, from its API documentation: one AEAD key with versions, associated data
that has to be the same, a token that has to be right, and the errors that it gives.
"""

import base64
import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from aiohttp import web
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.support.key_services.serving import Faults, served


@dataclass(slots=True)
class Transit:
    """`versions` of the key ``transit/mcpist``; those below `least` decrypt no more."""

    versions: list[AESGCM] = field(default_factory=lambda: [AESGCM(secrets.token_bytes(32))])
    token: str = "hvs.made-up-for-tests"
    least: int = 1
    faults: Faults = field(default_factory=Faults)
    url: str = ""

    def rotate(self) -> None:
        self.versions.append(AESGCM(secrets.token_bytes(32)))

    async def handle(self, request: web.Request) -> web.Response:
        if (status := self.faults.take()) is not None:
            return _errors(status, "made to fail")
        if request.headers.get("X-Vault-Token") != self.token:
            return _errors(403, "permission denied")
        body = await request.json()
        if request.path == "/v1/transit/encrypt/mcpist":
            return self._encrypted(body)
        if request.path == "/v1/transit/decrypt/mcpist":
            return self._decrypted(body)
        return _errors(404, "no handler for route")

    def _encrypted(self, body: dict[str, str]) -> web.Response:
        nonce, context = secrets.token_bytes(12), base64.b64decode(body["associated_data"])
        blob = nonce + self.versions[-1].encrypt(nonce, base64.b64decode(body["plaintext"]), context)
        number = len(self.versions)
        text = f"vault:v{number}:{base64.b64encode(blob).decode()}"
        return web.json_response({"data": {"ciphertext": text, "key_version": number}})

    def _decrypted(self, body: dict[str, str]) -> web.Response:
        _, version, text = body["ciphertext"].split(":")
        number, blob = int(version[1:]), base64.b64decode(text)
        if number < self.least:
            return _errors(400, "ciphertext or signature version is disallowed by policy (too old)")
        if number > len(self.versions):
            return _errors(400, "invalid ciphertext: version is too new")
        try:
            context = base64.b64decode(body["associated_data"])
            plain = self.versions[number - 1].decrypt(blob[:12], blob[12:], context)
        except InvalidTag:
            return _errors(400, "cipher: message authentication failed")
        return web.json_response({"data": {"plaintext": base64.b64encode(plain).decode()}})


@contextlib.asynccontextmanager
async def transit() -> AsyncIterator[Transit]:
    """The engine, on loopback; its `url` is what MCPIST_KEYS would name."""
    made = Transit()
    async with served(made.handle) as url:
        made.url = f"{url}/transit/mcpist"
        yield made


def _errors(status: int, text: str) -> web.Response:
    return web.json_response({"errors": [text]}, status=status)
