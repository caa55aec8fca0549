"""Sealing one field of one row (threat-model.md §3.1): AES-256-GCM under a tenant's data key.

Format 1, frozen: ``0x01 | id of the data key (16) | nonce (12) | ciphertext and tag``. What a blob is bound to goes
in as associated data, so that it opens in its own row, field, version, tenant and deployment and nowhere else.
"""

import os
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from core.errors import MCPistError

FORMAT = b"\x01"
LABEL = "mcpist.vault.1"
NONCE_BYTES = 12
HEADER_BYTES = len(FORMAT) + 16 + NONCE_BYTES
OVERHEAD_BYTES = HEADER_BYTES + 16
KEY_BYTES = 32


class DecryptionError(MCPistError):
    """The blob was sealed for another place or was changed; the two cannot be told apart."""

    def __init__(self) -> None:
        super().__init__("a secret in the vault was changed in the database and cannot be opened; store it again")


@dataclass(frozen=True, slots=True)
class CiphertextContext:
    """Place of a secret: tenant, table, row and version.

    `version` is the row's, so that an earlier ciphertext cannot be put back.
    """

    table: str
    row_id: UUID
    field: str
    version: int

    def build_associated_data(self, deployment_id: UUID, tenant_id: UUID) -> bytes:
        """The associated data of this place."""
        return join_length_prefixed(
            LABEL.encode(),
            deployment_id.bytes,
            tenant_id.bytes,
            self.table.encode(),
            self.row_id.bytes,
            self.field.encode(),
            self.version.to_bytes(8, "big"),
        )


def join_length_prefixed(*parts: bytes) -> bytes:
    """Each part after its length (4 bytes, big-endian): no other parts give the same bytes."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def encrypt_blob(key: AESGCM, dek_id: UUID, plain: bytes, context: bytes) -> bytes:
    """Encrypt `plain` as a blob of format 1, under a fresh random nonce.

    Raises:
        ValueError: `plain` is empty.
    """
    if not plain:
        raise ValueError("the plaintext is empty")
    nonce = os.urandom(NONCE_BYTES)
    return FORMAT + dek_id.bytes + nonce + key.encrypt(nonce, plain, context)


def read_dek_id(blob: bytes) -> UUID:
    """The data key that a blob names.

    Raises:
        Unreadable: it is no blob of a known format. There is no other way to read it.
    """
    if len(blob) <= OVERHEAD_BYTES or not blob.startswith(FORMAT):
        raise DecryptionError
    return UUID(bytes=blob[1:17])


def decrypt_blob(key: AESGCM, blob: bytes, context: bytes) -> bytes:
    """Decrypt and verify a sealed blob.

    Raises:
        Unreadable: a bit was changed, or the blob belongs elsewhere.
    """
    read_dek_id(blob)
    try:
        return key.decrypt(blob[17:HEADER_BYTES], blob[HEADER_BYTES:], context)
    except InvalidTag:
        raise DecryptionError from None
