"""What the vendor granted, sealed for its place: it can be stored now, or later from the spool, and nowhere else."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from broker.accounts.rows import ACCESS, REFRESH, account_place, candidate_place
from broker.accounts.values import Ref
from broker.providers.model import RefreshRules
from broker.refresh.attempt import Attempt
from broker.vendor_oauth.exchange import Tokens

LEAST_SHARE = 0.1
HALF = 0.5
KEEP_ALIVE_SHARE = 1 / 3
LEAST_PAUSE = 120.0
"""Seconds. No account is refreshed ahead of time more often: shorter lives are renewed when somebody asks."""


@dataclass(frozen=True, slots=True, repr=False)
class Outcome:
    """New tokens of an account in the place of `version`, which `owner` presented as attempt `number`.

    The same tokens are sealed twice: for the account's row at the next version, and for a candidate's. There is no
    candidate without a new refresh token. `scopes` None: unchanged. `refresh_ends_at` None: the vendor does not say.
    `ends_old`: it ends the access token before this one at once.
    """

    ref: Ref
    version: int
    owner: UUID
    number: int
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
    ends_old: bool = False


def outcome_of(attempt: Attempt, tokens: Tokens, now: datetime, chance: Callable[[], float] = random.random) -> Outcome:
    """Seal what the vendor granted, `now` being the database's time. Nothing here can fail or has to wait."""
    prepared, version = attempt.prepared, attempt.version
    seal, rules, candidate_id = prepared.sealer.seal, prepared.rules, uuid4()
    account_id, access = attempt.ref.id, tokens.access.reveal().encode()
    refresh = (tokens.refresh or prepared.refresh).reveal().encode()
    late: tuple[bytes | None, bytes | None] = (None, None)
    if tokens.refresh is not None and tokens.refresh != prepared.refresh:
        late = (
            seal(candidate_place(candidate_id, ACCESS, version), access),
            seal(candidate_place(candidate_id, REFRESH, version), refresh),
        )
    return Outcome(
        attempt.ref,
        version,
        attempt.owner,
        attempt.number,
        seal(account_place(account_id, ACCESS, version + 1), access),
        seal(account_place(account_id, REFRESH, version + 1), refresh),
        after(now, tokens.expires_in),
        refresh_time(rules, now, tokens.expires_in, chance()),
        keep_alive_time(rules, now),
        tokens.scopes,
        candidate_id,
        *late,
        after(now, tokens.refresh_expires_in),
        rules.late,
    )


def after(now: datetime, seconds: float | None) -> datetime | None:
    """The time in `seconds`; None where nobody knows."""
    return None if seconds is None else now + timedelta(seconds=seconds)


def refresh_time(rules: RefreshRules, now: datetime, life: float | None, chance: float) -> datetime | None:
    """When a token that lives `life` seconds is refreshed ahead of its end: at random within a tenth of its life, so
    that what was connected together is not refreshed together, and not before half of it is over. None for a token that
    is not."""
    if life is None or HALF * life < LEAST_PAUSE:
        return None
    if rules.late:
        margin = rules.margin_seconds * (1 - HALF * chance)
    else:
        margin = max(rules.margin_seconds, LEAST_SHARE * life) + LEAST_SHARE * life * chance
    return now + timedelta(seconds=max(HALF * life, life - margin))


def keep_alive_time(rules: RefreshRules, now: datetime) -> datetime | None:
    """When a grant that nobody uses is refreshed, so that the vendor does not let it die: at a third of its limit."""
    if rules.idle_seconds is None:
        return None
    return now + timedelta(seconds=max(LEAST_PAUSE, rules.idle_seconds * KEEP_ALIVE_SHARE))
