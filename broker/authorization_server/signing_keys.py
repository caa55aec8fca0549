"""Signing keys of our access tokens, and the published public keys, reloaded once a minute."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from joserfc.jwk import RSAKey

from broker.authorization_server import jose
from broker.authorization_server.signing_key_store import ALGORITHM, SealedSigningKey, SigningKeyStore
from broker.vault.envelope import DecryptionError, KeyProvider
from core.db import Database
from core.errors import Unavailable

FRESH_SECONDS = 60.0
RETRY_SECONDS = 5.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, repr=False)
class _PublishedKeys:
    """`sealed` is what `keys` were opened from, so that none is opened twice."""

    keys: Mapping[str, RSAKey]
    sealed: Mapping[str, SealedSigningKey]
    document: bytes

    @property
    def signing(self) -> RSAKey | None:
        return next((self.keys[kid] for kid, row in self.sealed.items() if row.state == "active"), None)


NO_KEYS = _PublishedKeys({}, {}, b"")


class SigningKeys:
    """The keys of this deployment as one process knows them: a rotation reaches it within a minute, and whatever signs
    at once.
    """

    def __init__(self, store: SigningKeyStore, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._monotonic = monotonic
        self._known = NO_KEYS
        self._until = 0.0
        self._unknown_until = 0.0
        self._reading = asyncio.Lock()

    async def sign(self, typ: str, claims: Mapping[str, Any]) -> str:
        """A JWT of the type `typ`, signed by the active key.

        Raises:
            core.errors.Unavailable: the keys cannot be read, or the active one cannot be opened.
        """
        key = (await self._get_current()).signing
        if key is None or not await self._store.is_active(key.kid or ""):
            self.invalidate()
            key = (await self._get_current()).signing
        if key is None:
            raise Unavailable("access tokens cannot be signed: the signing key cannot be decrypted")
        return jose.sign_jwt(key, {"typ": typ, "kid": key.kid}, claims, ALGORITHM)

    def invalidate(self) -> None:
        """Read the keys anew when they are next needed."""
        self._until = 0.0

    async def find(self, kid: str) -> RSAKey | None:
        """The published key of an id. Unknown ids cause at most one look at the database a minute.

        Raises:
            core.errors.Unavailable: the keys could never be read.
        """
        key = (await self._get_current()).keys.get(kid)
        if key is None and self._monotonic() >= self._unknown_until:
            self._unknown_until = self._monotonic() + FRESH_SECONDS
            self.invalidate()
            key = (await self._get_current()).keys.get(kid)
        return key

    async def get_jwks(self) -> bytes:
        """The JWK set that is published (RFC 7517 §5).

        Raises:
            core.errors.Unavailable: the keys could never be read.
        """
        return (await self._get_current()).document

    async def _get_current(self) -> _PublishedKeys:
        if self._monotonic() < self._until:
            return self._known
        async with self._reading:
            if self._monotonic() >= self._until:  # whoever was first has read them for all
                await self._reload()
        return self._known

    async def _reload(self) -> None:
        try:
            self._known = await self._unwrap_keys(await self._load_published())
            self._until = self._monotonic() + FRESH_SECONDS
        except Unavailable:
            if not self._known.keys:
                raise
            self._until = self._monotonic() + RETRY_SECONDS

    async def _load_published(self) -> list[SealedSigningKey]:
        """The published keys. The first ones are made when they are first needed: no start waits for them."""
        rows = await self._store.list_published()
        if not any(row.state == "active" for row in rows):
            await self._store.ensure_keys()
            rows = await self._store.list_published()
        return rows

    async def _unwrap_keys(self, rows: list[SealedSigningKey]) -> _PublishedKeys:
        keys: dict[str, RSAKey] = {}
        for row in rows:
            before = self._known.sealed.get(row.kid)
            if before is not None and before.wrapped == row.wrapped:
                keys[row.kid] = self._known.keys[row.kid]
                continue
            try:
                keys[row.kid] = await self._store.unwrap_key(row)
            except DecryptionError:
                log.error(
                    "signing key failed its integrity check and is ignored",
                    extra={"event": "signing_key_integrity_failed", "kid": row.kid},
                )
        listed = [key.as_dict(private=False) for key in keys.values()]
        return _PublishedKeys(keys, {row.kid: row for row in rows if row.kid in keys}, orjson.dumps({"keys": listed}))


async def open_signing_keys(
    database: Database, provider: KeyProvider, *, clock: Callable[[], datetime]
) -> tuple[SigningKeys, SigningKeyStore]:
    """The deployment's signing keys.

    `database` is logged in as the broker, and the vault's keys have been checked.

    Raises:
        core.errors.Unavailable: the database or a key is away.
        core.errors.Invalid: the key-encryption key is not the one that was used before.
    """
    store = SigningKeyStore(database, provider, await database.call("SELECT id FROM core.deployment"), clock=clock)
    return SigningKeys(store), store
