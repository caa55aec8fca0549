"""Parser of successful token responses."""

import base64
import binascii
import math
import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson

from broker.oauth_client.types import TokenSet
from broker.providers.schema import AccountLookup, AccountPointers, Provider
from core.secret import Secret

MOST_FIELDS = 200
LONGEST_TEXT = 200
_FORM = re.compile(rb"[A-Za-z_][A-Za-z0-9_.-]*=[\x21-\x7e]*")


def parse_fields(body: bytes) -> Mapping[str, Any] | None:
    """The object that an answer is; None where it is none. Which form it has is seen from itself: vendors send either
    under any media type."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _parse_form(body)
    return cast("dict[str, Any]", document) if isinstance(document, dict) else None


def resolve_pointer(document: object, pointer: str) -> object:
    """Resolve a JSON pointer (RFC 6901); None where it points to nothing."""
    value: Any = document
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = cast("dict[str, Any]", value).get(key)
        elif isinstance(value, list) and re.fullmatch("[0-9]{1,4}", key):
            value = next(iter(cast("list[Any]", value)[int(key) : int(key) + 1]), None)
        else:
            return None
    return value


def clean_text(value: object) -> str:
    """Return a name or id fit to be stored and shown; empty where it is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**30 else ""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in value[:LONGEST_TEXT]).split())


def resolve_text(document: object, *pointers: str) -> str:
    """Return the text at the first pointer that points to one."""
    return next((value for pointer in pointers if (value := clean_text(resolve_pointer(document, pointer)))), "")


def _parse_form(body: bytes) -> Mapping[str, Any] | None:
    body = body.strip()
    if not all(_FORM.fullmatch(part) for part in body.split(b"&", MOST_FIELDS)):
        return None
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        return None
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else None  # a field twice: which one is meant?


MOST_TOKEN = 16_384
MOST_SCOPES = 500
LONGEST_SECONDS = 10 * 366 * 86_400.0

_TOKEN = re.compile(r"[\x21-\x7e]+")
_SECONDS = re.compile(r"[0-9]{1,10}(\.[0-9]{1,6})?")
_OTHER_TYPES = frozenset({"dpop", "mac", "pop", "n_a"})


class UnusableTokens(Exception):
    """The response has no usable tokens; `other_type` tells that its token type is not for an Authorization header."""

    def __init__(self, *, other_type: bool = False) -> None:
        super().__init__()
        self.other_type = other_type


def read_tokens(provider: Provider, client_id: str, answer: Mapping[str, Any]) -> TokenSet:
    """Parse the tokens of a successful response (RFC 6749 §5.1).

    Raises:
        UnusableTokens: there is no access token, or one in no form that can be sent.
    """
    oauth = provider.oauth
    assert oauth is not None, "an OAuth provider"
    if str(answer.get("token_type", "")).lower() in _OTHER_TYPES:
        raise UnusableTokens(other_type=True)
    access = _parse_token(answer.get("access_token"))
    if access is None:
        raise UnusableTokens
    refresh = answer.get("refresh_token")
    if refresh not in (None, "") and _parse_token(refresh) is None:
        raise UnusableTokens
    return TokenSet(
        access_token=access,
        refresh_token=_parse_token(refresh),
        expires_in=_parse_seconds(answer.get("expires_in")) or oauth.refresh.access_seconds,
        scopes=None if oauth.fixed_scopes else _parse_scopes(answer, oauth.granted_scope_separator),
        refresh_expires_in=_parse_seconds(answer.get("refresh_token_expires_in") or answer.get("refresh_expires_in")),
        extra=_read_extra(provider.account, client_id, answer),
    )


def read_account_fields(at: str, where: AccountPointers, document: object) -> dict[str, str]:
    """The account of a document: its ``id``, which stands at the pointer `at`, its ``name`` and details, without those
    that are not there."""
    fields = {"id": resolve_text(document, at), "name": resolve_text(document, *where.name)}
    fields |= {name: resolve_text(document, pointer) for name, pointer in where.details.items()}
    return {name: value for name, value in fields.items() if value}


def _parse_token(value: object) -> Secret | None:
    if not isinstance(value, str) or len(value) > MOST_TOKEN or not _TOKEN.fullmatch(value):
        return None
    return Secret(value)


def _parse_seconds(value: object) -> float | None:
    """A time that is to come; some vendors send it as text, and some send 0 for a token that does not expire."""
    if isinstance(value, str) and _SECONDS.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return None
    return min(float(value), LONGEST_SECONDS)


def _parse_scopes(answer: Mapping[str, Any], separator: str) -> tuple[str, ...] | None:
    scope = answer.get("scope")
    if isinstance(scope, list):
        scope = " ".join(entry for entry in cast("list[Any]", scope) if isinstance(entry, str))
    if not isinstance(scope, str):
        return None
    parts = scope.replace(separator, " ").split()
    return tuple(dict.fromkeys(parts[:MOST_SCOPES]))


def _read_extra(account: AccountLookup | None, client_id: str, answer: Mapping[str, Any]) -> dict[str, str]:
    if account is None or account.source == "url":
        return {}
    return read_account_fields(
        account.id, account, answer if account.source == "token" else _decode_claims(answer.get("id_token"), client_id)
    )


def _decode_claims(id_token: object, client_id: str) -> Mapping[str, Any]:
    """The claims of an ID token that came straight from the token endpoint, where TLS stands for its signature (OpenID
    Connect Core 1.0 §3.1.3.7, 6); none where it is for another client."""
    if not isinstance(id_token, str) or len(id_token) > MOST_TOKEN or id_token.count(".") != 2:
        return {}
    part = id_token.split(".")[1]
    try:
        document = orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError):
        return {}
    claims = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    audience = claims.get("aud")
    return claims if audience == client_id or (isinstance(audience, list) and client_id in audience) else {}
