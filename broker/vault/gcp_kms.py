"""Keys in Google Cloud KMS (cryptoKeys.encrypt and .decrypt), with additional authenticated data and CRC32C checks
both ways, as the service's guidelines on data integrity ask for.

Credentials are found by google-auth: workload identity, the machine's service account, a file.
"""

import asyncio
import base64
import importlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from broker.vault.envelope import DecryptionError, WrappedKey
from broker.vault.kms import KmsDenied, KmsHttpClient, KmsResponse, KmsThrottled, KmsUnreachable
from core.errors import Invalid

SCHEME = "gcp-kms:"
ENDPOINT = "https://cloudkms.googleapis.com/v1/"
SCOPE = "https://www.googleapis.com/auth/cloudkms"
VERSIONS_PATH = "/cryptoKeyVersions/"

TokenSource = Callable[[], Awaitable[str]]
"""An access token that is still good for a while."""


class GcpKms:
    """One key of Google Cloud KMS, by its resource name. Implements :class:`broker.vault.kms.KmsClient`.

    For tests: another `endpoint`, and a `token` that is none of Google's.
    """

    def __init__(self, key: str, *, endpoint: str = ENDPOINT, token: TokenSource | None = None) -> None:
        """Raises:
        Invalid: google-auth or google-crc32c is not installed.
        """
        self._key = key
        self._endpoint = endpoint
        self._token = token or _DefaultCredentials().get_token
        self._crc32c: Callable[[bytes], int] = _import_library("google_crc32c").value
        self._http = KmsHttpClient()

    @property
    def title(self) -> str:
        return "Google Cloud KMS"

    def owns(self, kek_id: str) -> bool:
        return kek_id.startswith(SCHEME + self._key + VERSIONS_PATH)

    async def encrypt(self, plain: bytes, context: bytes) -> WrappedKey:
        answer = await self._call(
            "encrypt", {**self._encode_with_checksum("plaintext", plain), **self._encode_context(context)}
        )
        blob, version = self._decode_checked(answer, "ciphertext"), str(answer.get("name", ""))
        whole = answer.get("verifiedPlaintextCrc32c") and answer.get("verifiedAdditionalAuthenticatedDataCrc32c")
        if not whole or not self.owns(SCHEME + version):
            raise KmsUnreachable  # something was changed on the way there: to be tried again
        return WrappedKey(SCHEME + version, blob)

    async def decrypt(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """The service finds the version in what was wrapped."""
        answer = await self._call(
            "decrypt", {**self._encode_with_checksum("ciphertext", wrapped), **self._encode_context(context)}
        )
        return self._decode_checked(answer, "plaintext")

    async def close(self) -> None:
        """Do nothing: every question has a connection of its own."""

    def _encode_with_checksum(self, name: str, value: bytes) -> dict[str, str]:
        return {name: base64.b64encode(value).decode(), f"{name}Crc32c": str(self._crc32c(value))}

    def _encode_context(self, context: bytes) -> dict[str, str]:
        return self._encode_with_checksum("additionalAuthenticatedData", context)

    def _decode_checked(self, answer: Mapping[str, Any], name: str) -> bytes:
        try:
            value = base64.b64decode(answer[name], validate=True)
            whole = int(answer[f"{name}Crc32c"]) == self._crc32c(value)
        except (KeyError, ValueError, TypeError):
            raise KmsUnreachable from None
        if not whole:
            raise KmsUnreachable  # changed on the way back
        return value

    async def _call(self, what: str, document: Mapping[str, str]) -> Mapping[str, Any]:
        headers = {"Authorization": f"Bearer {await self._token()}"}
        answer = await self._http.post(f"{self._endpoint}{self._key}:{what}", headers, document)
        if answer.status == 200:
            return answer.body
        raise self._classify_error(answer, what)

    def _classify_error(self, answer: KmsResponse, what: str) -> Exception:
        if answer.status == 429:
            return KmsThrottled()
        if answer.status >= 500:
            return KmsUnreachable()
        if answer.status == 400 and "checksum" in _read_error_field(answer, "message"):
            return KmsUnreachable()  # changed on the way there
        if answer.status == 400 and what == "decrypt" and _read_error_field(answer, "status") == "INVALID_ARGUMENT":
            return DecryptionError()
        texts = {
            400: "the key is disabled or destroyed there, or is none for encryption",
            401: "the credentials of this machine count no more",
            403: "this machine's account may not use it (roles/cloudkms.cryptoKeyEncrypterDecrypter)",
            404: "there is no such key",
        }.get(answer.status, f"it answers {answer.status}")
        return KmsDenied(f"Google Cloud KMS refuses the vault's key {self._key}: {texts}")


class _DefaultCredentials:
    """Google's application default credentials; the library blocks, so it is asked on a thread."""

    def __init__(self) -> None:
        self._auth = _import_library("google.auth")
        quiet = logging.getLogger("google")  # at DEBUG it may log tokens
        quiet.setLevel(max(logging.INFO, quiet.getEffectiveLevel()))
        self._transport = _import_library("google.auth.transport.requests")
        self._found: Any = None
        self._turn = asyncio.Lock()

    async def get_token(self) -> str:
        async with self._turn:
            if self._found is None or not self._found.valid:
                self._found = await asyncio.to_thread(self._refresh_credentials, self._found)
            return str(self._found.token)

    def _refresh_credentials(self, credentials: Any) -> Any:
        errors = _import_library("google.auth.exceptions")
        try:
            if credentials is None:
                credentials, _ = self._auth.default(scopes=[SCOPE])
            credentials.refresh(self._transport.Request())
        except errors.DefaultCredentialsError:
            raise KmsDenied("no credentials for Google Cloud KMS: give this machine a service account") from None
        except errors.GoogleAuthError:
            raise KmsUnreachable from None
        return credentials


def _read_error_field(answer: KmsResponse, name: str) -> str:
    error: Any = answer.body.get("error")
    return str(error.get(name, "")) if isinstance(error, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def _import_library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Invalid("keys in Google Cloud KMS need more packages: pip install 'mcpist[gcp]'") from None
