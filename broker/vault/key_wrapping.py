"""Key-encryption keys: what their keepers have in common, and keys that are held in memory.

Every tenant's data keys, and the keys that sign access tokens, are stored wrapped by one of these keys, which never lie
in the database.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from broker.vault.envelope import NONCE_BYTES, DecryptionError
from broker.vault.key_file import load_or_create
from core.errors import Unavailable

CHECK_LABEL = b"mcpist.vault.key-check.1:"


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


class InMemoryKeyProvider:
    """Keys held in memory. Implements :class:`KeyProvider`; a wrapped key is ``nonce (12) | ciphertext and tag``."""

    def __init__(self, active: str, keys: Mapping[str, bytes]) -> None:
        self._active = active
        self._keys = dict(keys)

    @classmethod
    def from_file(cls, path: Path) -> "InMemoryKeyProvider":
        """The keys of a key file as it is now; a missing file is made with one fresh key.

        Raises:
            core.errors.Invalid: the file can be read by others, or is damaged.
        """
        file = load_or_create(path)
        return cls(file.active, file.keys)

    async def get_active_id(self) -> str:
        return self._active

    @property
    def kek_ids(self) -> frozenset[str]:
        return frozenset(self._keys)

    def has(self, kek_id: str) -> bool:
        return kek_id in self._keys

    async def wrap(self, plain: bytes, context: bytes) -> WrappedKey:
        if self._active not in self._keys:
            raise KeyMissing(self._active)
        nonce = os.urandom(NONCE_BYTES)
        return WrappedKey(self._active, nonce + AESGCM(self._keys[self._active]).encrypt(nonce, plain, context))

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        if kek_id not in self._keys:
            raise KeyMissing(kek_id)
        try:
            return AESGCM(self._keys[kek_id]).decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], context)
        except (InvalidTag, ValueError):
            raise DecryptionError from None

    def compute_check_value(self, kek_id: str) -> bytes:
        return hmac.digest(self._keys[kek_id], CHECK_LABEL + kek_id.encode(), hashlib.sha256)

    async def find_problem(self) -> str:
        return ""
