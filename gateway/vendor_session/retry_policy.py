"""Retry policy of requests to vendors, and the pause before a retry."""

import logging
import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from core.http.credential_headers import QuotaRule
from core.log_events import describe_error
from gateway.vendor_session.answer_reader import ExchangeFailure
from modules.kit import RateLimit, VendorAnswer

MAX_RETRIES = 2
FIRST_PAUSE = 0.2
MAX_PAUSE = 10.0
"""Whoever has to wait longer is better told so than kept."""
MAX_ANNOUNCED_PAUSE = 7 * 86_400.0
DEFAULT_RATE_LIMIT_PAUSE = 10.0
"""Seconds to leave a vendor alone that says 429 and not for how long."""

RATE_LIMIT_STATUSES = frozenset({402, 403, 429})
"""Refusals that may be a limit: 402 of a plan's quota (Toggl), 403 of GitHub and Google, 429 (RFC 6585 §4)."""
OVERLOAD_STATUSES = frozenset({502, 503, 504, 529})
_FIRST_UNIX_TIME = 10**9
"""What is less is no moment of today's (2001) but a number of seconds."""
_ISO_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)
_NOTHING_LEFT = re.compile(r"0|-[0-9]{1,9}", re.ASCII)

Clock = Callable[[], float]
Read = TypeVar("Read")
LimitReader = Callable[[VendorAnswer], RateLimit | None]

log = logging.getLogger(__name__)


def find_rate_limit(
    answer: VendorAnswer, wall_clock: Clock, reads: LimitReader | None = None, quota: QuotaRule | None = None
) -> RateLimit | None:
    """Find the rate limit that an answer speaks of: with a time in Retry-After, with a spent quota, as the provider's
    data say of a `quota`, or as the vendor's module `reads` it.

    A spent quota (GitHub's x-ratelimit-remaining) holds for what shares it; Retry-After for everything.
    """
    if not 400 <= answer.status < 500:
        return None
    limit = _read_header_limit(answer, wall_clock) or _read_quota(quota, answer) or _read_module_limit(reads, answer)
    if limit is not None:
        return replace(limit, seconds=min(max(0.0, limit.seconds), MAX_ANNOUNCED_PAUSE))
    is_unannounced = answer.status == 429 or (answer.status == 403 and _is_spent(answer))
    return RateLimit(DEFAULT_RATE_LIMIT_PAUSE, everything=False) if is_unannounced else None


def _read_header_limit(answer: VendorAnswer, wall_clock: Clock) -> RateLimit | None:
    if answer.status not in RATE_LIMIT_STATUSES:
        return None
    retry_after = parse_retry_after(answer, wall_clock)
    if retry_after is not None:
        return RateLimit(retry_after)
    if answer.status == 402 or not _is_spent(answer):
        return None
    seconds = _parse_reset_seconds(answer, wall_clock)
    return None if seconds is None else RateLimit(seconds, everything=False)


def _read_quota(quota: QuotaRule | None, answer: VendorAnswer) -> RateLimit | None:
    """Read the limit of a provider's own quota; None for an answer of the same status that speaks of no quota."""
    if quota is None or answer.status != quota.status:
        return None
    seconds = answer.headers.get(quota.resets_in, "").strip()
    left = answer.headers.get(quota.remaining, "").strip() if quota.remaining else ""
    if (left and not _NOTHING_LEFT.fullmatch(left)) or not (left or _SECONDS.fullmatch(seconds)):
        return None
    pause = float(seconds) if _SECONDS.fullmatch(seconds) else DEFAULT_RATE_LIMIT_PAUSE
    return RateLimit(pause, everything=False)


def _read_module_limit(reads: LimitReader | None, answer: VendorAnswer) -> RateLimit | None:
    limit = read_with_module(reads, answer)
    return limit if limit is not None and math.isfinite(limit.seconds) else None


def read_with_module(reads: Callable[[VendorAnswer], Read] | None, answer: VendorAnswer) -> Read | None:
    """Let a module read an answer; None where it has no reader, or one that fails."""
    if reads is None:
        return None
    try:
        return reads(answer)
    except Exception as error:  # noqa: BLE001 a body that a module did not expect must not hide the refusal itself
        log.error(
            "a module's reader of refusals failed", extra={"event": "refusal_reader_failed", **describe_error(error)}
        )
        return None


def _is_spent(answer: VendorAnswer) -> bool:
    return answer.headers.get("x-ratelimit-remaining") == "0"


def parse_retry_after(answer: VendorAnswer, wall_clock: Clock) -> float | None:
    """Retry-After in seconds, from either form (RFC 9110 §10.2.3); None if it is missing or neither."""
    text = answer.headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    moment = _parse_http_date(text)
    return None if moment is None else max(0.0, moment - _get_vendor_time(answer, wall_clock))


def compute_pause(
    attempt: int, outcome: "VendorAnswer | ExchangeFailure", *, repeatable: bool, announced: float | None, chance: float
) -> float | None:
    """Seconds to wait before the request is sent again, or None to leave it.

    `attempt` counts from 0; `announced` is the pause that an overloaded vendor or a rate limit asks for; `chance`, 0 to
    1, spreads requests that failed together.
    """
    if attempt >= MAX_RETRIES:
        return None
    backoff = FIRST_PAUSE * 2**attempt * (0.5 + chance)
    if isinstance(outcome, ExchangeFailure):
        return backoff if outcome.transient and (repeatable or outcome.unsent) else None
    if not repeatable:
        return None
    if announced is not None:
        return announced + 0.25 * chance if announced <= MAX_PAUSE else None
    return backoff if outcome.status in OVERLOAD_STATUSES else None


def _parse_reset_seconds(answer: VendorAnswer, wall_clock: Clock) -> float | None:
    text = answer.headers.get("x-ratelimit-reset", "")
    if _ISO_MOMENT.fullmatch(text):  # Jira
        moment = _parse_iso_moment(text)
        return None if moment is None else max(0.0, moment - _get_vendor_time(answer, wall_clock))
    if not re.fullmatch(r"[0-9]{1,11}", text, re.ASCII):
        return None
    # Unix time (GitHub), or seconds from now (Supabase; draft-ietf-httpapi-ratelimit-headers-03).
    value = float(text)
    return value if value < _FIRST_UNIX_TIME else max(0.0, value - _get_vendor_time(answer, wall_clock))


def _parse_iso_moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None  # there is no such day


def _get_vendor_time(answer: VendorAnswer, wall_clock: Clock) -> float:
    """Return the time of the vendor's Date header, which its other times refer to; ours without one."""
    vendor_time = _parse_http_date(answer.headers.get("date", ""))
    return wall_clock() if vendor_time is None else vendor_time


def _parse_http_date(text: str) -> float | None:
    if not text or len(text) > 64:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
