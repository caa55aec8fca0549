"""Key-encryption keys: the interface of their keepers, the local key file, the check that they are the right ones.

Every tenant's data keys are stored wrapped by one of these keys, which never lie in the database.
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

from broker.vault.envelope import NONCE, Unreadable
from broker.vault.key_file import load_or_create
from core.db import Database, UnitOfWork
from core.errors import Invalid, Unavailable

CHECK_LABEL = b"mcpist.vault.key-check.1:"


class KeyMissing(Unavailable):
    """A key that the database names is not at hand. The stored secrets are fine; the operator has to bring the key."""

    def __init__(self, kek_id: str) -> None:
        super().__init__(f"the vault's key {kek_id} is missing; restore it from your copy of the keys")


class KeyProvider(Protocol):
    """A keeper of key-encryption keys: a file, or a key management service."""

    @property
    def kek_id(self) -> str:
        """The key that new data keys are wrapped with."""
        ...

    @property
    def kek_ids(self) -> frozenset[str]:
        """Every key that can unwrap."""
        ...

    async def wrap(self, plain: bytes, context: bytes) -> bytes:
        """`plain` under the active key, bound to `context`."""
        ...

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """What was wrapped.

        Raises:
            KeyMissing: the key is not at hand.
            Unreadable: it was wrapped by another key or for another context, or was changed.
        """
        ...

    def check(self, kek_id: str) -> bytes:
        """32 bytes that tell this key from another of the same id, and nothing else about it."""
        ...

    async def health(self) -> bool:
        """Whether keys can be used now."""
        ...


class LocalKeys:
    """Keys held in memory. Implements :class:`KeyProvider`; a wrapped key is ``nonce (12) | ciphertext and tag``."""

    def __init__(self, active: str, keys: Mapping[str, bytes]) -> None:
        self._active = active
        self._keys = dict(keys)

    @classmethod
    def from_file(cls, path: Path) -> "LocalKeys":
        """The keys of a key file; a missing file is made with one fresh key.

        Raises:
            core.errors.Invalid: the file can be read by others, or is damaged.
        """
        file = load_or_create(path)
        return cls(file.active, file.keys)

    @property
    def kek_id(self) -> str:
        return self._active

    @property
    def kek_ids(self) -> frozenset[str]:
        return frozenset(self._keys)

    async def wrap(self, plain: bytes, context: bytes) -> bytes:
        nonce = os.urandom(NONCE)
        return nonce + AESGCM(self._keys[self._active]).encrypt(nonce, plain, context)

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        if kek_id not in self._keys:
            raise KeyMissing(kek_id)
        try:
            return AESGCM(self._keys[kek_id]).decrypt(wrapped[:NONCE], wrapped[NONCE:], context)
        except (InvalidTag, ValueError):
            raise Unreadable from None

    def check(self, kek_id: str) -> bytes:
        return hmac.digest(self._keys[kek_id], CHECK_LABEL + kek_id.encode(), hashlib.sha256)

    async def health(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class KeyState:
    """A key-encryption key as the operator sees it. `right` is False for a key that is not the one that was used."""

    kek_id: str
    active: bool
    at_hand: bool
    used: bool
    right: bool


async def key_states(database: Database, provider: KeyProvider) -> list[KeyState]:
    """Every key that the keeper has or that has wrapped a data key of this deployment, by id."""
    found = await database.call("SELECT array_agg(kek_id) FROM vault.key_checks")
    used: frozenset[str] = frozenset(found or ())
    return [await _state(database, provider, kek_id, used) for kek_id in sorted(used | provider.kek_ids)]


async def check_keys(database: Database, provider: KeyProvider) -> None:
    """Make sure that every key in use is at hand and is the right one, before anything is sealed or opened.

    Raises:
        Invalid: names the key that is missing or wrong.
    """
    for state in await key_states(database, provider):
        if state.used and not state.at_hand:
            raise Invalid(f"the vault's key {state.kek_id} is missing; restore it from your copy of the keys")
        if state.used and not state.right:
            raise Invalid(
                f"the vault's key {state.kek_id} is not the key that the stored credentials were sealed with; "
                "restore the right one from your copy of the keys"
            )


async def note_use(work: UnitOfWork, provider: KeyProvider) -> None:
    """Remember that something of this deployment is about to be wrapped with the keeper's active key.

    Raises:
        Invalid: it is not the key of that id that was used before.
    """
    kek_id = provider.kek_id
    mac = provider.check(kek_id)
    await work.execute(_ADD_CHECK, kek_id, mac)
    stored = await work.fetchval(_CHECK, kek_id)
    if not hmac.compare_digest(stored, mac):
        raise Invalid(f"the vault's key {kek_id} is not the one that was used before; restore the right one")


async def _state(database: Database, provider: KeyProvider, kek_id: str, used: frozenset[str]) -> KeyState:
    at_hand, right = kek_id in provider.kek_ids, False
    if at_hand and kek_id in used:
        stored = await database.call("SELECT mac FROM vault.key_checks WHERE kek_id = $1", kek_id)
        right = hmac.compare_digest(stored, provider.check(kek_id))
    return KeyState(kek_id, kek_id == provider.kek_id, at_hand, kek_id in used, right or kek_id not in used)


# These name no tenant's rows; $1 is there because every statement has it.
_ADD_CHECK = """INSERT INTO vault.key_checks (kek_id, mac) SELECT $2, $3 WHERE $1::uuid IS NOT NULL
    ON CONFLICT DO NOTHING"""
_CHECK = "SELECT mac FROM vault.key_checks WHERE $1::uuid IS NOT NULL AND kek_id = $2"
