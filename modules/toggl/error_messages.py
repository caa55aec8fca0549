"""Error texts for Toggl's refusals, in our own words (https://engineering.toggl.com/docs).

A refusal is a sentence, as JSON or plain. It may repeat what was sent, so none is passed on: a known one chooses ours.
"""

import re
from collections.abc import Mapping

from modules.kit import RateLimit, VendorAnswer, VendorProblem
from modules.kit.vendor import VendorProblemKind

LEAK_SECONDS = 2.0
"""Pause after a 429: Toggl's leaky bucket lets about one request a second through, and names no time."""
_MAX_BYTES = 2_000

_KNOWN: tuple[tuple[int, re.Pattern[str], VendorProblemKind, str], ...] = (
    (
        400,
        re.compile(r"start_date must not be earlier"),
        "invalid",
        "Toggl gives no time entries of so long ago: give a later start_date",
    ),
)
_WRONG_TOKEN = re.compile(rb"incorrect username", re.IGNORECASE)
"""How Toggl refuses a token that it does not know or has reset, with 403."""
_BY_STATUS: Mapping[int, tuple[VendorProblemKind, str]] = {
    400: ("invalid", "Toggl refuses the values: check them against the tool schema, and that the ids exist"),
    403: (
        "forbidden",
        "Toggl refuses: the connected account has not the permission for this in this workspace, or there is none of "
        "this id",
    ),
    404: ("not_found", "Toggl has no such workspace, project or time entry, or the connected account does not see it"),
    409: ("conflict", "the time entry was changed meanwhile; look at it again"),
}


def read_rate_limit(answer: VendorAnswer) -> RateLimit | None:
    """Read the limit of a 429. That of a 402 is in the provider's data."""
    return RateLimit(LEAK_SECONDS) if answer.status == 429 else None


def rejects_token(answer: VendorAnswer) -> bool:
    """Check whether a refusal is that of a token that Toggl does not take. Any other 403 is about a permission."""
    return answer.status == 403 and _WRONG_TOKEN.search(answer.body[:_MAX_BYTES]) is not None


def explain_problem(problem: VendorProblem) -> VendorProblem:
    """`problem` with a text that says what to do."""
    answer = problem.answer
    if answer is None or problem.unknown or problem.kind in ("rate_limited", "unauthorized"):
        return problem  # the session knows more
    message = answer.body[:_MAX_BYTES].decode(errors="replace")
    for status, form, kind, text in _KNOWN:
        if answer.status == status and form.search(message):
            return VendorProblem(kind, text, answer=answer)
    known = _BY_STATUS.get(answer.status)
    return problem if known is None else VendorProblem(*known, retry_after=problem.retry_after, answer=answer)
