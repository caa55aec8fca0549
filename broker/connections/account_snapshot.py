"""Account as a refresh sees it, the result of a request for its access token, and its history."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson

from broker.providers.schema import RefreshRules
from broker.vault.envelope import CiphertextContext
from core.db import Row, UnitOfWork
from core.secret import Secret

ACCOUNTS_TABLE = "vault.accounts"
CANDIDATES_TABLE = "vault.candidates"
CLIENTS_TABLE = "vault.oauth_clients"
ACCESS_FIELD = "access"
REFRESH_FIELD = "refresh"
CLIENT_SECRET_FIELD = "client_secret"  # noqa: S105 a field's name


@dataclass(frozen=True, slots=True)
class AccountSnapshot:
    """One look at an account and its OAuth client.

    Seconds: `expires_in` until the access token's end (None: it has none), `life` of it when it came,
    `lease_left` of another's claim (None: nobody holds one), `wait` until the next attempt, `breaker` until the OAuth
    client may be used again; `presented_ago` and `refreshed_ago` None where it never was. `lapsed`: a lease has run
    out that its holder has not let go. `cut_off`: the vendor may have processed a call whose answer nobody has.
    """

    id: UUID
    user_id: UUID | None
    role_id: UUID | None
    vendor_account_id: str
    provider: str
    version: int
    status: str
    reason: str
    access: bytes | None
    refresh: bytes | None
    expires_in: float | None
    access_lifetime: float
    lease_left: float | None
    lease_lapsed: bool
    answer_lost: bool
    presented_ago: float | None
    refreshed_ago: float | None
    retry_in: float
    last_error_class: str
    stale_use: bool
    client_row_id: UUID
    client_version: int
    client_id: str
    client_secret: bytes | None
    auth_method: str
    settings: Any
    misconfigured: bool
    client_cause: str
    breaker_open_for: float

    def is_access_valid(self, rejected: int | None) -> bool:
        """Check whether the vendor may still accept the access token."""
        return self.access is not None and self.version != rejected and (self.expires_in is None or self.expires_in > 0)


async def load_snapshot(work: UnitOfWork, account_id: UUID) -> AccountSnapshot | None:
    """The account as it is now; None where the tenant has none of that id."""
    row = await work.fetchrow(_LOOK, account_id)
    return None if row is None else _build_snapshot(row)


def _build_snapshot(row: Row) -> AccountSnapshot:
    return AccountSnapshot(*row.values())


def build_account_context(account_id: UUID, field: str, version: int) -> CiphertextContext:
    """Build the context that an account's tokens are encrypted under."""
    return CiphertextContext(ACCOUNTS_TABLE, account_id, field, version)


def build_candidate_context(candidate_id: UUID, field: str, presented_version: int) -> CiphertextContext:
    """Build the context that the tokens of a late answer are encrypted under."""
    return CiphertextContext(CANDIDATES_TABLE, candidate_id, field, presented_version)


def build_client_context(client_row: UUID, version: int) -> CiphertextContext:
    """Build the context that an OAuth client's secret is encrypted under."""
    return CiphertextContext(CLIENTS_TABLE, client_row, CLIENT_SECRET_FIELD, version)


_LOOK = """SELECT a.id, a.user_id, a.role_id, a.vendor_account_id, a.provider, a.version, a.status, a.reason,
    a.access, a.refresh,
    extract(epoch FROM a.expires_at - c.now)::float8,
    greatest(0, extract(epoch FROM a.expires_at - coalesce(a.refreshed_at, a.granted_at)))::float8,
    CASE WHEN a.lease_until > c.now THEN extract(epoch FROM a.lease_until - c.now)::float8 END,
    coalesce(a.lease_until <= c.now, false),
    a.uncertain OR coalesce(a.lease_until <= c.now, false),
    extract(epoch FROM c.now - a.presented_at)::float8,
    extract(epoch FROM c.now - a.refreshed_at)::float8,
    greatest(0, coalesce(extract(epoch FROM a.next_try_at - c.now), 0))::float8,
    a.last_error_class,
    a.last_used_at IS NULL OR a.last_used_at < c.now - interval '1 minute',
    o.id, o.version, o.client_id, o.secret, o.auth_method, o.settings, o.state = 'misconfigured', o.cause,
    greatest(0, coalesce(extract(epoch FROM o.breaker_until - c.now), 0))::float8
    FROM (SELECT vault.clock() AS now) c, vault.accounts a
    JOIN vault.oauth_clients o ON o.tenant_id = a.tenant_id AND o.id = a.oauth_client_id
    WHERE a.tenant_id = $1 AND a.id = $2"""


@dataclass(frozen=True, slots=True)
class AccountRef:
    """Names one account."""

    tenant_id: UUID
    id: UUID


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An access token that the vendor takes for `expires_in` more seconds; None where it has no end. It is `renewable`
    where the vendor gave a refresh token."""

    token: Secret
    version: int
    expires_in: float | None
    renewable: bool = True


class UnavailableReason(StrEnum):
    """Why there is no access token, by who can do something about it."""

    MISSING = "missing"
    """There is no such account."""

    NEEDS_REAUTH = "needs_reauth"
    """Its owner has to connect it again; the cause is the account's reason."""

    DISABLED = "disabled"
    MISCONFIGURED = "misconfigured"
    """The administrator has to look at the OAuth client; the account is fine."""

    VENDOR = "vendor"
    """The vendor cannot be reached or asks to wait; this passes by itself."""

    REFUSED = "refused"
    """The vendor's API refuses a token that its OAuth server has just given: asking for another would not help."""

    REFRESHING = "refreshing"
    """A refresh is under way and took longer than the caller could wait."""


@dataclass(frozen=True, slots=True)
class TokenUnavailable:
    """There is no access token now. `cause` is a fixed word; asking again helps in `retry_after` seconds, if ever."""

    reason: UnavailableReason
    cause: str = ""
    retry_after: float | None = None


MAX_EVENTS_PER_ACCOUNT = 50


class AccountEventKind(StrEnum):
    """What happened to an account."""

    CONNECTED = "connected"
    REFRESHED = "refreshed"
    FAILED = "failed"
    """The class says how: permanent, service, not_sent, throttled or uncertain."""
    HELD_BACK = "held_back"
    """Refused, but so were many others of this vendor: nobody is blamed yet."""
    NEEDS_REAUTH = "needs_reauth"
    LATE_ANSWER = "late_answer"
    """Tokens came when another process had gone on: they are kept as a second thing to try."""
    CANDIDATE_ADOPTED = "candidate_adopted"


async def append_event(
    work: UnitOfWork, account_id: UUID, what: AccountEventKind, cls: str = "", detail: Mapping[str, Any] | None = None
) -> None:
    """Add an event in the change's own transaction; the oldest beyond :data:`MOST_KEPT` go."""
    await work.execute(_NOTE, account_id, what.value, cls, orjson.dumps(dict(detail or {})).decode())
    await work.execute(_TRIM, account_id, MAX_EVENTS_PER_ACCOUNT)


_NOTE = """INSERT INTO vault.account_events (tenant_id, account_id, at, kind, class, detail)
    SELECT $1, $2, vault.clock(), $3, $4, $5::jsonb
    WHERE EXISTS (SELECT FROM vault.accounts WHERE tenant_id = $1 AND id = $2)"""
_TRIM = """DELETE FROM vault.account_events WHERE tenant_id = $1 AND account_id = $2 AND id <= (
    SELECT id FROM vault.account_events WHERE tenant_id = $1 AND account_id = $2 ORDER BY id DESC OFFSET $3 LIMIT 1)"""


MIN_MARGIN_SHARE = 0.1


HALF = 0.5


KEEP_ALIVE_SHARE = 1 / 3


MIN_REFRESH_INTERVAL = 120.0
"""Seconds. No account is refreshed ahead of time more often: shorter lives are renewed when somebody asks."""


GRANT_VERSION_STEP = 1 << 20
"""Version increment of a new grant: more than refreshes ever add."""


def add_seconds(now: datetime, seconds: float | None) -> datetime | None:
    """Return the time in `seconds`; None if unknown."""
    return None if seconds is None else now + timedelta(seconds=seconds)


def schedule_refresh(rules: RefreshRules, now: datetime, life: float | None, chance: float) -> datetime | None:
    """When a token that lives `life` seconds is refreshed ahead of its end: at random within a tenth of its life, so
    that what was connected together is not refreshed together, and not before half of it is over. None for a token that
    is not."""
    if life is None or HALF * life < MIN_REFRESH_INTERVAL:
        return None
    if rules.late:
        margin = rules.margin_seconds * (1 - HALF * chance)
    else:
        margin = max(rules.margin_seconds, MIN_MARGIN_SHARE * life) + MIN_MARGIN_SHARE * life * chance
    return now + timedelta(seconds=max(HALF * life, life - margin))


def schedule_keep_alive(rules: RefreshRules, now: datetime) -> datetime | None:
    """Return the time at which an unused grant is refreshed to keep it alive: a third of the vendor's limit."""
    if rules.idle_seconds is None:
        return None
    return now + timedelta(seconds=max(MIN_REFRESH_INTERVAL, rules.idle_seconds * KEEP_ALIVE_SHARE))
