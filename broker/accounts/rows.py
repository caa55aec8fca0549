"""An account as a refresh sees it: one row, with every time as seconds from the database's own now."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from broker.vault.envelope import Place
from core.db import Row, UnitOfWork

ACCOUNTS = "vault.accounts"
CANDIDATES = "vault.candidates"
CLIENTS = "vault.oauth_clients"
ACCESS = "access"
REFRESH = "refresh"
CLIENT_SECRET = "client_secret"  # noqa: S105 a field's name


@dataclass(frozen=True, slots=True)
class Seen:
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
    life: float
    lease_left: float | None
    lapsed: bool
    cut_off: bool
    presented_ago: float | None
    refreshed_ago: float | None
    wait: float
    last_error_class: str
    stale_use: bool
    client_row: UUID
    client_version: int
    client_id: str
    client_secret: bytes | None
    auth_method: str
    settings: Any
    misconfigured: bool
    client_cause: str
    breaker: float

    def alive(self, rejected: int | None) -> bool:
        """Whether the vendor may still take the access token."""
        return self.access is not None and self.version != rejected and (self.expires_in is None or self.expires_in > 0)


async def look(work: UnitOfWork, account_id: UUID) -> Seen | None:
    """The account as it is now; None where the tenant has none of that id."""
    row = await work.fetchrow(_LOOK, account_id)
    return None if row is None else _seen(row)


def _seen(row: Row) -> Seen:
    return Seen(*row.values())


def account_place(account_id: UUID, field: str, version: int) -> Place:
    """What a token of an account is bound to."""
    return Place(ACCOUNTS, account_id, field, version)


def candidate_place(candidate_id: UUID, field: str, presented_version: int) -> Place:
    """What a token of a late answer is bound to."""
    return Place(CANDIDATES, candidate_id, field, presented_version)


def client_place(client_row: UUID, version: int) -> Place:
    """What an OAuth client's secret is bound to."""
    return Place(CLIENTS, client_row, CLIENT_SECRET, version)


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
