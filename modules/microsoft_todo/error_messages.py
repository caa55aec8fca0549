"""Error texts for Microsoft Graph's refusals, in our own words (https://learn.microsoft.com/graph/errors).

Graph's messages repeat what was sent, and a model takes the text of an error for ours. So none is passed on: its `code`
chooses a text.
"""

from collections.abc import Mapping
from typing import Any, cast

from modules.kit import VendorAnswer, VendorProblem
from modules.kit.vendor import VendorProblemKind

NOT_FOUND: tuple[VendorProblemKind, str] = (
    "not_found",
    "Microsoft To Do has no such list, task or step: ids change when a task moves to another list; read the list again",
)
_CHANGED: tuple[VendorProblemKind, str] = (
    "conflict",
    "somebody changed it meanwhile: read it again, and give the etag that it has now, if any",
)
_NO_MAILBOX: tuple[VendorProblemKind, str] = (
    "forbidden",
    "the connected account has no mailbox in Exchange Online, where To Do keeps its tasks: connect another account",
)
_TEXTS: Mapping[str, tuple[VendorProblemKind, str]] = {
    "erroritemnotfound": NOT_FOUND,
    "itemnotfound": NOT_FOUND,
    "resourcenotfound": NOT_FOUND,
    "errorinvalidid": NOT_FOUND,
    "errorinvalididmalformed": ("invalid", "an id is none of To Do's: take ids from the lists"),
    "requestbroker--parseuri": ("invalid", "an id is none of To Do's: take ids from the lists"),
    "errorirresolvableconflict": _CHANGED,
    "preconditionfailed": _CHANGED,
    "mailboxnotenabledforrestapi": _NO_MAILBOX,
    "mailboxnotsupportedforrestapi": _NO_MAILBOX,
    "erroraccessdenied": (
        "forbidden",
        "the account was connected without the permission for this (Tasks.ReadWrite), or may not change a list that is "
        "shared with it: connect it again, or ask the list's owner",
    ),
    "errorcannotdeleteobject": ("forbidden", "To Do's own lists (Tasks, Flagged emails) cannot be renamed or deleted"),
    "errorquotaexceeded": ("forbidden", "the account's mailbox is full: something has to be deleted first"),
    "errorpropertyvalidationfailure": (
        "invalid",
        "To Do refuses a value: check due, reminder and recurrence against each other",
    ),
}


def explain_problem(problem: VendorProblem) -> VendorProblem:
    """`problem` with a text that says what to do."""
    if problem.answer is None or problem.unknown or problem.answer.status == 401 or problem.kind == "rate_limited":
        return problem  # the session knows more: about the way, the credential or the pause
    kind, text = _choose_text(problem.answer, problem.kind)
    if not text:
        return problem
    return VendorProblem(kind, text, retry_after=problem.retry_after, answer=problem.answer)


def is_conflict(problem: VendorProblem) -> bool:
    """Check whether another change came in between (https://learn.microsoft.com/graph/errors)."""
    answer = problem.answer
    return answer is not None and answer.status == 409 and _read_code(answer) == "errorirresolvableconflict"


def is_changed(problem: VendorProblem) -> bool:
    """Check whether it has another version than the change was for; nothing was changed."""
    answer = problem.answer
    codes = ("errorirresolvableconflict", "preconditionfailed")
    return answer is not None and answer.status in (409, 412) and _read_code(answer) in codes


def _choose_text(answer: VendorAnswer, kind: VendorProblemKind) -> tuple[VendorProblemKind, str]:
    code = _read_code(answer)
    if code in _TEXTS:
        return _TEXTS[code]
    match answer.status:
        case 400:
            return "invalid", "To Do refuses the values: check them against the tool schema"
        case 403:
            return _TEXTS["erroraccessdenied"]
        case 404 | 410:
            return NOT_FOUND
        case 412:
            return _CHANGED
        case _:
            return kind, ""


def _read_code(answer: VendorAnswer) -> str:
    try:
        raw = answer.json()
    except VendorProblem:
        return ""  # a proxy's page, perhaps
    error = cast("Mapping[str, Any]", raw).get("error") if isinstance(raw, Mapping) else None
    return str(cast("Mapping[str, Any]", error).get("code") or "").lower() if isinstance(error, Mapping) else ""
