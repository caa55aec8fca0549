"""How long a vendor's 401 is doubted, in seconds. One value, so that a test can shorten all of it together."""

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RejectionTiming:
    """The times of docs/decisions/0030."""

    min_pause: float = 60.0
    """From a call's 401 to the next question; it doubles each time, up to `max_pause`."""
    max_pause: float = 300.0

    certain_after: float = 1000.0
    min_rechecks: int = 2
    """A credential that was rejected for `certain_after` seconds, and in `min_rechecks` rechecks, is broken. That
    is decided at the next recheck, so after 24 minutes at the latest, and notified five minutes later."""

    broken_interval: float = 3600.0
    give_up_after: float = 172_800.0
    """A broken credential is rechecked at each `broken_interval` until `give_up_after`, and restored if accepted."""

    acceptance_grace: float = 600.0
    """For so long after the vendor has taken a credential, the 401 of a call is the tool's own affair: some vendors
    answer so where a right is missing."""

    claim_timeout: float = 30.0
    """How long a process that asks keeps the others from asking: longer than the question may take."""

    overdue_after: float = 300.0
    """Delay of a due recheck after which no broker process is taken to run rechecks, and calls are sent again."""

    mass_window: float = 600.0
    mass_minimum: int = 5
    mass_share: float = 0.2
    mass_cap_per_tenant: int = 3
    mass_hold_limit: float = 86_400.0
    """As for refreshes (broker/refresh/timing.py): above `mass_share` of what was used at a vendor within
    `mass_window`, and at least `mass_least`, nobody is blamed, for `mass_held` at the longest. Of one tenant's,
    `mass_of_one` count for the others."""

    def choose_pause(self, rechecks: int, chance: Callable[[], float] = random.random) -> float:
        """Before the question after number `rechecks` (from 0), spread so that what failed together is asked apart."""
        return min(self.max_pause, self.min_pause * 2 ** min(rechecks, 20)) * (0.75 + 0.5 * chance())

    def choose_broken_pause(self, since: float, chance: Callable[[], float] = random.random) -> float | None:
        """Before the next question about one that is broken, refused `since` so long; None to leave it."""
        return self.broken_interval * (0.75 + 0.5 * chance()) if since < self.give_up_after else None
