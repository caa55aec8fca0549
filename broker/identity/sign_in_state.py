"""Sign-ins under way: one row for each start, used once (table ``auth.sign_ins``), their targets and their results."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from broker.identity.admission import TenantChoice
from broker.identity.providers.identity_provider import VerifiedAccount
from broker.identity.random_secrets import hash_of
from core.db import Database, Row
from core.errors import MCPistError
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
        groups = None if account.groups is None else list(account.groups)
        values = (account.issuer, account.subject, account.email, account.name, until, groups)
        await self._database.fetch(_VERIFIED, hash_of(binding), *values)

    async def find_verified(self, binding: Secret) -> VerifiedSignIn | None:
        """A sign-in that has to choose, without using it up."""
        rows = await self._database.fetch(_CHOOSING, hash_of(binding) or b"", self._clock())
        return _build_verified(rows[0]) if rows else None

    async def consume_verified(self, binding: Secret) -> VerifiedSignIn | None:
        """Use up a sign-in that has to choose."""
        rows = await self._database.fetch(_CHOSEN, hash_of(binding) or b"", self._clock())
        return _build_verified(rows[0]) if rows else None


def _build_verified(row: Row) -> VerifiedSignIn:
    email, groups = row["email"], row["groups"]
    account = VerifiedAccount(
        row["issuer"], row["subject"], email, bool(email), row["name"], None if groups is None else tuple(groups)
    )
    return VerifiedSignIn(row["provider"], row["next"], account)


_FORGET = """DELETE FROM auth.sign_ins WHERE browser_hash IN (
    SELECT browser_hash FROM auth.sign_ins WHERE expires_at < $1 LIMIT 100 FOR UPDATE SKIP LOCKED)"""
_BEGIN = """INSERT INTO auth.sign_ins (browser_hash, provider, next, linking, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6)"""
_TAKE = """UPDATE auth.sign_ins SET state = 'done'
    WHERE browser_hash = $1 AND provider = $2 AND state = 'started' AND expires_at > $3 RETURNING next, linking"""
_VERIFIED = """UPDATE auth.sign_ins SET state = 'verified', issuer = $2, subject = $3, email = $4, name = $5,
    expires_at = $6, groups = $7::text[] WHERE browser_hash = $1 AND state = 'done'"""
_CHOOSING = """SELECT provider, next, issuer, subject, email, name, groups FROM auth.sign_ins
    WHERE browser_hash = $1 AND state = 'verified' AND expires_at > $2"""
_CHOSEN = """UPDATE auth.sign_ins SET state = 'done' WHERE browser_hash = $1 AND state = 'verified' AND expires_at > $2
    RETURNING provider, next, issuer, subject, email, name, groups"""


ACCOUNT_PATH = "/account"
MANDATES_PATH = f"{ACCOUNT_PATH}#mandates"
"""Where people agree to what works in their absence."""
MAX_PATH_LENGTH = 8_000
_ALLOWED = re.compile(
    r"(?:/oauth/authorize|/account|/docs|/connect(?:/[a-z][a-z0-9_]{0,62}|/-/session/[0-9a-f-]{36})?"
    r"|/console|/console/(?:[0-9A-Za-z_-]+/)*[0-9A-Za-z_-]*)"
    r"(?:\?[0-9A-Za-z\-._~!$&'()*+,;=:@/?%]*)?"
)


def sanitize_return_to(path: str) -> str:
    """`asked` where it is such a path, with its query; else the account page.

    Only letters that mean one thing to every browser count: no backslash, dot or escape in the path, no control
    character and no fragment anywhere.
    """
    return path if len(path) <= MAX_PATH_LENGTH and _ALLOWED.fullmatch(path) else ACCOUNT_PATH


RefusalKey = Literal[
    "other_browser", "expired", "cancelled", "provider", "provider_away", "link_used",
    "not_listed", "unverified_email", "suspended", "other_account", "already_tied",
]  # fmt: skip


class SignInRefused(MCPistError):
    """Nobody is signed in. `key` says why, to the person; `provider` is its label, and empty where there is none."""

    status, code = 403, "sign_in_refused"

    def __init__(self, key: RefusalKey, provider: str = "", email: str = "") -> None:
        super().__init__("the sign-in did not succeed; start again")
        self.key: RefusalKey = key
        self.provider = provider
        self.email = email


@dataclass(frozen=True, slots=True)
class Browser:
    """Browser that signs in: its address and description, as far as they are known."""

    address: str = ""
    user_agent: str = ""


@dataclass(frozen=True, slots=True)
class SignInRedirect:
    """Redirect that starts a sign-in, with the value of the `flow` cookie."""

    url: str
    binding: Secret


@dataclass(frozen=True, slots=True)
class SignInResult:
    """Completed sign-in: the `session` cookie's value and the URL to continue at."""

    session: Secret
    next_path: str


@dataclass(frozen=True, slots=True)
class TenantSelection:
    """Pending sign-in of a person whom several tenants admit."""

    email: str
    choices: tuple[TenantChoice, ...]


@dataclass(frozen=True, slots=True)
class LinkedAccount:
    """Account that was linked to the session's user."""

    next_path: str
