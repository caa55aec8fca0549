"""Error texts for Confluence's refusals, in our own words
(https://developer.atlassian.com/cloud/confluence/rest/v2/intro/#about).

Confluence's messages repeat what was sent and what others wrote. None is passed on: what is known of them chooses a
text. They come in three forms: those of version 2, of version 1, and of the gateway before both.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from modules.kit import RateLimit, VendorAnswer, VendorProblem
from modules.kit.vendor import VendorProblemKind

_MAX_MESSAGE_LENGTH = 2000
_CHANGED = "somebody changed it at the same moment: read it again, and change what it is now. Nothing was changed"

_KNOWN = [
    (re.compile(pattern, re.IGNORECASE), text)
    for pattern, text in (
        (r"parse cql|cql", "cql has a mistake: look at quotes, operators, names of fields and values"),
        (r"title already exists|same title", "the space has a page with this title already: choose another title, or "
         "change that page"),
        (r"parsing xhtml|xhtml|storage format|not well-?formed", "the text has markup that Confluence does not take: "
         "write it in plain Markdown"),
        (r"invalid.{0,20}cursor|cursor.{0,20}(invalid|not)", "the cursor does not belong to this list any more: start "
         "at the beginning"),
        (r"parent.{0,60}(not|invalid|exist)", "the parent page does not exist in that space, or may not be seen"),
        (r"too (long|large|big)|exceeds?.{0,40}(limit|size|characters)", "the text is longer than Confluence takes: "
         "shorten it, or make several pages of it"),
        (r"label.{0,60}(invalid|character|not)|invalid.{0,20}label", "a label has signs that Confluence does not "
         "take: use letters, digits, - and _"),
        (r"is not the correct type|contentid", "an id is none of Confluence's: take ids from the lists"),
        (r"purge|not.{0,20}trash", "only what is in the trash can be purged: delete it first"),
    )
]  # fmt: skip
_STATUS_TEXTS: Mapping[int, tuple[VendorProblemKind, str]] = {
    403: (
        "forbidden",
        "the connected account lacks the permission for this in Confluence: an administrator of the space gives it",
    ),
    404: (
        "not_found",
        "Confluence has no such object, or the connected account may not see it: check the id, and that it is one of a "
        "page where a page is asked for",
    ),
    409: ("conflict", _CHANGED),
    413: ("too_large", "the text is longer than Confluence takes: shorten it, or make several pages of it"),
}


def explain_problem(problem: VendorProblem) -> VendorProblem:
    """`problem` with a text that says what to do."""
    answer = problem.answer
    if answer is None or problem.unknown or problem.kind == "rate_limited":
        return problem  # the session knows more: about the way or the pause
    message = " ".join(_list_texts(answer))[:_MAX_MESSAGE_LENGTH]
    if answer.status in (401, 403) and lacks_scope(answer):
        text = "the connection lacks the scope for this: connect the account again and agree to what this tool needs"
        return VendorProblem("forbidden", text, answer=answer)
    if answer.status == 401:
        return problem  # the session knows more of the credential
    kind, text = _STATUS_TEXTS.get(answer.status, (problem.kind, ""))
    if answer.status in (400, 422):
        known = next((text for form, text in _KNOWN if form.search(message)), "check them against the tool schema")
        kind, text = "invalid", f"Confluence refuses the values: {known}"
        if "version must be incremented" in message.lower():
            kind, text = "conflict", _CHANGED
    return VendorProblem(kind, text, retry_after=problem.retry_after, answer=answer) if text else problem


def lacks_scope(answer: VendorAnswer) -> bool:
    """Check whether a refusal is the gateway's for a token without the scope: ``Unauthorized; scope does not match``
    (https://developer.atlassian.com/cloud/confluence/oauth-2-3lo-apps/)."""
    return "scope" in " ".join(_list_texts(answer))[:_MAX_MESSAGE_LENGTH].lower()


def read_rate_limit(answer: VendorAnswer) -> RateLimit | None:
    """Read a limit whose end is a moment such as ``2026-01-31T12:00:00Z``, where Retry-After is missing
    (https://developer.atlassian.com/cloud/confluence/rate-limiting/)."""
    try:
        end = datetime.fromisoformat(answer.headers.get("x-ratelimit-reset", ""))
        now = parsedate_to_datetime(answer.headers["date"]) if "date" in answer.headers else datetime.now(UTC)
        return RateLimit((end - now).total_seconds()) if answer.status == 429 else None
    except (TypeError, ValueError):
        return None  # no such moment, or one without its zone


def _list_texts(answer: VendorAnswer) -> Iterator[str]:
    """The messages of a refusal, which are only ever compared."""
    try:
        raw = answer.json()
    except VendorProblem:
        return  # a proxy's page, perhaps
    document: Mapping[str, Any] = cast("Any", raw) if isinstance(raw, Mapping) else {}
    errors = document.get("errors")
    for one in (document, *(cast("list[Any]", errors)[:10] if isinstance(errors, list) else ())):
        if isinstance(one, Mapping):
            found: Mapping[str, Any] = cast("Any", one)
            yield from (str(found.get(name) or "") for name in ("code", "title", "detail", "message"))
