"""Sealing one field of one row (threat-model.md §3.1): AES-256-GCM under a tenant's data key.

Format 1, frozen: ``0x01 | id of the data key (16) | nonce (12) | ciphertext and tag``. What a blob is bound to goes
in as associated data, so that it opens in its own row, field, version, tenant and deployment and nowhere else.
"""

import os
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from core.errors import MCPistError, Unavailable

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


class KeyMissing(Unavailable):
    """A key that the database names is not at hand. The stored secrets are fine; the operator has to bring the key."""

    def __init__(self, kek_id: str) -> None:
        super().__init__(f"the vault's key {kek_id} is missing; restore it from your copy of the keys")


@dataclass(frozen=True, slots=True, repr=False)
class WrappedKey:
    """Wrapped key material, with the id of the key that wrapped it."""

    kek_id: str
    blob: bytes


class KeyProvider(Protocol):
    """Provider of key-encryption keys: a file, or a key management service."""

    async def get_active_id(self) -> str:
        """The key that new data keys are wrapped with.

        Raises:
            core.errors.Unavailable: the keeper cannot be asked now.
        """
        ...

    @property
    def kek_ids(self) -> frozenset[str]:
        """The keys that are known by name. A key service opens others too: see `has`."""
        ...

    def has(self, kek_id: str) -> bool:
        """Check whether this provider can unwrap material of that key."""
        ...

    async def wrap(self, plain: bytes, context: bytes) -> WrappedKey:
        """Wrap `plain` under the active key, bound to `context`.

        Raises:
            core.errors.Unavailable: the keeper cannot be asked now.
        """
        ...

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Unwrap key material.

        Raises:
            KeyMissing: the key is not at hand.
            Unreadable: it was wrapped by another key or for another context, or was changed.
            core.errors.Unavailable: the keeper cannot be asked now.
        """
        ...

    def compute_check_value(self, kek_id: str) -> bytes:
        """Compute 32 bytes that tell this key from another of the same id and reveal nothing else."""
        ...

    async def find_problem(self) -> str:
        """Describe for the operator why keys cannot be used now; empty if they can."""
        ...


class TenantSealer:
    """Seals for one tenant without a word to the database or the keys' keeper: for what must not be lost on its way
    into them. Use it at once, and for the few fields of one row."""

    def __init__(self, key: AESGCM, dek_id: UUID, deployment_id: UUID, tenant_id: UUID) -> None:
        self._key = key
        self._dek_id = dek_id
        self._deployment_id = deployment_id
        self._tenant_id = tenant_id

    def seal(self, place: CiphertextContext, plain: bytes) -> bytes:
        """`plain` encrypted for one place of the tenant's rows."""
        return encrypt_blob(
            self._key, self._dek_id, plain, place.build_associated_data(self._deployment_id, self._tenant_id)
        )
