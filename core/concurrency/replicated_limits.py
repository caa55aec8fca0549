"""Rate limits that the processes of a deployment share through a store such as Valkey, without a wait for any call
(docs/decisions/0102-limits-shared-through-valkey.md).

Each process counts in its own memory and reports what it has let through; the answer says how far the bucket of all
processes is spent. While the store is away, each process lets through its share alone.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from core.concurrency.background import report_turn
from core.concurrency.rate_limits import MAX_KEYS, ROUNDING, CallerLimits, Clock
from core.errors import Unavailable
from core.log_events import describe_error

REPORT_SECONDS = 0.1
"""Seconds between reports of what was let through."""
REST_SECONDS = 5.0
"""Seconds between reports while nothing is let through: they say that this process is there."""
RETRY_SECONDS = 1.0
MAX_REPORTED = 500
"""Keys of one report."""
REPORTS_IN_A_BURST = 20
"""A key is reported at once when it has used this part of a burst since its last report."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BucketReport:
    """State of the reported buckets: seconds until each is full again, in the order of the report; and how many
    processes share them."""

    seconds_until_full: tuple[float, ...]
    processes: int


class LimitStore(Protocol):
    """What the processes share."""

    async def report(self, interval: float, counts: Mapping[str, int]) -> BucketReport:
        """Take `counts` tokens from the buckets, each of which gains one token every `interval` seconds.

        Raises:
            Unavailable: the store is away.
        """
        ...


class ReplicatedCallerLimits(CallerLimits):
    """Limits of callers whose rate all processes share. Running calls are counted by each process.

    Until the first report, and while the store is away, a process lets through the rate and burst divided by the
    number of processes that were last known.
    """

    def __init__(
        self, rate_per_second: float, burst: int, concurrency: int, *, clock: Clock, max_keys: int = MAX_KEYS
    ) -> None:
        super().__init__(rate_per_second, burst, concurrency, clock=clock, max_keys=max_keys)
        self._rate, self._burst = rate_per_second, burst
        self._batch = max(1, burst // REPORTS_IN_A_BURST)
        self._unreported: dict[str, int] = {}
        self._due = asyncio.Event()
        self.processes = 1
        """How many processes share the limits, as last known."""
        self.is_shared = False

    def enter(self, key: str) -> Callable[[], None]:
        leave = super().enter(key)
        self._count(key, 1)
        return leave

    def charge(self, key: str, calls: int) -> None:
        super().charge(key, calls)
        self._count(key, calls)

    async def run(self, store: LimitStore) -> None:
        """Report until cancelled. No failure of the store ends it."""
        while True:
            try:
                await self._report(store)
            except Unavailable as error:
                report_turn(failed=True)
                self._set_shared(False, error)
                self._unreported.clear()
                await asyncio.sleep(RETRY_SECONDS)
            else:
                report_turn(failed=False)
                self._set_shared(True)
                await self._wait_until_due()

    def _count(self, key: str, calls: int) -> None:
        count = self._unreported[key] = self._unreported.get(key, 0) + calls
        if count >= self._batch:
            self._due.set()

    async def _report(self, store: LimitStore) -> None:
        self._due.clear()
        keys = list(self._unreported)[:MAX_REPORTED]
        counts = {key: self._unreported.pop(key) for key in keys}
        report = await store.report(1.0 / self._rate, counts)
        self.processes = max(1, report.processes)
        now = self._clock()
        for key, seconds in zip(keys, report.seconds_until_full, strict=True):
            if (bucket := self._buckets.get(key)) is not None:
                since = self._unreported.get(key, 0) / self._rate
                bucket.full_at = max(bucket.full_at, now + seconds + since)

    async def _wait_until_due(self) -> None:
        seconds = 0.0 if len(self._unreported) >= MAX_REPORTED else REPORT_SECONDS if self._unreported else REST_SECONDS
        try:
            async with asyncio.timeout(min(seconds, REPORT_SECONDS) if self._unreported else seconds):
                await self._due.wait()
        except TimeoutError:
            pass

    def _set_shared(self, is_shared: bool, error: Exception | None = None) -> None:
        parts = 1 if is_shared else self.processes
        self._interval = parts / self._rate
        self._slack = max(self._burst / parts - 1 + ROUNDING, ROUNDING) * self._interval
        if is_shared is not self.is_shared:
            self.is_shared = is_shared
            if is_shared:
                log.info("limits are shared by all processes", extra={"event": "limits_shared"})
            else:
                fields = {"processes": parts, **(describe_error(error) if error else {})}
                text = "limits are counted by this process alone until Valkey answers again"
                log.warning(text, extra={"event": "limits_not_shared", **fields})
