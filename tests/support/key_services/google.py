"""A double of Google Cloud KMS, from the reference of cryptoKeys.encrypt and .decrypt (v1): it refuses what comes with
a wrong CRC32C or none, another token, or other additional data than what was encrypted with.
"""

import base64
import contextlib
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import google_crc32c
from aiohttp import web
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.support.key_services.serving import Faults, served

KEY = "projects/acme/locations/europe-west3/keyRings/mcpist/cryptoKeys/vault"
TOKEN = "ya29.made-up-for-tests"


@dataclass(slots=True)
class GoogleKms:
    """`versions` of the one key, the last of which is primary. `spoils` are parts of answers to be changed on the way
    back; `loses` makes it say that a checksum has not arrived."""

    versions: list[AESGCM] = field(default_factory=lambda: [AESGCM(secrets.token_bytes(32))])
    faults: Faults = field(default_factory=Faults)
    enabled: bool = True
    spoils: set[str] = field(default_factory=set)
    loses: bool = False
    url: str = ""

    async def handle(self, request: web.Request) -> web.Response:
        if (status := self.faults.take()) is not None:
            return web.json_response({"error": {"code": status, "status": "FAULT"}}, status=status)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _error(401, "UNAUTHENTICATED")
        name, _, what = request.path.removeprefix("/v1/").partition(":")
        if name != KEY:
            return _error(404, "NOT_FOUND")
        if not self.enabled:
            return _error(400, "FAILED_PRECONDITION")
        body = await request.json()
        return self._encrypted(body) if what == "encrypt" else self._decrypted(body)

    def _encrypted(self, body: dict[str, str]) -> web.Response:
        plain, context = _checked(body, "plaintext"), _checked(body, "additionalAuthenticatedData")
        if plain is None or context is None:
            return _error(400, "INVALID_ARGUMENT", "The checksum in a field did not match the data")
        number, nonce = len(self.versions), secrets.token_bytes(12)
        blob = bytes([number]) + nonce + self.versions[-1].encrypt(nonce, plain, context)
        answer: dict[str, Any] = {
            "name": f"{KEY}/cryptoKeyVersions/{number}",
            "ciphertext": base64.b64encode(blob).decode(),
            "ciphertextCrc32c": str(google_crc32c.value(blob)),
            "verifiedPlaintextCrc32c": not self.loses,
            "verifiedAdditionalAuthenticatedDataCrc32c": True,
            "protectionLevel": "SOFTWARE",
        }
        return web.json_response(self._spoiled(answer))

    def _decrypted(self, body: dict[str, str]) -> web.Response:
        blob, context = _checked(body, "ciphertext"), _checked(body, "additionalAuthenticatedData")
        if blob is None or context is None:
            return _error(400, "INVALID_ARGUMENT", "The checksum in a field did not match the data")
        try:
            plain = dict(enumerate(self.versions, start=1))[blob[0]].decrypt(blob[1:13], blob[13:], context)
        except (InvalidTag, KeyError, ValueError):
            return _error(400, "INVALID_ARGUMENT", "Decryption failed: verify that 'name' refers to the correct key.")
        answer: dict[str, Any] = {
            "plaintext": base64.b64encode(plain).decode(),
            "plaintextCrc32c": str(google_crc32c.value(plain)),
            "usedPrimary": blob[0] == len(self.versions),
            "protectionLevel": "SOFTWARE",
        }
        return web.json_response(self._spoiled(answer))

    def _spoiled(self, answer: dict[str, Any]) -> dict[str, Any]:
        for name in self.spoils & answer.keys():
            value = bytearray(base64.b64decode(answer[name]))
            value[-1] ^= 1
            answer[name] = base64.b64encode(value).decode()
        return answer


@contextlib.asynccontextmanager
async def google_kms() -> AsyncIterator[GoogleKms]:
    """The service, on loopback."""
    kms = GoogleKms()
    async with served(kms.handle) as url:
        kms.url = f"{url}/v1/"
        yield kms


async def token() -> str:
    """What google-auth would give."""
    return TOKEN


def _checked(body: dict[str, str], name: str) -> bytes | None:
    """The part, if its checksum is there and right. MCPist always sends one, so here it is demanded."""
    value = base64.b64decode(body[name])
    return value if body.get(f"{name}Crc32c") == str(google_crc32c.value(value)) else None


def _error(status: int, code: str, message: str = "") -> web.Response:
    return web.json_response({"error": {"code": status, "status": code, "message": message}}, status=status)
