"""Sealing what is kept for a while in the database: results, arguments and results of jobs (decisions-2.md, E2).

A copy of the database must not show them. Their keys are derived from the deployment's digest key, which all gateways
and workers share, and never from the vault's: whoever opens a record has no way to a credential.

Format 1: ``0x01 | nonce (12) | ciphertext and tag`` by AES-256-GCM. The plaintext begins with a byte that says whether
the rest is compressed (zlib). The key is HKDF-SHA256 (RFC 5869) of the deployment's key and the handle's key, for one
tenant, kind and record; the same three are the associated data.
"""

import os
import zlib
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.errors import MCPistError
from core.secret import Secret

HANDLE_KEY_BYTES = 16
"""Of a key that a record's handle carries: 128 random bits."""

_FORMAT = b"\x01"
_LABEL = b"mcpist.sealed-record.1"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_PLAIN, _COMPRESSED = b"\x00", b"\x01"
_LEAST_COMPRESSED_BYTES = 200  # below, the header of zlib outweighs what it saves
_COMPRESSION_LEVEL = 1  # a third of the time of level 6, and JSON becomes nearly as small


class UnreadableRecord(MCPistError):
    """The record was sealed for another place, with another key, or was changed; they cannot be told apart."""

    def __init__(self) -> None:
        super().__init__("what was kept cannot be opened: it was changed, or the deployment has another key now")


class RecordSealer:
    """Seals records with keys that are derived from `key`, the deployment's digest key.

    Both ways take time linear in the size, 10 ms for a megabyte: a caller on the event loop uses a thread for much.
    """

    def __init__(self, key: Secret) -> None:
        self._key = key

    def seal(self, tenant_id: UUID, kind: str, record_id: UUID, plaintext: bytes, handle_key: bytes = b"") -> bytes:
        """Seal the record of this `kind`. With a `handle_key` nobody without it can open the record: neither a copy of
        the database nor the deployment's key is enough."""
        place = _build_place(tenant_id, kind, record_id)
        nonce = os.urandom(_NONCE_BYTES)
        return _FORMAT + nonce + self._derive_key(place, handle_key).encrypt(nonce, _compress(plaintext), place)

    def open(self, tenant_id: UUID, kind: str, record_id: UUID, sealed: bytes, handle_key: bytes = b"") -> bytes:
        """Open a sealed record.

        Raises:
            UnreadableRecord: it was sealed for another place or with another key, or was changed.
        """
        if len(sealed) <= len(_FORMAT) + _NONCE_BYTES + _TAG_BYTES or not sealed.startswith(_FORMAT):
            raise UnreadableRecord
        place = _build_place(tenant_id, kind, record_id)
        nonce, ciphertext = sealed[len(_FORMAT) :][:_NONCE_BYTES], sealed[len(_FORMAT) + _NONCE_BYTES :]
        try:
            content = self._derive_key(place, handle_key).decrypt(nonce, ciphertext, place)
        except InvalidTag:
            raise UnreadableRecord from None
        return zlib.decompress(content[1:]) if content.startswith(_COMPRESSED) else content[1:]

    def _derive_key(self, place: bytes, handle_key: bytes) -> AESGCM:
        secrets = _join_length_prefixed(self._key.reveal().encode(), handle_key)
        return AESGCM(HKDF(SHA256(), _KEY_BYTES, salt=None, info=place).derive(secrets))


def _build_place(tenant_id: UUID, kind: str, record_id: UUID) -> bytes:
    return _join_length_prefixed(_LABEL, tenant_id.bytes, kind.encode(), record_id.bytes)


def _join_length_prefixed(*parts: bytes) -> bytes:
    """Each part after its length (4 bytes, big-endian): no other parts give the same bytes."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _compress(plaintext: bytes) -> bytes:
    if len(plaintext) >= _LEAST_COMPRESSED_BYTES:
        compressed = zlib.compress(plaintext, _COMPRESSION_LEVEL)
        if len(compressed) < len(plaintext):
            return _COMPRESSED + compressed
    return _PLAIN + plaintext
