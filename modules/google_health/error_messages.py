"""Error texts for Google Health's refusals, in our own words (https://developers.google.com/health).

Google's messages repeat what was sent, so none is passed on: the status and the reason beside it choose a text.
"""

from collections.abc import Mapping
from typing import Any, cast

from modules.kit import RateLimit, VendorAnswer, VendorProblem
from modules.kit.vendor import VendorProblemKind

MINUTE = 60.0
"""Seconds; quotas count by minutes, and Google promises no Retry-After."""
LACKING_SCOPE = (
    "forbidden",
    "the account was connected without the permission for this: connect it again and leave every box ticked",
)
_BY_REASON: Mapping[str, tuple[VendorProblemKind, str]] = {
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT": cast("tuple[VendorProblemKind, str]", LACKING_SCOPE),
    "SERVICE_DISABLED": (
        "forbidden",
        "the Google Health API is not enabled in your organisation's Google Cloud project: an administrator enables it "
        "at APIs & Services > Library",
    ),
}
_BY_STATUS: Mapping[int, tuple[VendorProblemKind, str]] = {
    400: ("invalid", "Google Health refuses the values: check the dates, and start at the beginning without a cursor"),
    403: (
        "forbidden",
        "Google Health refuses: the connected account has not the permission for this, or keeps no health data",
    ),
    404: ("not_found", "Google Health has no such data for the connected account"),
}


def read_rate_limit(answer: VendorAnswer) -> RateLimit | None:
    """Read the limit of a 429."""
    return RateLimit(MINUTE) if answer.status == 429 else None


def explain_problem(problem: VendorProblem) -> VendorProblem:
    """`problem` with a text that says what to do."""
    answer = problem.answer
    if answer is None or problem.unknown or problem.kind == "rate_limited" or answer.status == 401:
        return problem  # the session knows more
    known = _BY_REASON.get(_find_reason(answer)) or _BY_STATUS.get(answer.status)
    return problem if known is None else VendorProblem(*known, retry_after=problem.retry_after, answer=answer)


def _find_reason(answer: VendorAnswer) -> str:
    try:
        error = _get_mapping(_get_mapping(answer.json()).get("error"))
    except VendorProblem:
        return ""  # a proxy's page, perhaps
    details = error.get("details")
    found = [_get_mapping(one).get("reason") for one in cast("list[Any]", details)] if isinstance(details, list) else []
    return next((one for one in found if isinstance(one, str) and one in _BY_REASON), "")


def _get_mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
