"""The table of threat-model.md §3.2, row by row, and what holds for every answer whatever it is."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.oauth_client.error_classifier import ERROR_CODES, ClassifiedError, classify_error
from broker.oauth_client.token_response import parse_fields
from broker.oauth_client.types import ErrorClass
from broker.oauth_client.vendor_http import VendorResponse
from broker.providers import error_reasons
from broker.providers.error_reasons import REASONS
from broker.providers.schema import ErrorRule, OAuthServer
from core.connection_causes import CAUSES

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
PLAIN = OAuthServer(authorize_url="https://v.example/a", token_url="https://v.example/t")
PERMANENT, SERVICE, THROTTLED, UNCERTAIN = (
    ErrorClass.PERMANENT,
    ErrorClass.SERVICE,
    ErrorClass.THROTTLED,
    ErrorClass.UNCERTAIN,
)


def told(
    status: int, body: Any = None, oauth: OAuthServer = PLAIN, grant: Any = "refresh_token", **headers: str
) -> ClassifiedError:
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return classify_error(oauth, grant, VendorResponse(status, sent, raw), parse_fields(raw), NOW)


@pytest.mark.parametrize(
    ("status", "body", "cls", "reason"),
    [
        (200, {"error": "bad_refresh_token"}, PERMANENT, error_reasons.REVOKED),
        (400, {"error": "invalid_grant"}, PERMANENT, error_reasons.REVOKED),
        (401, {"error": "invalid_grant"}, PERMANENT, error_reasons.REVOKED),
        (403, {"error": "invalid_grant"}, PERMANENT, error_reasons.REVOKED),
        (400, {"error": "interaction_required"}, PERMANENT, error_reasons.INTERACTION),
        (400, {"error": "consent_required"}, PERMANENT, error_reasons.INTERACTION),
        (401, {"error": "invalid_client"}, SERVICE, error_reasons.CLIENT_REFUSED),
        (200, {"error": "incorrect_client_credentials"}, SERVICE, error_reasons.CLIENT_REFUSED),
        (400, {"error": "unauthorized_client"}, SERVICE, error_reasons.CLIENT_NOT_ALLOWED),
        (400, {"error": "invalid_scope"}, SERVICE, error_reasons.SCOPE_REFUSED),
        (400, {"error": "invalid_request"}, SERVICE, error_reasons.REQUEST_REFUSED),
        (404, None, SERVICE, error_reasons.NOT_FOUND),
        (405, None, SERVICE, error_reasons.NOT_FOUND),
        (301, None, SERVICE, error_reasons.REDIRECTED),
        (429, None, THROTTLED, error_reasons.TOO_MANY),
        (429, {"error": "invalid_grant"}, THROTTLED, error_reasons.TOO_MANY),
        (400, {"error": "temporarily_unavailable"}, THROTTLED, error_reasons.UNAVAILABLE),
        (400, {"error": "slow_down"}, THROTTLED, error_reasons.TOO_MANY),
        (500, {"error": "invalid_grant"}, UNCERTAIN, error_reasons.SERVER_ERROR),
        (502, b"<html>", UNCERTAIN, error_reasons.SERVER_ERROR),
        (503, None, UNCERTAIN, error_reasons.SERVER_ERROR),
        (504, None, UNCERTAIN, error_reasons.SERVER_ERROR),
        (400, {"error": "server_error"}, UNCERTAIN, error_reasons.SERVER_ERROR),
        (408, None, UNCERTAIN, error_reasons.TIMEOUT),
        (200, b"<html>", UNCERTAIN, error_reasons.UNREADABLE),
        (200, {}, UNCERTAIN, error_reasons.UNREADABLE),
        (202, None, UNCERTAIN, error_reasons.UNREADABLE),
        (204, None, UNCERTAIN, error_reasons.UNREADABLE),
        # what nobody foresaw is not laid at the person's door
        (400, {"error": "made_up_by_the_vendor"}, SERVICE, error_reasons.REFUSED),
        (200, {"error": "made_up_by_the_vendor"}, SERVICE, error_reasons.REFUSED),
        (400, {"error": {"code": 400, "status": "INVALID_ARGUMENT"}}, SERVICE, error_reasons.REFUSED),
        (400, {"error": "x" * 100}, SERVICE, error_reasons.REFUSED),
        (400, {"message": "no"}, SERVICE, error_reasons.REFUSED),
        (401, None, SERVICE, error_reasons.CLIENT_REFUSED),
        (403, b"<html>blocked</html>", SERVICE, error_reasons.REFUSED),
        (418, None, SERVICE, error_reasons.REFUSED),
    ],
)
def test_an_answer_means(status: int, body: Any, cls: ErrorClass, reason: str) -> None:
    found = told(status, body)
    assert (found.error_class, found.reason) == (cls, reason)


def test_a_code_that_is_refused_is_no_revocation() -> None:
    assert told(400, {"error": "invalid_grant"}, grant="authorization_code").reason == error_reasons.CODE_REFUSED


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "30"}, 30.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after": "999999999"}, 86_400.0),
        ({"retry_after": "Sun, 22 Nov 2026 12:00:45 GMT"}, 45.0),
        ({"retry_after": "Sun, 22 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry_after": "Sun, 22 Nov 2026 12:00:45 GMT", "date": "Sun, 22 Nov 2026 12:00:15 GMT"}, 30.0),
    ],
)
def test_when_to_come_again(headers: dict[str, str], seconds: float) -> None:
    for status in (429, 503, 529):
        found = told(status, None, PLAIN, "refresh_token", **headers)
        assert (found.error_class, found.retry_after) == (THROTTLED, seconds)


def test_only_what_was_not_processed_is_to_come_again_then() -> None:
    for status, body in ((400, {"error": "invalid_grant"}), (401, {"error": "invalid_client"}), (500, None)):
        assert told(status, body, PLAIN, "refresh_token", retry_after="30").retry_after is None


@pytest.mark.parametrize("text", ["soon", "-5", "1e9", "", "٣", "Sun, 99 Nov 2026 12:00:45 GMT"])
def test_nonsense_about_when_to_come_again_is_none(text: str) -> None:
    assert told(503, retry_after=text).error_class is UNCERTAIN
    assert told(429, retry_after=text).retry_after is None


def test_verdicts_are_asked_before_the_table_and_all_that_they_say_has_to_fit() -> None:
    verdicts = (
        ErrorRule.model_validate({"error": "e1", "contains": "Token Gone", "class": "permanent", "reason": "expired"}),
        ErrorRule.model_validate({"code": 7, "class": "throttled", "reason": "unavailable"}),
        ErrorRule.model_validate({"error": "invalid_client", "class": "permanent", "reason": "revoked"}),
    )
    oauth = PLAIN.model_copy(update={"verdicts": verdicts})
    assert (
        told(400, {"error": "e1", "error_description": "the token gone, sorry"}, oauth).reason == error_reasons.EXPIRED
    )
    assert told(400, {"error": "e1", "error_description": "another text"}, oauth).reason == error_reasons.REFUSED
    assert told(400, {"error": "e2", "error_codes": [3, 7]}, oauth).error_class is THROTTLED
    assert told(400, {"error": "e2", "error_codes": ["7"]}, oauth).error_class is SERVICE
    assert told(400, {"error": "invalid_client"}, oauth).error_class is PERMANENT
    assert told(500, {"error": "invalid_client"}, oauth).error_class is UNCERTAIN
    assert told(429, {"error": "invalid_client"}, oauth).error_class is THROTTLED


def test_only_codes_that_we_know_are_written_down() -> None:
    verdict = ErrorRule.model_validate({"error": "known_here", "class": "service", "reason": "refused"})
    oauth = PLAIN.model_copy(update={"verdicts": (verdict,)})
    assert told(400, {"error": "known_here"}, oauth).vendor_error == "known_here"
    assert told(400, {"error": "rt_a-token-that-the-vendor-repeats"}, oauth).vendor_error == ""
    assert told(400, {"error": "invalid_grant"}, oauth).vendor_error == "invalid_grant"
    numbered = ErrorRule.model_validate({"code": 700082, "class": "permanent", "reason": "expired"})
    oauth = PLAIN.model_copy(update={"verdicts": (numbered,)})
    body = {"error": "invalid_grant", "error_codes": [700082]}
    assert told(400, body, oauth).vendor_error == "invalid_grant:700082"


def test_every_reason_has_a_meaning() -> None:
    words = {value for name, value in vars(error_reasons).items() if name.isupper() and isinstance(value, str)}
    assert words == REASONS <= CAUSES.keys()
    assert {reason for _, reason in ERROR_CODES.values()} <= words


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
ANSWERS = st.dictionaries(
    st.sampled_from(["error", "error_description", "error_codes", "message", "code"]) | st.text(max_size=5),
    ANY_JSON | st.sampled_from(sorted(ERROR_CODES)),
    max_size=5,
)


@given(status=st.integers(200, 599), answer=ANSWERS | st.none(), later=st.text(max_size=30))
def test_no_answer_is_too_strange(status: int, answer: dict[str, Any] | None, later: str) -> None:
    verdict = ErrorRule.model_validate({"contains": "gone", "code": 1, "class": "permanent", "reason": "revoked"})
    oauth = PLAIN.model_copy(update={"verdicts": (verdict,), "error_at": ("/error", "/code/0/x", "/error/1")})
    found = classify_error(oauth, "refresh_token", VendorResponse(status, {"retry-after": later}, b""), answer, NOW)
    assert found.reason in REASONS
    assert found.vendor_error in {"", *ERROR_CODES}
    if found.error_class is ErrorClass.PERMANENT:  # never blamed on the person without the vendor's own word
        assert answer
        assert 200 <= status < 500
    if status >= 500:
        assert found.error_class in (UNCERTAIN, THROTTLED)
    assert found.retry_after is None or 0 <= found.retry_after <= 86_400
