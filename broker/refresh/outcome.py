"""Refresh attempt, complete before the request is sent, and its sealed outcome."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from broker.connections.account_snapshot import (
    ACCESS_FIELD,
    REFRESH_FIELD,
    AccountRef,
    AccountSnapshot,
    build_account_context,
    build_candidate_context,
)
from broker.oauth_client.types import OAuthClientConfig, TokenSet
from broker.providers.schema import Provider, RefreshRules
from broker.vault.vault import TenantSealer
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


MIN_MARGIN_SHARE = 0.1
HALF = 0.5
KEEP_ALIVE_SHARE = 1 / 3
MIN_REFRESH_INTERVAL = 120.0
"""Seconds. No account is refreshed ahead of time more often: shorter lives are renewed when somebody asks."""


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
