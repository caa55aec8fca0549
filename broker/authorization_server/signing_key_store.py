"""Our signing keys as they are kept: sealed by the vault's key provider, one signing, one to follow, old ones fading.

A key is `next` before it signs, so that every verifier knows it by then; it is `active` while it signs, and `retired`
for as long as a token that it signed may live. A `distrusted` one counts for nothing. The database alone is believed
nothing about keys: the public key of each is taken from its sealed private key.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import orjson
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)
from joserfc.jwk import RSAKey

from broker.vault.envelope import DecryptionError, KeyProvider, WrappedKey, join_length_prefixed
from broker.vault.key_checks import confirm_key_use, record_key_use
from broker.vault.key_rewrap import WrappedRow
from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict

ALGORITHM = "RS256"
KEY_BITS = 2_048
WRAP_LABEL = b"mcpist.signing-key.1"
MIN_PUBLISHED_TIME = timedelta(minutes=2)
"""A key signs only after having been published for this long: every process looks once a minute."""

PUBLISHED_FOR = timedelta(minutes=65)
"""Retired keys are published for longer than any access token may live."""


@dataclass(frozen=True, slots=True)
class SigningKeyInfo:
    """Public description of a signing key, without the key itself. `published`: its signatures are accepted."""

    kid: str
    state: str
    published: bool
    created_at: datetime
    activated_at: datetime | None
    retired_at: datetime | None


@dataclass(frozen=True, slots=True, repr=False)
class SealedSigningKey:
    """A published key as it is stored."""

    kid: str
    state: str
    kek_id: str
    wrapped: bytes


class SigningKeyStore:
    """The signing keys of one deployment, behind the broker's own database role."""

    def __init__(
        self, database: Database, provider: KeyProvider, deployment_id: UUID, *, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._provider = provider
        self._deployment_id = deployment_id
        self._clock = clock

    async def list(self) -> list[SigningKeyInfo]:
        """Every key, the newest first."""
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            rows = await work.fetch(_ALL)
        since = self._clock() - PUBLISHED_FOR
        return [_build_key_info(row, since) for row in rows]

    async def list_published(self) -> "list[SealedSigningKey]":
        """The keys whose signatures count."""
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            rows = await work.fetch(_PUBLISHED, self._clock() - PUBLISHED_FOR)
        return [SealedSigningKey(row["kid"], row["state"], row["kek_id"], row["wrapped"]) for row in rows]

    async def is_active(self, kid: str) -> bool:
        """Check whether the key of that id is the one that signs now."""
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            return await work.fetchval(_SIGNS, kid)

    async def unwrap_key(self, sealed: SealedSigningKey) -> RSAKey:
        """The private key.

        Raises:
            broker.vault.envelope.DecryptionError: the row was changed.
            core.errors.Unavailable: the key-encryption key is not at hand.
        """
        context = build_signing_context(self._deployment_id, sealed.kid)
        plain = await self._provider.unwrap(sealed.kek_id, sealed.wrapped, context)
        # Its seal vouches for it: proving its primes anew takes 30 ms, longer than all else here.
        private = load_der_private_key(plain, password=None, unsafe_skip_rsa_key_validation=True)
        if not isinstance(private, RSAPrivateKey):
            raise DecryptionError
        return _build_jwk(private, sealed.kid)

    async def ensure_keys(self) -> None:
        """Make the first keys, unless they are there. Of several processes at once, one does."""
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            if not await _list_missing_states(work):
                return
        new_key = await asyncio.gather(_generate_key(), _generate_key())
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            await work.execute(_LOCK)
            for state, key in zip(await _list_missing_states(work), new_key, strict=False):
                await self._insert_key(work, key, state)
                await audit_change(work, Actor("mcpist"), AuditEventKind.KEY_CREATED, purpose="signing", key=key[0])

    async def rotate(self, actor: Actor) -> str:
        """Sign with the next key from now on, and publish another to follow: the id of the one that signs.

        Raises:
            Conflict: the next key was published too short a time ago for every verifier to know it.
        """
        await self.ensure_keys()
        new_key = await _generate_key()
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            await work.execute(_LOCK)
            kid = await work.fetchval(_KNOWN_NEXT, self._clock() - MIN_PUBLISHED_TIME)
            if kid is None:
                raise Conflict(
                    "the next key is less than two minutes old and not yet known to every process; try again later"
                )
            await work.execute(_RETIRE, self._clock())
            await work.execute(_ACTIVATE, kid, self._clock())
            await self._insert_key(work, new_key, "next")
            await audit_change(work, actor, AuditEventKind.KEY_ROTATED, purpose="signing", key=kid)
        return kid

    async def replace_all(self, actor: Actor) -> str:
        """Take trust from every key there is, because one may be known to others, and sign with a new one at once: its
        id. What was signed before counts no longer, on every process within a second, because every tenant's generation
        is raised with it; clients get new tokens by their refresh tokens.
        """
        signing, following = await asyncio.gather(_generate_key(), _generate_key())
        async with self._database.tenant(DEPLOYMENT_CHAIN) as work:
            await work.execute(_LOCK)
            distrusted = await work.execute(_DISTRUST, self._clock())
            await self._insert_key(work, signing, "active")
            await self._insert_key(work, following, "next")
            await audit_change(
                work, actor, AuditEventKind.KEY_ROTATED, purpose="signing", key=signing[0], distrusted=distrusted
            )
            await work.execute("SELECT core.raise_all_generations() WHERE $1::uuid IS NOT NULL")
        return signing[0]

    async def _insert_key(self, work: UnitOfWork, key: "tuple[str, RSAPrivateKey]", state: str) -> None:
        kid, private = key
        plain = private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        wrapped = await self._provider.wrap(plain, build_signing_context(self._deployment_id, kid))
        await record_key_use(work, self._provider, wrapped.kek_id)
        now = self._clock()
        shown = orjson.dumps(_build_jwk(private, kid).as_dict(private=False)).decode()
        active_since = now if state == "active" else None
        await work.execute(_INSERT, kid, ALGORITHM, shown, wrapped.kek_id, wrapped.blob, state, now, active_since)
        await confirm_key_use(work, self._provider, wrapped.kek_id)


def build_signing_context(deployment_id: UUID, kid: str) -> bytes:
    """Return the encryption context that binds a wrapped signing key to its row."""
    return join_length_prefixed(WRAP_LABEL, deployment_id.bytes, kid.encode())


async def _list_missing_states(work: UnitOfWork) -> list[str]:
    there = {row["state"] for row in await work.fetch(_IN_USE)}
    return [state for state in ("active", "next") if state not in there]


async def _generate_key() -> tuple[str, RSAPrivateKey]:
    """A new key and its id, made on a thread: it takes a tenth of a second."""
    private = await asyncio.to_thread(generate_private_key, public_exponent=65_537, key_size=KEY_BITS)
    return RSAKey.import_key(private).thumbprint(), private


def _build_jwk(private: RSAPrivateKey, kid: str) -> RSAKey:
    return RSAKey.import_key(private, {"kid": kid, "use": "sig", "alg": ALGORITHM})


def _build_key_info(row: Row, since: datetime) -> SigningKeyInfo:
    fading = row["state"] == "retired" and row["retired_at"] > since
    published = fading or row["state"] in ("next", "active")
    return SigningKeyInfo(
        row["kid"], row["state"], published, row["created_at"], row["activated_at"], row["retired_at"]
    )


# Signing keys have no tenant; $1 is there because every statement has it.
_ALL = """SELECT kid, state, created_at, activated_at, retired_at FROM auth.signing_keys
    WHERE $1::uuid IS NOT NULL ORDER BY created_at DESC, kid LIMIT 1000"""
_PUBLISHED = """SELECT kid, state, kek_id, wrapped FROM auth.signing_keys WHERE $1::uuid IS NOT NULL
    AND (state IN ('next', 'active') OR (state = 'retired' AND retired_at > $2)) ORDER BY created_at DESC LIMIT 100"""
_SIGNS = (
    """SELECT EXISTS (SELECT FROM auth.signing_keys WHERE $1::uuid IS NOT NULL AND kid = $2 AND state = 'active')"""
)
_IN_USE = "SELECT state FROM auth.signing_keys WHERE $1::uuid IS NOT NULL AND state IN ('next', 'active')"
_KNOWN_NEXT = """SELECT kid FROM auth.signing_keys WHERE $1::uuid IS NOT NULL
    AND state = 'next' AND created_at <= $2 ORDER BY created_at LIMIT 1"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('auth.signing_keys', 0)) WHERE $1::uuid IS NOT NULL"
_RETIRE = """UPDATE auth.signing_keys SET state = 'retired', retired_at = $2
    WHERE $1::uuid IS NOT NULL AND state = 'active'"""
_ACTIVATE = """UPDATE auth.signing_keys SET state = 'active', activated_at = $3
    WHERE $1::uuid IS NOT NULL AND kid = $2"""
_DISTRUST = """UPDATE auth.signing_keys SET state = 'distrusted', retired_at = $2
    WHERE $1::uuid IS NOT NULL AND state <> 'distrusted'"""
_INSERT = """INSERT INTO auth.signing_keys
    (kid, algorithm, public, kek_id, wrapped, state, created_at, activated_at)
    SELECT $2, $3, $4::jsonb, $5, $6, $7, $8, $9 WHERE $1::uuid IS NOT NULL"""


class SigningKeyRows:
    """Implements :class:`broker.vault.key_rewrap.WrappedRows`. Old and distrusted keys are kept and rewrapped too."""

    def __init__(self, deployment_id: UUID) -> None:
        self._deployment_id = deployment_id

    @property
    def tenant_id(self) -> UUID:
        return DEPLOYMENT_CHAIN

    async def list_outdated(self, work: UnitOfWork, kek_id: str, after: str, limit: int) -> Sequence[WrappedRow]:
        rows = await work.fetch(_OTHERS, kek_id, after, limit)
        return [
            WrappedRow(
                row["kid"], row["kek_id"], row["wrapped"], build_signing_context(self._deployment_id, row["kid"])
            )
            for row in rows
        ]

    async def store(self, work: UnitOfWork, row: WrappedRow, wrapped: WrappedKey) -> bool:
        return bool(await work.execute(_STORE, row.name, row.kek_id, row.wrapped, wrapped.kek_id, wrapped.blob))


_OTHERS = """SELECT kid, kek_id, wrapped FROM auth.signing_keys WHERE $1::uuid IS NOT NULL
    AND kek_id <> $2 AND kid > $3 ORDER BY kid LIMIT $4"""
_STORE = """UPDATE auth.signing_keys SET kek_id = $5, wrapped = $6
    WHERE $1::uuid IS NOT NULL AND kid = $2 AND kek_id = $3 AND wrapped = $4"""
