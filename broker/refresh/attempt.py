"""State of one refresh attempt, complete before the request to the vendor is sent."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from broker.connections.account_snapshot import AccountSnapshot
from broker.connections.token_result import AccountRef
from broker.oauth_client.types import OAuthClientConfig
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
    """Everything that a refresh needs, decrypted. `endpoint`: see :mod:`broker.refresh.endpoint_key`."""

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
