"""Time limits and intervals of refreshing, in seconds. One value, so that a test can shorten all of them."""

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RefreshTiming:
    """Times of the refresh protocol (threat-model.md §3.2)."""

    lease: float = 30.0
    """How long a claim keeps others away: longer than `call` and the retries of the write."""

    call_timeout: float = 14.0
    """After which the vendor's answer is given up for certain: connect 3 s, 10 s altogether, and some air."""

    poll_interval: float = 0.1
    """Between two looks at what another process is refreshing, and two attempts to store an answer."""

    late_answer_grace: float = 2.0
    """After a lease has run out, a holder that lives (its database was away, say) may still store its answer for so
    long before the refresh token is shown again, where that could cost the grant."""

    longest_wait: float = 60.0
    """For a lease of another process, before a refresh gives up."""

    min_backoff: float = 1.0
    max_backoff: float = 300.0
    rejection_cooldown: float = 10.0
    """After a refresh, for so long a vendor's 401 is no reason for the next one."""

    used_within: float = 14 * 86_400.0
    """An account that nobody used for longer is refreshed on demand, and to keep it alive."""

    drain_timeout: float = 15.0
    mass_window: float = 300.0
    mass_least: int = 5
    mass_share: float = 0.2
    mass_of_one: int = 3
    mass_held: float = 86_400.0
    """Above `mass_share` of a vendor's accounts refused within `mass_window`, and at least `mass_least` of them, nobody
    is asked to connect again. Of one tenant's refusals, `mass_of_one` count for the others. For an account that is
    refused for `mass_held` on end, it is true."""

    def choose_backoff(self, attempt: int, chance: Callable[[], float] = random.random) -> float:
        """Choose the pause after attempt number `attempt` (from 1): exponential with full jitter, never zero."""
        most = min(self.max_backoff, self.min_backoff * 2 ** min(attempt - 1, 20))
        return max(self.min_backoff / 4, most * chance())
