"""Keys in the transit engine of HashiCorp Vault (and of OpenBao), bound by `associated_data`.

The version that has encrypted stands in the answer (``vault:v3:…``) and is part of the key's id here, so a rotation
there is seen here, and `mcpist keys rewrap` ends at the newest version.
"""

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from broker.vault.envelope import DecryptionError, WrappedKey
from broker.vault.kms import KmsDenied, KmsHttpClient, KmsResponse, KmsThrottled, KmsUnreachable

SCHEME = "vault-transit:"
MAX_TOKEN_BYTES = 4096

_CIPHERTEXT = re.compile(r"vault:v([1-9][0-9]{0,9}):[A-Za-z0-9+/]+={0,2}")


class VaultTransit:
    """One key, by ``https://host:8200/mount/key``. Implements :class:`broker.vault.kms.KmsClient`.

    The token is read from a file each time, as Vault's agent renews it there; without the file none is sent, for an
    agent on this machine that adds its own.
    """

    def __init__(self, url: str, token_file: Path) -> None:
        parts = urlsplit(url)
        mount, _, self._key = parts.path.strip("/").rpartition("/")
        self._mount = f"{parts.scheme}://{parts.netloc}/v1/{mount}"
        self._name = f"{SCHEME}{mount}/{self._key}"
        self._token_file = token_file
        self._http = KmsHttpClient()

    @property
    def title(self) -> str:
        return "HashiCorp Vault"

    def owns(self, kek_id: str) -> bool:
        name, _, version = kek_id.rpartition(":v")
        return name == self._name and version.isdecimal()

    async def encrypt(self, plain: bytes, context: bytes) -> WrappedKey:
        data = await self._call(
            "encrypt", {"plaintext": _encode_base64(plain), "associated_data": _encode_base64(context)}
        )
        match = _CIPHERTEXT.fullmatch(str(data.get("ciphertext", "")))
        if match is None:
            raise KmsUnreachable
        return WrappedKey(f"{self._name}:v{match[1]}", match[0].encode())

    async def decrypt(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        match = _CIPHERTEXT.fullmatch(wrapped.decode("ascii", "replace"))
        if match is None or kek_id != f"{self._name}:v{match[1]}":
            raise DecryptionError
        data = await self._call("decrypt", {"ciphertext": match[0], "associated_data": _encode_base64(context)})
        try:
            return base64.b64decode(data["plaintext"], validate=True)
        except (KeyError, ValueError, TypeError):
            raise KmsUnreachable from None

    async def close(self) -> None:
        """Do nothing: every question has a connection of its own."""

    async def _call(self, what: str, document: Mapping[str, str]) -> Mapping[str, Any]:
        answer = await self._http.post(f"{self._mount}/{what}/{self._key}", self._build_headers(), document)
        data: Any = answer.body.get("data")
        if answer.status == 200 and isinstance(data, dict):
            return data  # pyright: ignore[reportUnknownVariableType]
        raise self._classify_error(answer, what)

    def _build_headers(self) -> dict[str, str]:
        # X-Vault-Request is what an agent may demand against forged requests.
        headers = {"X-Vault-Request": "true"}
        try:
            with self._token_file.open() as file:
                token = file.read(MAX_TOKEN_BYTES).strip()
        except FileNotFoundError:
            return headers
        except OSError:
            raise KmsDenied(f"{self._token_file} with HashiCorp Vault's token cannot be read") from None
        return {**headers, "X-Vault-Token": token}

    def _classify_error(self, answer: KmsResponse, what: str) -> Exception:
        if answer.status == 429:
            return KmsThrottled()
        if answer.status >= 500 or answer.status in (200, 412, 472, 473):
            return KmsUnreachable()  # sealed, starting, a standby
        errors = str(answer.body.get("errors", ""))
        if answer.status == 400 and what == "decrypt" and "authentication failed" in errors:
            return DecryptionError()
        texts = {
            400: "the key is missing there, too old to decrypt, or of a type other than aes256-gcm96",
            403: f"its token may not use it, or counts no more; see {self._token_file}",
            404: "nothing is mounted there",
        }.get(answer.status, f"it answers {answer.status}")
        return KmsDenied(f"HashiCorp Vault refuses the vault's key {self._name.removeprefix(SCHEME)}: {texts}")


def _encode_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
