"""Refresh attempt, its sealed outcome, and step `settle` for granted tokens (docs/refresh.pml)."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any
from uuid import UUID, uuid4

from broker.connections.account_snapshot import (
    ACCESS_FIELD,
    GRANT_VERSION_STEP,
    REFRESH_FIELD,
    AccountEventKind,
    AccountRef,
    AccountSnapshot,
    add_seconds,
    append_event,
    build_account_context,
    build_candidate_context,
    schedule_keep_alive,
    schedule_refresh,
)
from broker.oauth_client.types import OAuthClientConfig, RedactedExchange, TokenSet
from broker.providers.schema import Provider, RefreshRules
from broker.vault.envelope import TenantSealer
from core.db import Row, UnitOfWork
from core.failpoints import failpoint
from core.generations import DROPPED_VERSION_CHANNEL
from core.secret import Secret

Boottime = Callable[[], float]
"""Seconds since the machine started, those while it slept or while the process was stopped included."""


def boottime() -> float:
    """Return the boot clock (see :data:`Boottime`), or the monotonic clock where the system has none."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


@dataclass(frozen=True, slots=True, repr=False)
class PreparedRefresh:
    """Everything that a refresh needs, decrypted. `endpoint`: see :mod:`broker.refresh.circuit_breaker`."""

    ref: AccountRef
    snapshot: AccountSnapshot
    provider: Provider
    endpoint: str
    rules: RefreshRules
    client: OAuthClientConfig
    refresh_token: Secret
    sealer: TenantSealer


@dataclass(frozen=True, slots=True, repr=False)
class Attempt:
    """A claimed account: `owner` is the lease's, `uncertain` whether an earlier call has no known outcome.

    `began` is when the lease was asked for, on our own clock, and `now` what the database's clock then said.
    """

    prepared: PreparedRefresh
    lease_owner: UUID
    uncertain: bool
    number: int
    claim_boottime: float
    claimed_at: datetime

    @property
    def ref(self) -> AccountRef:
        return self.prepared.ref

    @property
    def version(self) -> int:
        """Version of the token that is presented."""
        return self.prepared.snapshot.version

    def estimate_database_time(self, boottime: float) -> datetime:
        """Estimate the database's clock without a query."""
        return self.claimed_at + timedelta(seconds=max(0.0, boottime - self.claim_boottime))


@dataclass(frozen=True, slots=True, repr=False)
class RefreshOutcome:
    """New tokens of an account in the place of `version`, which `owner` presented as attempt `number`.

    The same tokens are sealed twice: for the account's row at the next version, and for a candidate's. There is no
    candidate without a new refresh token. `scopes` None: unchanged. `refresh_ends_at` None: the vendor does not say.
    `ends_old`: it ends the access token before this one at once.
    """

    ref: AccountRef
    version: int
    lease_owner: UUID
    attempt_number: int
    access: bytes
    refresh: bytes
    expires_at: datetime | None
    refresh_at: datetime | None
    idle_at: datetime | None
    scopes: tuple[str, ...] | None
    candidate_id: UUID
    candidate_access: bytes | None
    candidate_refresh: bytes | None
    refresh_ends_at: datetime | None = None
    invalidates_old_access: bool = False


def seal_outcome(
    attempt: Attempt, tokens: TokenSet, now: datetime, chance: Callable[[], float] = random.random
) -> RefreshOutcome:
    """Seal the tokens that the vendor granted; `now` is the database's time. Never fails and never waits."""
    prepared, version = attempt.prepared, attempt.version
    seal, rules, candidate_id = prepared.sealer.seal, prepared.rules, uuid4()
    account_id, access = attempt.ref.id, tokens.access_token.reveal().encode()
    refresh = (tokens.refresh_token or prepared.refresh_token).reveal().encode()
    late: tuple[bytes | None, bytes | None] = (None, None)
    if tokens.refresh_token is not None and tokens.refresh_token != prepared.refresh_token:
        late = (
            seal(build_candidate_context(candidate_id, ACCESS_FIELD, version), access),
            seal(build_candidate_context(candidate_id, REFRESH_FIELD, version), refresh),
        )
    return RefreshOutcome(
        attempt.ref,
        version,
        attempt.lease_owner,
        attempt.number,
        seal(build_account_context(account_id, ACCESS_FIELD, version + 1), access),
        seal(build_account_context(account_id, REFRESH_FIELD, version + 1), refresh),
        add_seconds(now, tokens.expires_in),
        schedule_refresh(rules, now, tokens.expires_in, chance()),
        schedule_keep_alive(rules, now),
        tokens.scopes,
        candidate_id,
        *late,
        add_seconds(now, tokens.refresh_expires_in),
        rules.late,
    )


class StoreResult(Enum):
    """Result of storing an outcome."""

    STORED = auto()
    ALREADY = auto()
    """By ourselves: the acknowledgement was lost, or the spool was faster."""
    TAKEN_LATE = auto()
    """Nobody else has anything newer: it is the account's token now. If somebody has presented the old one meanwhile,
    it may have been ended by that, so the refresh stays uncertain."""
    CANDIDATE = auto()
    GONE = auto()
    """The account is no more, or has another grant: what belonged to the old one does not come back."""


async def store(work: UnitOfWork, outcome: RefreshOutcome, exchange: RedactedExchange | None = None) -> StoreResult:
    """Store an outcome, or determine why it can no longer be stored.

    The exchange with the vendor, where it is known, is recorded in the account's history.
    """
    detail = exchange.as_json() if exchange else {}
    if await _write_row(work, outcome, late=False):
        await _drop_cached_leases(work, outcome)
        await work.execute(_NO_CANDIDATES, outcome.ref.id)
        await append_event(
            work, outcome.ref.id, AccountEventKind.REFRESHED, detail={"version": outcome.version + 1, **detail}
        )
        await failpoint("storing")
        return StoreResult.STORED
    row = await work.fetchrow(_LOCKED, outcome.ref.id)
    if row is None or row["version"] - outcome.version >= GRANT_VERSION_STEP:
        return StoreResult.GONE
    if row["version"] == outcome.version + 1 and row["access"] == outcome.access:
        return StoreResult.ALREADY
    await _drop_cached_leases(work, outcome)
    return await _store_late(work, outcome, row, detail)


async def _store_late(work: UnitOfWork, outcome: RefreshOutcome, row: Row, detail: Mapping[str, Any]) -> StoreResult:
    await append_event(
        work, outcome.ref.id, AccountEventKind.LATE_ANSWER, detail={"version": outcome.version, **detail}
    )
    if row["version"] == outcome.version and not row["claimed"]:
        await _write_row(work, outcome, late=True)
        return StoreResult.TAKEN_LATE
    if outcome.candidate_refresh is not None:
        await work.execute(
            _CANDIDATE,
            outcome.candidate_id,
            outcome.ref.id,
            outcome.version,
            outcome.candidate_refresh,
            outcome.candidate_access,
            outcome.expires_at,
        )
    return StoreResult.CANDIDATE


async def _write_row(work: UnitOfWork, outcome: RefreshOutcome, *, late: bool) -> bool:
    scopes = None if outcome.scopes is None else list(outcome.scopes)
    times = outcome.expires_at, outcome.refresh_at, outcome.idle_at
    ends = outcome.refresh_ends_at, outcome.candidate_refresh is not None
    blobs = outcome.access, outcome.refresh
    row = outcome.ref.id, outcome.version, outcome.lease_owner
    return bool(await work.execute(_STORE, *row, late, *blobs, *times, scopes, outcome.attempt_number, *ends))


async def _drop_cached_leases(work: UnitOfWork, outcome: RefreshOutcome) -> None:
    """Drop cached leases where the vendor has invalidated the previous access token."""
    if outcome.invalidates_old_access:
        await work.execute(_TELL_GATEWAYS, DROPPED_VERSION_CHANNEL, f"{outcome.ref.tenant_id} {outcome.version}")


# A late one is stored under the lock of the row that was just looked at. The vendor has granted it after all, so nobody
# has to come back; a status that an administrator has set stays. An end that a refresh does not put off is the grant's.
_STORE = """UPDATE vault.accounts SET version = version + 1, access = $6, refresh = $7, expires_at = $8,
    refresh_at = $9, idle_at = $10, scopes = coalesce($11::text[], scopes),
    status = CASE status WHEN 'needs_reauth' THEN 'active' ELSE status END,
    reason = CASE status WHEN 'needs_reauth' THEN '' ELSE reason END, reauth_at = NULL,
    lease_owner = NULL, lease_until = NULL, attempt_no = 0, next_try_at = NULL, last_error_class = '',
    uncertain = $5 AND attempt_no <> $12, presented_at = NULL, refused_at = NULL,
    ends_at = CASE WHEN c.now > coalesce(refreshed_at, granted_at) + interval '1 minute'
        AND $13::timestamptz - refresh_ends_at < (c.now - coalesce(refreshed_at, granted_at)) / 2
        THEN least(ends_at, $13) ELSE ends_at END,
    refresh_ends_at = CASE WHEN $14 THEN $13 ELSE coalesce($13, refresh_ends_at) END,
    refreshed_at = c.now, updated_at = c.now FROM (SELECT vault.clock() AS now) c
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND (lease_owner = $4 OR $5)"""
_TELL_GATEWAYS = "SELECT pg_notify($2, $3) WHERE $1::uuid IS NOT NULL"
_LOCKED = """SELECT version, access, lease_owner IS NOT NULL AND lease_until > vault.clock() AS claimed
    FROM vault.accounts WHERE tenant_id = $1 AND id = $2 FOR UPDATE"""
_NO_CANDIDATES = "DELETE FROM vault.candidates WHERE tenant_id = $1 AND account_id = $2"
_CANDIDATE = """INSERT INTO vault.candidates
    (tenant_id, id, account_id, presented_version, refresh, access, expires_at, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, vault.clock()) ON CONFLICT DO NOTHING"""
