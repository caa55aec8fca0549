"""What one attempt to refresh holds in hand before the vendor is asked: nothing is missing afterwards."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from broker.accounts.rows import Seen
from broker.accounts.values import Ref
from broker.providers.model import Provider, RefreshRules
from broker.vault.vault import Sealer
from broker.vendor_oauth.exchange import VendorClient
from core.secret import Secret

Boottime = Callable[[], float]
"""Seconds since the machine started, those while it slept or while the process was stopped included."""


def boottime() -> float:
    """See :data:`Boottime`; where the system has no such clock, the monotonic one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


@dataclass(frozen=True, slots=True, repr=False)
class Prepared:
    """Everything that a refresh needs, decrypted. `endpoint`: see :func:`broker.refresh.counted_with.endpoint_of`."""

    ref: Ref
    seen: Seen
    provider: Provider
    endpoint: str
    rules: RefreshRules
    client: VendorClient
    refresh: Secret
    sealer: Sealer


@dataclass(frozen=True, slots=True, repr=False)
class Attempt:
    """A claimed account: `owner` is the lease's, `uncertain` whether an earlier call has no known outcome.

    `began` is when the lease was asked for, on our own clock, and `now` what the database's clock then said.
    """

    prepared: Prepared
    owner: UUID
    uncertain: bool
    number: int
    began: float
    now: datetime

    @property
    def ref(self) -> Ref:
        return self.prepared.ref

    @property
    def version(self) -> int:
        """That of the token which is presented."""
        return self.prepared.seen.version

    def database_time(self, boottime: float) -> datetime:
        """The database's clock, without asking it."""
        return self.now + timedelta(seconds=max(0.0, boottime - self.began))
