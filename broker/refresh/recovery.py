"""What to do about an account as it was just seen: pure decisions, each a step of docs/refresh.pml.

`recover`: a call whose outcome nobody knows is answered by the vendor's profile. Where a spent refresh token may be
shown again, it is; where it may not, the old access token is used while it lasts, and the refresh token is shown once
more only when nothing is left to lose (broker-security.md §3.2, rule 7).
"""

from dataclasses import dataclass
from enum import Enum, auto

from broker.accounts.rows import Seen
from broker.accounts.values import Stuck, StuckState
from broker.providers.model import RefreshRules
from broker.refresh.timing import Timing

LOST_ROTATION = "lost_rotation"
EXPIRED = "expired"
HALF = 0.5
REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Wish:
    """What whoever asks needs: a token for `need` more seconds, other than the `rejected` version. `beyond` is a
    version that shall be refreshed though it is good.

    However great the need, a token is good for half of its life: of those that live shortly another would be no better.
    """

    need: float
    rejected: int | None = None
    beyond: int | None = None

    def granted_by(self, seen: Seen) -> bool:
        """Whether the account's token is what was wished for."""
        if not seen.alive(self.rejected) or seen.version == self.beyond:
            return False
        return seen.expires_in is None or seen.expires_in > min(self.need, HALF * seen.life)


class Do(Enum):
    """The next step."""

    HAND_OUT = auto()
    """The access token as it is."""
    WAIT = auto()
    """Another process holds the lease: look again."""
    PROBE = auto()
    """Claim, if it is us who try whether the OAuth client works again."""
    CLAIM = auto()
    LAPSE = auto()
    """Take the lease from a holder that is late, and give it a moment to come after all."""
    PATIENCE = auto()
    """Hand out the old access token, and do not present the refresh token before that has ended."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The account's owner has to come back."""

    reason: str


Step = Do | Mark | Stuck


def next_step(seen: Seen, wish: Wish, rules: RefreshRules, timing: Timing) -> Step:
    """Decide."""
    if seen.status != "active":
        state = StuckState.DISABLED if seen.status == "disabled" else StuckState.NEEDS_REAUTH
        return Stuck(state, seen.reason)
    if wish.granted_by(seen):
        return Do.HAND_OUT
    obstacle = _obstacle(seen, wish, timing)
    if obstacle is not None:
        return Do.HAND_OUT if seen.alive(wish.rejected) else obstacle
    if seen.refresh is None:
        ended = seen.expires_in is not None and seen.expires_in <= 0
        return Do.HAND_OUT if seen.alive(wish.rejected) else Mark(EXPIRED if ended else REVOKED)
    if seen.cut_off:
        return recover(seen, wish, rules, timing)
    return Do.PROBE if seen.misconfigured else Do.CLAIM


def _obstacle(seen: Seen, wish: Wish, timing: Timing) -> Step | None:
    """What keeps the refresh token from being presented now."""
    if seen.lease_left is not None:
        return Do.WAIT
    if seen.breaker > 0:
        return Stuck(StuckState.MISCONFIGURED, seen.client_cause, seen.breaker)
    if seen.wait > 0:
        return Stuck(StuckState.VENDOR, seen.last_error_class, seen.wait)
    if wish.rejected == seen.version and seen.refreshed_ago is not None and seen.refreshed_ago < timing.calm:
        return Stuck(StuckState.REFUSED, "rejected", timing.calm - seen.refreshed_ago)
    return None


def recover(seen: Seen, wish: Wish, rules: RefreshRules, timing: Timing) -> Step:
    """The step for a row whose last call has no known outcome."""
    present = Do.PROBE if seen.misconfigured else Do.CLAIM
    if rules.profile == "non_rotating" or _in_grace(seen, rules, timing):
        return present
    if seen.alive(wish.rejected):
        return Do.PATIENCE
    if seen.lapsed:
        return Do.LAPSE
    return Mark(LOST_ROTATION) if rules.reuse_kills_siblings else present


def _in_grace(seen: Seen, rules: RefreshRules, timing: Timing) -> bool:
    """Whether the vendor gives the lost answer again, even if our call takes as long as it may."""
    if rules.profile != "grace" or seen.presented_ago is None:
        return False
    return seen.presented_ago + timing.call < rules.grace_seconds
