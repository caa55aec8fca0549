"""Decisions about the next refresh action of an account; pure functions, each a step of docs/refresh.pml.

`recover` decides about a call with an unknown outcome by the vendor's profile. Where a used refresh token may be
presented again, it is; where it may not, the old access token is used until it expires, and the refresh token is
presented once more only after that (threat-model.md §3.2, rule 7).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from broker.connections.account_snapshot import AccountSnapshot, TokenUnavailable, UnavailableReason
from broker.providers.schema import RefreshRules


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


LOST_ROTATION = "lost_rotation"
EXPIRED = "expired"
HALF = 0.5
REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class TokenRequirement:
    """Requirement of a caller: a token valid for `need` more seconds, of another version than `rejected`.

    `beyond` is a version to refresh even if it is still valid. A token always satisfies half of its lifetime, however
    large `need` is: a new token of a short-lived kind would be no better.
    """

    min_ttl: float
    rejected_version: int | None = None
    outdated_version: int | None = None

    def is_met_by(self, snapshot: AccountSnapshot) -> bool:
        """Check whether the account's token meets the requirement."""
        if not snapshot.is_access_valid(self.rejected_version) or snapshot.version == self.outdated_version:
            return False
        return snapshot.expires_in is None or snapshot.expires_in > min(self.min_ttl, HALF * snapshot.access_lifetime)


class RefreshAction(Enum):
    """Next step of a refresh."""

    HAND_OUT = auto()
    """The access token as it is."""
    WAIT = auto()
    """Another process holds the lease: look again."""
    PROBE = auto()
    """Claim, if it is us who try whether the OAuth client works again."""
    CLAIM = auto()
    TAKE_OVER_LEASE = auto()
    """Take the lease from a holder that is late, and give it a moment to come after all."""
    USE_OLD_TOKEN = auto()
    """Hand out the old access token, and do not present the refresh token before that has ended."""


@dataclass(frozen=True, slots=True)
class ReauthRequired:
    """Result where the account's owner must connect it again."""

    reason: str


RefreshStep = RefreshAction | ReauthRequired | TokenUnavailable


def choose_next_step(
    snapshot: AccountSnapshot, requirement: TokenRequirement, rules: RefreshRules, timing: RefreshTiming
) -> RefreshStep:
    """Choose the next refresh action for an account (pure)."""
    if snapshot.status != "active":
        state = UnavailableReason.DISABLED if snapshot.status == "disabled" else UnavailableReason.NEEDS_REAUTH
        return TokenUnavailable(state, snapshot.reason)
    if requirement.is_met_by(snapshot):
        return RefreshAction.HAND_OUT
    obstacle = _find_obstacle(snapshot, requirement, timing)
    if obstacle is not None:
        return RefreshAction.HAND_OUT if snapshot.is_access_valid(requirement.rejected_version) else obstacle
    if snapshot.refresh is None:
        ended = snapshot.expires_in is not None and snapshot.expires_in <= 0
        return (
            RefreshAction.HAND_OUT
            if snapshot.is_access_valid(requirement.rejected_version)
            else ReauthRequired(EXPIRED if ended else REVOKED)
        )
    if snapshot.answer_lost:
        return recover(snapshot, requirement, rules, timing)
    return RefreshAction.PROBE if snapshot.misconfigured else RefreshAction.CLAIM


def _find_obstacle(
    snapshot: AccountSnapshot, requirement: TokenRequirement, timing: RefreshTiming
) -> RefreshStep | None:
    """Return the reason why the refresh token must not be presented now, if there is one."""
    if snapshot.lease_left is not None:
        return RefreshAction.WAIT
    if snapshot.breaker_open_for > 0:
        return TokenUnavailable(UnavailableReason.MISCONFIGURED, snapshot.client_cause, snapshot.breaker_open_for)
    if snapshot.retry_in > 0:
        return TokenUnavailable(UnavailableReason.VENDOR, snapshot.last_error_class, snapshot.retry_in)
    if (
        requirement.rejected_version == snapshot.version
        and snapshot.refreshed_ago is not None
        and snapshot.refreshed_ago < timing.rejection_cooldown
    ):
        return TokenUnavailable(
            UnavailableReason.REFUSED, "rejected", timing.rejection_cooldown - snapshot.refreshed_ago
        )
    return None


def recover(
    snapshot: AccountSnapshot, requirement: TokenRequirement, rules: RefreshRules, timing: RefreshTiming
) -> RefreshStep:
    """Choose the step for a row whose last call has an unknown outcome."""
    present = RefreshAction.PROBE if snapshot.misconfigured else RefreshAction.CLAIM
    if rules.profile == "non_rotating" or _is_in_grace(snapshot, rules, timing):
        return present
    if snapshot.is_access_valid(requirement.rejected_version):
        return RefreshAction.USE_OLD_TOKEN
    if snapshot.lease_lapsed:
        return RefreshAction.TAKE_OVER_LEASE
    return ReauthRequired(LOST_ROTATION) if rules.reuse_kills_siblings else present


def _is_in_grace(snapshot: AccountSnapshot, rules: RefreshRules, timing: RefreshTiming) -> bool:
    """Check whether the vendor repeats a lost response, even if our request takes as long as its deadline."""
    if rules.profile != "grace" or snapshot.presented_ago is None:
        return False
    return snapshot.presented_ago + timing.call_timeout < rules.grace_seconds
