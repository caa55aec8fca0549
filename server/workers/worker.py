"""One of the processes that serve a port together, and what it shares with the others."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from core.concurrency.rate_limits import AttemptLimits, CallerLimits
from core.concurrency.shared_limits import SharedLimitMemory


@dataclass(frozen=True, slots=True)
class Worker:
    """This process among those that serve one port; `memory` holds their limits, None where it serves alone."""

    number: int = 1
    memory: SharedLimitMemory | None = None

    @property
    def runs_maintenance(self) -> bool:
        """Check whether this worker seals, sweeps, refreshes and notifies; the first one does."""
        return self.number == 1

    @property
    def is_busier(self) -> Callable[[int], bool] | None:
        """Return the function that tells whether another worker has fewer connections; None where this is the only."""
        return None if self.memory is None else self.memory.is_busier

    def create_caller_limits(self, table: str, rate_per_second: float, burst: int, concurrency: int) -> CallerLimits:
        """Create the limits of callers, each counted over all workers; `table` is ``calls`` or ``api``."""
        if self.memory is None:
            return CallerLimits(rate_per_second, burst, concurrency, clock=time.monotonic)
        return self.memory.create_caller_limits(table, rate_per_second, burst, concurrency, clock=time.monotonic)

    def create_failed_auth_limits(self, per_minute: int) -> AttemptLimits:
        """Create the limits of failed authentications of an address, counted over all workers."""
        if self.memory is None:
            return AttemptLimits(per_minute, per_minute, clock=time.monotonic)
        return self.memory.create_attempt_limits(per_minute, per_minute, clock=time.monotonic)


ONLY_WORKER = Worker()
