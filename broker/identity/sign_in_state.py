"""Sign-ins under way, before anybody is known: one row for each start, used once (table ``auth.sign_ins``).

A row is known by the hash of what the browser's `flow` cookie holds; nothing in it is secret.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from broker.identity.providers.identity_provider import VerifiedAccount
from broker.identity.random_secrets import hash_of
from core.db import Database
from core.secret import Secret

SIGN_IN_LIFETIME = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AccountLinkRequest:
    """The session whose user wants one more account."""

    tenant_id: UUID
    user_id: UUID
    session_id: UUID

    def encode(self) -> str:
        return self.tenant_id.hex + self.user_id.hex + self.session_id.hex

    @classmethod
    def decode(cls, text: str) -> "AccountLinkRequest | None":
        return cls(*(UUID(text[start : start + 32]) for start in (0, 32, 64))) if text else None


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """Parameters of a started sign-in."""

    provider: str
    next_path: str
    link_request: AccountLinkRequest | None


@dataclass(frozen=True, slots=True)
class VerifiedSignIn:
    """A sign-in that still has to choose a tenant."""

    provider: str
    next_path: str
    account: VerifiedAccount


class PendingSignIns:
    """The sign-ins under way, behind the broker's own database role."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, binding: Secret, provider: str, next_path: str, tying: AccountLinkRequest | None) -> None:
        """Keep a start; some of those that are over are forgotten by the way."""
        now = self._clock()
        await self._database.fetch(_FORGET, now)
        packed = tying.encode() if tying else ""
        await self._database.fetch(_BEGIN, hash_of(binding), provider, next_path, packed, now, now + SIGN_IN_LIFETIME)

    async def consume(self, binding: Secret, provider: str) -> PendingSignIn | None:
        """Use a start up; None where it has been already, is over, or was for another provider."""
        hashed = hash_of(binding)
        if hashed is None:
            return None
        rows = await self._database.fetch(_TAKE, hashed, provider, self._clock())
        return PendingSignIn(provider, rows[0]["next"], AccountLinkRequest.decode(rows[0]["linking"])) if rows else None

    async def store_verified(self, binding: Secret, account: VerifiedAccount) -> None:
        """Keep whose sign-in it is until they have chosen a tenant; only after :meth:`take`."""
        until = self._clock() + SIGN_IN_LIFETIME
        values = (account.issuer, account.subject, account.email, account.name, until)
        await self._database.fetch(_VERIFIED, hash_of(binding), *values)

    async def find_verified(self, binding: Secret) -> VerifiedSignIn | None:
        """A sign-in that has to choose, without using it up."""
        rows = await self._database.fetch(_CHOOSING, hash_of(binding) or b"", self._clock())
        return _build_verified(*rows[0].values()) if rows else None

    async def consume_verified(self, binding: Secret) -> VerifiedSignIn | None:
        """Use up a sign-in that has to choose."""
        rows = await self._database.fetch(_CHOSEN, hash_of(binding) or b"", self._clock())
        return _build_verified(*rows[0].values()) if rows else None


def _build_verified(provider: str, next_path: str, issuer: str, subject: str, email: str, name: str) -> VerifiedSignIn:
    return VerifiedSignIn(provider, next_path, VerifiedAccount(issuer, subject, email, bool(email), name))


_FORGET = """DELETE FROM auth.sign_ins WHERE browser_hash IN (
    SELECT browser_hash FROM auth.sign_ins WHERE expires_at < $1 LIMIT 100 FOR UPDATE SKIP LOCKED)"""
_BEGIN = """INSERT INTO auth.sign_ins (browser_hash, provider, next, linking, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6)"""
_TAKE = """UPDATE auth.sign_ins SET state = 'done'
    WHERE browser_hash = $1 AND provider = $2 AND state = 'started' AND expires_at > $3 RETURNING next, linking"""
_VERIFIED = """UPDATE auth.sign_ins SET state = 'verified', issuer = $2, subject = $3, email = $4, name = $5,
    expires_at = $6 WHERE browser_hash = $1 AND state = 'done'"""
_CHOOSING = """SELECT provider, next, issuer, subject, email, name FROM auth.sign_ins
    WHERE browser_hash = $1 AND state = 'verified' AND expires_at > $2"""
_CHOSEN = """UPDATE auth.sign_ins SET state = 'done' WHERE browser_hash = $1 AND state = 'verified' AND expires_at > $2
    RETURNING provider, next, issuer, subject, email, name"""
