"""When a request is worth sending again, and how long to wait before."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from gateway.vendor_session.answers import Failure
from gateway.vendor_session.limits import EVERYTHING, scope_of
from modules.kit import VendorAnswer

MOST_RETRIES = 2
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0
"""Whoever has to wait longer is better told so than kept."""
LONGEST_BLOCK = 3600.0
UNSAID = 10.0
"""Seconds to leave a vendor alone that says 429 and not for how long."""

OVERLOADED = frozenset({502, 503, 504, 529})
_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The vendor wants no more requests in `scope` for `seconds`."""

    seconds: float
    scope: str


def rate_limit(answer: VendorAnswer, path: str, wall_clock: Clock) -> RateLimit | None:
    """The rate limit that an answer speaks of: 429, or 403 with a time or a spent quota.

    A spent quota (GitHub's x-ratelimit-remaining) holds for what shares it; Retry-After for everything.
    """
    if answer.status not in (403, 429):
        return None
    told = retry_after(answer, wall_clock)
    if told is not None:
        return RateLimit(min(told, LONGEST_BLOCK), EVERYTHING)
    if answer.headers.get("x-ratelimit-remaining") == "0":
        return RateLimit(min(_until_reset(answer, wall_clock), LONGEST_BLOCK), scope_of(path))
    return RateLimit(UNSAID, scope_of(path)) if answer.status == 429 else None


def retry_after(answer: VendorAnswer, wall_clock: Clock) -> float | None:
    """Retry-After in seconds, from either form (RFC 9110 §10.2.3); None if it is missing or neither."""
    text = answer.headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    moment = _moment(text)
    return None if moment is None else max(0.0, moment - _now(answer, wall_clock))


def pause_before(
    attempt: int, outcome: "VendorAnswer | Failure", *, repeatable: bool, told: float | None, chance: float
) -> float | None:
    """Seconds to wait before the request is sent again, or None to leave it.

    `attempt` counts from 0; `told` is what the vendor asked for; `chance`, 0 to 1, spreads those that failed together.
    """
    if attempt >= MOST_RETRIES:
        return None
    backoff = FIRST_PAUSE * 2**attempt * (0.5 + chance)
    if isinstance(outcome, Failure):
        return backoff if outcome.passing and (repeatable or outcome.unsent) else None
    if not repeatable:
        return None
    if told is not None and (outcome.status in OVERLOADED or outcome.status in (403, 429)):
        return told + 0.25 * chance if told <= LONGEST_PAUSE else None
    return backoff if outcome.status in OVERLOADED else None


def _until_reset(answer: VendorAnswer, wall_clock: Clock) -> float:
    text = answer.headers.get("x-ratelimit-reset", "")
    if not re.fullmatch(r"[0-9]{1,11}", text, re.ASCII):
        return UNSAID
    return max(0.0, float(text) - _now(answer, wall_clock))


def _now(answer: VendorAnswer, wall_clock: Clock) -> float:
    """The vendor's clock where it tells it: what it says of times is said by that one."""
    told = _moment(answer.headers.get("date", ""))
    return wall_clock() if told is None else told


def _moment(text: str) -> float | None:
    if not text or len(text) > 64:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
