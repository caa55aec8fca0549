"""ID tokens, checked as OpenID Connect Core 1.0 §3.1.3.7 says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from broker.identity.providers.metadata import KeySet
from broker.identity.providers.provider import MOST_SUBJECT, SignInFailed
from broker.oauth import jose

MOST = 16_384
LEEWAY = 60.0
OLDEST = 600.0
"""Seconds since it was issued: it comes straight from the token endpoint."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What an ID token has to say."""

    issuer: str
    client_id: str
    nonce: str
    algorithms: frozenset[str]


async def verified(token: object, expected: Expected, keys: KeySet, now: float) -> Mapping[str, Any]:
    """The claims of an ID token; `now` is in seconds since 1970.

    Raises:
        SignInFailed: it is not for us, not for this sign-in, or not genuine; or the provider's keys are away.
    """
    try:
        claims = await _signed(token, expected.algorithms, keys)
        _check(claims, expected, now)
        return claims
    except jose.NotGenuine as error:
        raise SignInFailed("provider", f"id_token {error.cause}") from None


async def _signed(token: object, algorithms: frozenset[str], keys: KeySet) -> Mapping[str, Any]:
    if not isinstance(token, str):
        raise jose.NotGenuine("missing")
    jwt = jose.read(token, most=MOST)
    if jwt.typ.upper() not in ("", "JWT"):  # an access token or a logout token is no ID token
        raise jose.NotGenuine("typ")
    for key in await keys.candidates(jwt.kid):
        try:
            return jwt.claims(key, algorithms)
        except jose.NotGenuine:
            continue
    raise jose.NotGenuine("signature")


def _check(claims: Mapping[str, Any], expected: Expected, now: float) -> None:
    if claims.get("iss") != expected.issuer:
        raise jose.NotGenuine("iss")
    _check_audience(claims, expected.client_id)
    jose.check_times(claims, now, leeway=LEEWAY)
    issued = jose.moment(claims, "iat")
    if issued is None or now - issued > OLDEST:
        raise jose.NotGenuine("iat")
    if jose.text(claims, "nonce") != expected.nonce:
        raise jose.NotGenuine("nonce")
    jose.text(claims, "sub", most=MOST_SUBJECT)


def _check_audience(claims: Mapping[str, Any], client_id: str) -> None:
    audience = claims.get("aud")
    audiences = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
    if client_id not in audiences:
        raise jose.NotGenuine("aud")
    party = claims.get("azp")
    if (party is None and len(audiences) > 1) or party not in (None, client_id):
        raise jose.NotGenuine("azp")
