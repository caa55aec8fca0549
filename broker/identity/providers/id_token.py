"""ID tokens, checked as OpenID Connect Core 1.0 §3.1.3.7 says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from broker.authorization_server import jose
from broker.authorization_server.jwks_cache import RemoteKeySet
from broker.identity.providers.identity_provider import (
    MAX_NAME_LENGTH,
    MAX_SUBJECT_LENGTH,
    SignInFailed,
    VerifiedAccount,
)
from core.email_address import normalize_address
from core.errors import Invalid, Unavailable

MAX_GROUPS, MAX_GROUP_LENGTH = 1_000, 200
MAX_ID_TOKEN_LENGTH = 16_384
LEEWAY = 60.0
MAX_AGE_SECONDS = 600.0
"""Seconds since it was issued: it comes straight from the token endpoint."""


@dataclass(frozen=True, slots=True)
class ExpectedClaims:
    """Values that the claims of an ID token must have."""

    issuer: str
    client_id: str
    nonce: str
    algorithms: frozenset[str]


async def verify_id_token(token: object, expected: ExpectedClaims, keys: RemoteKeySet, now: float) -> Mapping[str, Any]:
    """The claims of an ID token; `now` is in seconds since 1970.

    Raises:
        SignInFailed: it is not for us, not for this sign-in, or not genuine; or the provider's keys are away.
    """
    try:
        claims = await _verify_signature(token, expected.algorithms, keys)
        _check_claims(claims, expected, now)
        return claims
    except jose.InvalidToken as error:
        raise SignInFailed("provider", f"id_token {error.cause}") from None
    except Unavailable:
        raise SignInFailed("provider_away", "keys") from None


async def _verify_signature(token: object, algorithms: frozenset[str], keys: RemoteKeySet) -> Mapping[str, Any]:
    if not isinstance(token, str):
        raise jose.InvalidToken("missing")
    jwt = jose.parse_jwt(token, most=MAX_ID_TOKEN_LENGTH)
    if jwt.typ.upper() not in ("", "JWT"):  # an access token or a logout token is no ID token
        raise jose.InvalidToken("typ")
    for key in await keys.find_candidates(jwt.kid):
        try:
            return jwt.verify_claims(key, algorithms)
        except jose.InvalidToken:
            continue
    raise jose.InvalidToken("signature")


def _check_claims(claims: Mapping[str, Any], expected: ExpectedClaims, now: float) -> None:
    if claims.get("iss") != expected.issuer:
        raise jose.InvalidToken("iss")
    _check_audience(claims, expected.client_id)
    jose.check_times(claims, now, leeway=LEEWAY)
    issued = jose.read_time_claim(claims, "iat")
    if issued is None or now - issued > MAX_AGE_SECONDS:
        raise jose.InvalidToken("iat")
    if jose.read_text_claim(claims, "nonce") != expected.nonce:
        raise jose.InvalidToken("nonce")
    jose.read_text_claim(claims, "sub", most=MAX_SUBJECT_LENGTH)


def _check_audience(claims: Mapping[str, Any], client_id: str) -> None:
    audience = claims.get("aud")
    audiences = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
    if client_id not in audiences:
        raise jose.InvalidToken("aud")
    party = claims.get("azp")
    if (party is None and len(audiences) > 1) or party not in (None, client_id):
        raise jose.InvalidToken("azp")


def build_openid_account(issuer: str, claims: Mapping[str, Any], *, trusted: bool = True) -> VerifiedAccount:
    """Build the account of verified claims; its address is used only if it is verified and `trusted`."""
    email = normalize_email(claims.get("email")) if trusted and is_true(claims.get("email_verified")) else ""
    return VerifiedAccount(issuer, str(claims["sub"]), email, bool(email), clean_person_name(claims.get("name")))


def read_groups(claims: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    """The groups that the claim `name` tells: none where it is missing, since providers leave an empty one out.

    None where they are not told: no claim is read, or the provider has too many of them for a token and refers to
    another place (learn.microsoft.com/entra/identity-platform/id-token-claims-reference, groups overage).
    """
    elsewhere = claims.get("_claim_names")
    if not name or claims.get("hasgroups") or (isinstance(elsewhere, dict) and name in elsewhere):
        return None
    value = claims.get(name, ())
    found = [value] if isinstance(value, str) else cast("list[Any]", value) if isinstance(value, list) else []
    if len(found) > MAX_GROUPS:
        return None
    return tuple(dict.fromkeys(one for one in found if isinstance(one, str) and 1 <= len(one) <= MAX_GROUP_LENGTH))


def normalize_email(value: object) -> str:
    """Normalize an e-mail address; empty where it is none."""
    if not isinstance(value, str) or len(value) > 320:
        return ""
    try:
        return normalize_address(value)
    except Invalid:
        return ""


def clean_person_name(value: object) -> str:
    """Return a name of at most 200 visible characters; empty where there is none."""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in value[:MAX_NAME_LENGTH]).split())


def is_true(value: object) -> bool:
    """Check for true or the text "true", which some providers send."""
    return value is True or value == "true"


def raise_for_error(query: Mapping[str, str]) -> None:
    """Raise for an error response (RFC 6749 §4.1.2.1); its texts are never used.

    Raises:
        SignInFailed: it is one.
    """
    if "error" in query:
        said_no = query["error"] == "access_denied"
        raise SignInFailed("cancelled" if said_no else "provider", "denied" if said_no else "error answer")
