"""Classification of responses without tokens (threat-model.md §3.2): by the vendor's error code, else by status.

Some vendors send errors with status 200, or with 403 instead of 400; an error that RFC 6749 §5.2 assigns to the client
may mean a revoked grant. The provider's own rules describe this and are applied first.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Any, cast

from broker.oauth_client.token_response import resolve_pointer
from broker.oauth_client.types import ErrorClass, GrantKind
from broker.oauth_client.vendor_http import VendorResponse
from broker.providers import error_reasons
from broker.providers.schema import ErrorRule, OAuthServer

MAX_RETRY_AFTER = 86_400.0
OVERLOAD_STATUSES = frozenset({503, 529})
NOT_FOUND_STATUSES = frozenset({404, 405, 410})
TIMEOUT_STATUSES = frozenset({408, 425})

P, S, T, U = ErrorClass.PERMANENT, ErrorClass.SERVICE, ErrorClass.THROTTLED, ErrorClass.UNCERTAIN

ERROR_CODES: Mapping[str, tuple[ErrorClass, str]] = MappingProxyType(
    {
        # RFC 6749 §5.2, RFC 8707, OpenID Connect Core 1.0 §3.1.2.6
        "invalid_grant": (P, error_reasons.REVOKED),
        "invalid_client": (S, error_reasons.CLIENT_REFUSED),
        "unauthorized_client": (S, error_reasons.CLIENT_NOT_ALLOWED),
        "unsupported_grant_type": (S, error_reasons.CLIENT_NOT_ALLOWED),
        "invalid_scope": (S, error_reasons.SCOPE_REFUSED),
        "invalid_request": (S, error_reasons.REQUEST_REFUSED),
        "invalid_target": (S, error_reasons.REQUEST_REFUSED),
        "interaction_required": (P, error_reasons.INTERACTION),
        "login_required": (P, error_reasons.INTERACTION),
        "consent_required": (P, error_reasons.INTERACTION),
        "server_error": (U, error_reasons.SERVER_ERROR),
        "temporarily_unavailable": (T, error_reasons.UNAVAILABLE),
        "slow_down": (T, error_reasons.TOO_MANY),
        # GitHub
        "bad_refresh_token": (P, error_reasons.REVOKED),
        "bad_verification_code": (P, error_reasons.CODE_REFUSED),
        "incorrect_client_credentials": (S, error_reasons.CLIENT_REFUSED),
        "redirect_uri_mismatch": (S, error_reasons.REDIRECT_URI_REFUSED),
        "application_suspended": (S, error_reasons.CLIENT_NOT_ALLOWED),
        "unverified_user_email": (P, error_reasons.INTERACTION),
        # Google
        "deleted_client": (S, error_reasons.CLIENT_REFUSED),
        "disabled_client": (S, error_reasons.CLIENT_REFUSED),
        "org_internal": (S, error_reasons.CLIENT_NOT_ALLOWED),
        "admin_policy_enforced": (S, error_reasons.CLIENT_NOT_ALLOWED),
        "rate_limit_exceeded": (T, error_reasons.TOO_MANY),
        "internal_failure": (U, error_reasons.SERVER_ERROR),
        # Notion
        "rate_limited": (T, error_reasons.TOO_MANY),
        "service_overload": (T, error_reasons.UNAVAILABLE),
        "internal_server_error": (U, error_reasons.SERVER_ERROR),
        "service_unavailable": (T, error_reasons.UNAVAILABLE),
        "missing_version": (S, error_reasons.REQUEST_REFUSED),
        "validation_error": (S, error_reasons.REQUEST_REFUSED),
    }
)
"""The codes that we know: only these, and those of the provider's verdicts, are ever written down."""


@dataclass(frozen=True, slots=True)
class ClassifiedError:
    """Result of a failed request. `vendor_error` is a code that we know, or empty."""

    error_class: ErrorClass
    reason: str
    retry_after: float | None = None
    vendor_error: str = ""


def classify_error(
    oauth: OAuthServer, grant: GrantKind, reply: VendorResponse, answer: Mapping[str, Any] | None, now: datetime
) -> ClassifiedError:
    """Classify a response with the fields `answer`, None where it has none."""
    code = _read_error_code(oauth, answer)
    later = _parse_retry_after(reply.headers, now)
    verdict = _find_rule(oauth, code, answer)
    known_code = code if code in ERROR_CODES or (verdict is not None and verdict.error == code) else ""
    if verdict is not None and verdict.code is not None:
        known_code = f"{known_code}:{verdict.code}".lstrip(":")
    cls, reason = _classify(reply.status, code, verdict, overloaded=later is not None)
    if grant == "authorization_code" and reason == error_reasons.REVOKED:
        reason = error_reasons.CODE_REFUSED
    return ClassifiedError(cls, reason, later if cls is ErrorClass.THROTTLED else None, known_code)


def classify_by_status(reply: VendorResponse, now: datetime) -> ClassifiedError:
    """Classify a response by its status alone."""
    later = _parse_retry_after(reply.headers, now)
    cls, reason = _classify(reply.status, "", None, overloaded=later is not None)
    return ClassifiedError(cls, reason, later if cls is ErrorClass.THROTTLED else None)


def classify_rate_limit(reply: VendorResponse, now: datetime) -> ClassifiedError | None:
    """A refusal that is a limit in truth, as GitHub sends it: by Retry-After or a spent x-ratelimit-remaining."""
    later = _parse_retry_after(reply.headers, now)
    if later is None and reply.headers.get("x-ratelimit-remaining", "").strip() != "0":
        return None
    return ClassifiedError(ErrorClass.THROTTLED, error_reasons.TOO_MANY, later)


def utc_now() -> datetime:
    """Return the present time, for dates in Retry-After."""
    return datetime.now(UTC)


def has_error(oauth: OAuthServer, answer: Mapping[str, Any]) -> bool:
    """Check whether a response of status 200 carries an error."""
    return _read_error_code(oauth, answer) != ""


def _classify(status: int, code: str, verdict: ErrorRule | None, *, overloaded: bool) -> tuple[ErrorClass, str]:
    if status == 429:
        return T, error_reasons.TOO_MANY
    if status in OVERLOAD_STATUSES and overloaded:
        return T, error_reasons.UNAVAILABLE
    if status >= 500:
        return U, error_reasons.SERVER_ERROR
    if verdict is not None:
        return ErrorClass(verdict.cls), verdict.reason
    return _classify_status(status) or ERROR_CODES.get(code) or _classify_unknown(status, code)


def _classify_status(status: int) -> tuple[ErrorClass, str] | None:
    if 300 <= status < 400:
        return S, error_reasons.REDIRECTED
    if status in NOT_FOUND_STATUSES:
        return S, error_reasons.NOT_FOUND
    return (U, error_reasons.TIMEOUT) if status in TIMEOUT_STATUSES else None


def _classify_unknown(status: int, code: str) -> tuple[ErrorClass, str]:
    """An answer that names no error that we know. A refusal of a kind that nobody foresaw is never laid at the
    person's door."""
    if status == 401:
        return S, error_reasons.CLIENT_REFUSED
    if status >= 400 or code:
        return S, error_reasons.REFUSED
    return U, error_reasons.UNREADABLE


def _find_rule(oauth: OAuthServer, code: str, answer: Mapping[str, Any] | None) -> ErrorRule | None:
    if not oauth.verdicts or answer is None:
        return None
    description = next(
        (value for at in oauth.description_at if isinstance(value := resolve_pointer(answer, at), str)), ""
    )
    numbers = answer.get("error_codes")
    codes = cast("list[object]", numbers) if isinstance(numbers, list) else []
    return next(
        (verdict for verdict in oauth.verdicts if _matches_rule(verdict, code, codes, description.lower())), None
    )


def _matches_rule(verdict: ErrorRule, code: str, codes: list[object], description: str) -> bool:
    return (
        (verdict.error is None or verdict.error == code)
        and (verdict.code is None or verdict.code in codes)
        and (verdict.contains is None or verdict.contains.lower() in description)
    )


def _read_error_code(oauth: OAuthServer, answer: Mapping[str, Any] | None) -> str:
    """Return the error code; a single blank for an error of another form."""
    for at in oauth.error_at:
        value = resolve_pointer(answer, at)
        if value not in (None, "", False):
            return value if isinstance(value, str) and len(value) <= 60 else " "
    return ""


def _parse_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds of Retry-After (RFC 9110 §10.2.3), a number or a date; None where there is none."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", value):
        return min(float(value), MAX_RETRY_AFTER)
    then = _parse_date(value)
    if then is None:
        return None
    base = _parse_date(headers.get("date", "")) or now  # the vendor's clock may differ from ours
    return min(max((then - base).total_seconds(), 0.0), MAX_RETRY_AFTER)


def _parse_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
