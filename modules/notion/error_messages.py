"""Error texts for Notion's refusals, in our own words (https://developers.notion.com/reference/status-codes).

Notion's messages repeat what was sent and what others wrote, and a model takes the text of an error for ours. So none
is passed on: its `code` chooses a text, and of a message only the place in the request remains.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from modules.kit import VendorAnswer, VendorProblem
from modules.kit.vendor import VendorProblemKind

_PLACE = re.compile(r"\bbody((?:\.[a-z_0-9]{1,40}|\[[0-9]{1,4}\]){1,12})")
_MAX_MESSAGE_LENGTH = 2000

# What is known of Notion's messages; the first that is found counts.
_KNOWN = [
    (re.compile(pattern, re.IGNORECASE), text)
    for pattern, text in (
        (r"is archived|in (the )?trash|archived ancestor", "it is in the trash: restore it first (in_trash false)"),
        (r"is not a property that exists|could not find property",
         "there is no property of that name: read the data source"),
        (r"is a database, not a page", "the id is that of a database, not of a page"),
        (r"is a page, not a database", "the id is that of a page, not of a database"),
        (r"multiple data sources", "the database has several data sources: give the id of one of them"),
        (r"is expected to be (a )?(\w+)", "a property's value has another type than its column: read the data source"),
        (r"start_cursor", "the cursor does not belong to this list any more: start at the beginning"),
        (r"old_str|content_range", "the text to replace is not there exactly once: read the page again"),
        (r"is locked", "the page is locked: somebody has to unlock it in Notion"),
    )
]  # fmt: skip
_TEXTS: Mapping[str, tuple[VendorProblemKind, str]] = {
    "object_not_found": (
        "not_found",
        "Notion has no such object, or it is not shared with this connection: check the id, or have somebody share the "
        "page with the connection (in Notion: ••• > Connections)",
    ),
    "restricted_resource": (
        "forbidden",
        "the connection lacks the capability for this: whoever manages it can give it one at Notion's settings of "
        "connections",
    ),
    "conflict_error": ("conflict", "somebody changed it at the same moment: read it again"),
}


def explain_problem(problem: VendorProblem) -> VendorProblem:
    """`problem` with a text that says what to do."""
    if problem.answer is None or problem.unknown or problem.answer.status == 401 or problem.kind == "rate_limited":
        return problem  # the session knows more: about the way, the credential or the pause
    code, message = _read_refusal(problem.answer)
    kind, text = _TEXTS.get(code, (problem.kind, ""))
    if problem.answer.status == 400:
        kind, text = "invalid", _explain_values(message)
    if not text:
        return problem
    return VendorProblem(kind, text, retry_after=problem.retry_after, answer=problem.answer)


def is_conflict(problem: VendorProblem) -> bool:
    """Check whether Notion asks to send the request again (https://developers.notion.com/reference/status-codes)."""
    answer = problem.answer
    return answer is not None and answer.status == 409 and _read_refusal(answer)[0] == "conflict_error"


def _explain_values(message: str) -> str:
    known = next((text for form, text in _KNOWN if form.search(message)), "")
    place = _PLACE.search(message)
    reason = known or (f"look at {place[1].lstrip('.')}" if place else "check them against the tool schema")
    return f"Notion refuses the values: {reason}"


def _read_refusal(answer: VendorAnswer) -> tuple[str, str]:
    """The code of a refusal, and its message, which is only ever compared."""
    try:
        raw = answer.json()
    except VendorProblem:
        return "", ""  # a proxy's page, perhaps
    document: Mapping[str, Any] = cast("Any", raw) if isinstance(raw, Mapping) else {}
    code, message = document.get("code"), document.get("message")
    return str(code or ""), str(message or "")[:_MAX_MESSAGE_LENGTH]
