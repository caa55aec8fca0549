"""When a request is worth sending again, and how long to wait before."""

import logging
import math
import re
from collections.abc import Callable
from dataclasses import replace
from email.utils import parsedate_to_datetime

from gateway.vendor_session.answers import Failure
from modules.kit import RateLimit, VendorAnswer

MOST_RETRIES = 2
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0
"""Whoever has to wait longer is better told so than kept."""
LONGEST_TOLD = 7 * 86_400.0
UNSAID = 10.0
"""Seconds to leave a vendor alone that says 429 and not for how long."""

LIMITS = frozenset({402, 403, 429})
"""Refusals that may be a limit: 402 of a plan's quota (Toggl), 403 of GitHub and Google, 429 (RFC 6585 §4)."""
OVERLOADED = frozenset({502, 503, 504, 529})
_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)

Clock = Callable[[], float]
LimitReader = Callable[[VendorAnswer], RateLimit | None]

log = logging.getLogger(__name__)


def rate_limit(answer: VendorAnswer, wall_clock: Clock, reads: LimitReader | None = None) -> RateLimit | None:
    """The rate limit that an answer speaks of: with a time in Retry-After, with a spent quota, or as the vendor's
    module `reads` it.

    A spent quota (GitHub's x-ratelimit-remaining) holds for what shares it; Retry-After for everything.
    """
    if not 400 <= answer.status < 500:
        return None
    found = _by_headers(answer, wall_clock) or (_by_module(reads, answer) if reads else None)
    if found is not None:
        return replace(found, seconds=min(max(0.0, found.seconds), LONGEST_TOLD))
    unsaid = answer.status == 429 or (answer.status == 403 and _is_spent(answer))
    return RateLimit(UNSAID, everything=False) if unsaid else None


def _by_headers(answer: VendorAnswer, wall_clock: Clock) -> RateLimit | None:
    if answer.status not in LIMITS:
        return None
    told = retry_after(answer, wall_clock)
    if told is not None:
        return RateLimit(told)
    if answer.status == 402 or not _is_spent(answer):
        return None
    left = _until_reset(answer, wall_clock)
    return None if left is None else RateLimit(left, everything=False)


def _by_module(reads: LimitReader, answer: VendorAnswer) -> RateLimit | None:
    try:
        found = reads(answer)
        return found if found is not None and math.isfinite(found.seconds) else None
    except Exception as error:  # noqa: BLE001 a body that a module did not expect must not hide the refusal itself
        log.error("a module failed to read a rate limit: %s", type(error).__name__)
        return None


def _is_spent(answer: VendorAnswer) -> bool:
    return answer.headers.get("x-ratelimit-remaining") == "0"


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

    `attempt` counts from 0; `told` is what an overloaded vendor or a rate limit asks for; `chance`, 0 to 1, spreads
    those that failed together.
    """
    if attempt >= MOST_RETRIES:
        return None
    backoff = FIRST_PAUSE * 2**attempt * (0.5 + chance)
    if isinstance(outcome, Failure):
        return backoff if outcome.passing and (repeatable or outcome.unsent) else None
    if not repeatable:
        return None
    if told is not None:
        return told + 0.25 * chance if told <= LONGEST_PAUSE else None
    return backoff if outcome.status in OVERLOADED else None


def _until_reset(answer: VendorAnswer, wall_clock: Clock) -> float | None:
    text = answer.headers.get("x-ratelimit-reset", "")
    if not re.fullmatch(r"[0-9]{1,11}", text, re.ASCII):
        return None
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
