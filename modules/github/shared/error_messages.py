"""Error texts for GitHub's refusals, in our own words.

GitHub's messages repeat what strangers wrote (branch names, titles, queries), and a model takes the text of an error
for ours. So none is passed on: messages that are known become a text of ours, and of a validation error only names of
fields and codes remain (https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api). No text
names a tool: its reader may not have it.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from modules.github.shared.known_messages import KNOWN_MESSAGES
from modules.kit import RateLimit, VendorAnswer, VendorProblem
from modules.kit.vendor import VendorProblemKind

NOT_FOUND = (
    "GitHub has no such resource, or the connected account has no access to it: check the names, and whether the "
    "account may see this repository"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.\[\]-]{0,59}")
_SCOPES = re.compile(r"[a-z_:]{1,40}(, ?[a-z_:]{1,40}){0,20}")
_PERMISSIONS = re.compile(r"[a-z_]{1,40}=[a-z]{1,10}([,;] ?[a-z_]{1,40}=[a-z]{1,10}){0,20}")
_KINDS: Mapping[int, VendorProblemKind] = {405: "conflict", 409: "conflict", 410: "not_found", 422: "invalid"}
_FULL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}")
# What GitHub says of values by itself: its own words, names of its fields, and numbers.
_FIXED_SENTENCES = tuple(
    (re.compile(rf"(?m)^(?:Invalid request\.|Validation Failed:?)?\s*{pattern}\.?$", re.IGNORECASE), text)
    for pattern, text in (
        (r"(\d{1,12}) must be (less|greater) than or equal to (\d{1,12})", "{0} must be {1} than or equal to {2}"),
        (r"[\"']?([a-z][a-z_]{1,39})[\"']? is too long \(maximum is (\d{1,9}) characters\)",
         "{0} is too long: at most {1} characters"),
        (r"[\"']?([a-z][a-z_]{1,39})[\"']? is too short \(minimum is (\d{1,9}) characters?\)",
         "{0} is too short: at least {1} characters"),
        (r"[\"']([a-z][a-z_]{1,39})[\"'] wasn't supplied", "{0} is missing"),
        (r"[\"']([a-z][a-z_]{1,39})[\"'] is not a permitted key", "{0} is not taken here"),
        (r"[\"']?([a-z][a-z_]{1,39})[\"']? can.?t be blank", "{0} cannot be empty"),
        (r"For 'properties/([a-z][a-z_]{1,39})', .{1,500}? is not an? (string|number|integer|boolean|array|object)",
         "{0} is not of the type {1}"),
    )
)  # fmt: skip
_MAX_FIELDS = 10
_MAX_MESSAGE_LENGTH = 2000
_LOGINS = re.compile(r"max(?:imum)? number of login attempts? exceeded", re.IGNORECASE)
_PAUSE = re.compile(rf"secondary rate limit|abuse|{_LOGINS.pattern}", re.IGNORECASE)
MINUTE, HOUR = 60.0, 3600.0
_MAX_ERRORS = 100


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A vendor's answer, taken apart. `message` is only ever compared, never shown."""

    answer: VendorAnswer
    message: str
    errors: tuple[Mapping[str, Any], ...]

    def header(self, name: str, form: re.Pattern[str]) -> str:
        """Return a header's value if it has the expected form, else ""."""
        value = self.answer.headers.get(name, "").strip()
        return value if form.fullmatch(value) else ""


def explain_problem(problem: VendorProblem, missing: str = "", moved_to: str = "") -> VendorProblem:
    """`problem` with a text that says what to do. `missing` is what a 404 means for this request; `moved_to` is the new
    name of a repository that was renamed."""
    if problem.answer is None or problem.unknown or problem.answer.status == 401:
        return problem  # the session knows more: about the way, or about the credential
    refusal = _parse_refusal(problem.answer)
    if problem.kind == "rate_limited":
        return _explain_rate_limit(refusal, problem)
    text = _choose_text(refusal, missing, moved_to)
    if not text:
        return problem
    kind = _KINDS.get(problem.answer.status, problem.kind)
    return VendorProblem(kind, text, retry_after=problem.retry_after, answer=problem.answer)


def _choose_text(refusal: _Refusal, missing: str, moved_to: str) -> str:
    known_text = next((text for form, text in KNOWN_MESSAGES if form.search(refusal.message)), "")
    match refusal.answer.status:
        case 404:
            return (known_text or missing or NOT_FOUND) + _describe_missing_access(refusal)
        case 301 | 302 | 307 | 308:
            unchanged = ", and nothing was changed" if refusal.answer.write else ""
            advice = f"it is now {moved_to}" if _FULL_NAME.fullmatch(moved_to) else "look for its new name and use that"
            return f"the repository was renamed or moved{unchanged}: {advice}"
        case 403:
            reason = known_text or f"the connected account may not do this{_describe_missing_access(refusal)}"
            return f"GitHub refuses: {reason}"
        case 400 | 422:
            reason = (
                known_text
                or _format_fixed_sentences(refusal)
                or _format_fields(refusal)
                or "check them against the tool schema"
            )
            return f"GitHub refuses the values: {reason}"
        case 406:
            return f"GitHub refuses: {known_text}" if known_text else ""
        case 451:
            return "GitHub has blocked this repository for legal reasons: nobody can read it"
        case 405 | 409 | 410:
            return f"GitHub refuses: {known_text or 'the current state does not allow this; read it again'}"
        case _:
            return ""


def read_rate_limit(answer: VendorAnswer) -> RateLimit | None:
    """GitHub's limits whose time no header says: it asks for a minute then, and the primary limit is one of an hour
    (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api)."""
    if answer.status not in (403, 429):
        return None
    if answer.headers.get("x-ratelimit-remaining") == "0":
        return RateLimit(HOUR, everything=False)
    is_secondary = answer.status == 429 or _PAUSE.search(_parse_refusal(answer).message)
    return RateLimit(MINUTE) if is_secondary else None


def _explain_rate_limit(refusal: _Refusal, problem: VendorProblem) -> VendorProblem:
    """Explain a rate limit: the primary one ends at a known time, the others ask for a pause."""
    wait = problem.retry_after or MINUTE
    if "retry-after" not in refusal.answer.headers and refusal.answer.headers.get("x-ratelimit-remaining") == "0":
        resource = refusal.header("x-ratelimit-resource", _WORD) or "core"
        text = f"GitHub's rate limit ({resource}) of the connected account is used up"
    elif _LOGINS.search(refusal.message):
        text = "GitHub takes no request of this account for a while, because too many came with wrong credentials"
    else:
        text = "GitHub asks for a pause (secondary rate limit): send fewer requests at once"
    retry = f"try again in {max(1, math.ceil(wait))} s"
    return VendorProblem("rate_limited", text, retry=retry, retry_after=wait, answer=refusal.answer)


def _describe_missing_access(refusal: _Refusal) -> str:
    """Which scope or permission would do, where GitHub's headers name it and the credential lacks it."""
    permissions = refusal.header("x-accepted-github-permissions", _PERMISSIONS)
    if permissions:
        return f"; this needs the permission {permissions}"
    accepted = _split_scopes(refusal.header("x-accepted-oauth-scopes", _SCOPES))
    granted = _split_scopes(refusal.header("x-oauth-scopes", _SCOPES))
    if not accepted or accepted & granted or "x-oauth-scopes" not in refusal.answer.headers:
        return ""
    scopes = ", ".join(sorted(granted)) or "none"
    return f"; this needs the scope {' or '.join(sorted(accepted))}, and the token has {scopes}"


def _split_scopes(scopes: str) -> set[str]:
    return {scope.strip() for scope in scopes.split(",")} - {""}


def _format_fields(refusal: _Refusal) -> str:
    fields = [
        f"{_to_word(error.get('field')) or 'request'} {_to_word(error.get('code')) or 'invalid'}"
        for error in refusal.errors
    ]
    return ", ".join(dict.fromkeys(fields[:_MAX_FIELDS]))


def _format_fixed_sentences(refusal: _Refusal) -> str:
    """The sentences of GitHub's that hold nothing but its own words and numbers."""
    return ", ".join(
        text.format(*(group.lower() for group in found.groups()))
        for form, text in _FIXED_SENTENCES
        if (found := form.search(refusal.message))
    )


def _to_word(value: object) -> str:
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""


def _parse_refusal(answer: VendorAnswer) -> _Refusal:
    try:
        raw = answer.json()
    except VendorProblem:
        raw = None  # a proxy's page, perhaps
    document: Mapping[str, Any] = cast("Any", raw) if isinstance(raw, Mapping) else {}
    errors = document.get("errors")
    entries = cast("list[Any]", errors)[:_MAX_ERRORS] if isinstance(errors, list) else []
    messages = [document.get("message"), *_iterate_messages(entries)]
    text = "\n".join(message for message in messages if isinstance(message, str))
    mappings = (cast("Mapping[str, Any]", error) for error in entries if isinstance(error, Mapping))
    return _Refusal(answer, text[:_MAX_MESSAGE_LENGTH], tuple(mappings))


def _iterate_messages(errors: list[Any]) -> Iterator[Any]:
    for error in errors:
        yield cast("Mapping[str, Any]", error).get("message") if isinstance(error, Mapping) else error
