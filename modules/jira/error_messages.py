"""Error texts for Jira's refusals, in our own words
(https://developer.atlassian.com/cloud/jira/platform/rest/v3/intro/#status-codes).

Jira's messages repeat what was sent and what others wrote. None is passed on: what is known of them chooses a text, and
of `errors` only the names of the fields remain.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from modules.kit import RateLimit, VendorAnswer, VendorProblem
from modules.kit.vendor import VendorProblemKind

_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,60}")
_MAX_MESSAGE_LENGTH = 2000
_SCOPE = "scope does not match"

_KNOWN = [
    (re.compile(pattern, re.IGNORECASE), text)
    for pattern, text in (
        (r"unbounded jql", "jql has no restriction: add one, such as project = ABC"),
        (r"error in the jql query|expecting|reserved jql|is a reserved", "jql has a mistake in its syntax: look at "
         "quotes, operators and parentheses"),
        (r"field '.{0,200}' does not exist", "jql names a field that does not exist or that the account may not see: "
         "look the name up in the list of fields"),
        (r"the value '.{0,300}' does not exist for the field", "jql compares a field with a value that does not exist"),
        (r"cannot be set. it is not on the appropriate screen", "a field is not on the screen of this issue type: "
         "the create fields of the project are those that are"),
        (r"next ?page ?token|pagination token", "the cursor does not belong to this search any more: start at the "
         "beginning"),
        (r"content_limit_exceeded|text is too long|exceeds? .{0,40}(limit|characters)", "a text is longer than Jira "
         "takes: shorten it"),
        (r"invalid_input|atlassian document|not valid.{0,20}document|adf", "a text has a form that Jira does not take "
         "there: put tables, headings and lines beside lists and quotes, not in them, or write simpler Markdown"),
        (r"subtasks", "the issue has subtasks: give delete_subtasks true to delete them, too"),
    )
]  # fmt: skip
_STATUS_TEXTS: Mapping[int, tuple[VendorProblemKind, str]] = {
    403: (
        "forbidden",
        "the connected account lacks the permission for this in Jira: a project's administrator gives it",
    ),
    404: ("not_found", "Jira has no such object, or the connected account may not see it: check the key or id"),
    409: ("conflict", "somebody changed it at the same moment: read it again"),
    413: ("too_large", "it has more than Jira takes of its kind: shorten it"),
}


def explain_problem(problem: VendorProblem) -> VendorProblem:
    """`problem` with a text that says what to do."""
    answer = problem.answer
    if answer is None or problem.unknown or problem.kind == "rate_limited":
        return problem
    message, fields = _read_refusal(answer)
    if answer.status in (401, 403) and _SCOPE in message.lower():
        text = "the connection lacks the scope for this: connect the account again and agree to what this tool needs"
        return VendorProblem("forbidden", text, answer=answer)
    if answer.status == 401:
        return problem  # the session knows more of the credential
    known = next((text for form, text in _KNOWN if form.search(message)), "")
    kind, text = _STATUS_TEXTS.get(answer.status, (problem.kind, ""))
    if answer.status in (400, 422) or (known and answer.status in (403, 404)):
        kind, text = "invalid", f"Jira refuses the values: {_explain_values(known, fields)}"
    return VendorProblem(kind, text, retry_after=problem.retry_after, answer=answer) if text else problem


def _explain_values(known: str, fields: list[str]) -> str:
    named = f"look at {', '.join(fields)}" if fields else ""
    return "; ".join(part for part in (known, named) if part) or "check them against the tool schema"


def lacks_scope(answer: VendorAnswer) -> bool:
    """Check whether a 401 is the gateway's for a token without the scope: ``Unauthorized; scope does not match``
    (https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/)."""
    return _SCOPE in _read_refusal(answer)[0].lower()


def read_rate_limit(answer: VendorAnswer) -> RateLimit | None:
    """Read a limit on writes to one issue, which other requests do not share
    (https://developer.atlassian.com/cloud/jira/platform/rate-limiting/)."""
    reason = answer.headers.get("ratelimit-reason", "")
    seconds = answer.headers.get("retry-after", "")
    if answer.status != 429 or "per-issue" not in reason or not seconds.isdigit():
        return None
    return RateLimit(float(seconds), everything=False)


def _read_refusal(answer: VendorAnswer) -> tuple[str, list[str]]:
    """The messages of a refusal, which are only ever compared, and the fields that it names."""
    try:
        raw = answer.json()
    except VendorProblem:
        return "", []  # a proxy's page, perhaps
    document: Mapping[str, Any] = cast("Any", raw) if isinstance(raw, Mapping) else {}
    messages, errors = document.get("errorMessages"), document.get("errors")
    texts = [str(one) for one in cast("list[Any]", messages)] if isinstance(messages, list) else []
    texts.append(str(document.get("message") or ""))
    found: Mapping[str, Any] = cast("Any", errors) if isinstance(errors, Mapping) else {}
    texts += [str(one) for one in found.values()]
    names = [name for name in found if _FIELD.fullmatch(name)]
    return " ".join(texts)[:_MAX_MESSAGE_LENGTH], names[:10]
