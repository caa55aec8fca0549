"""Public keys that clients register, and signatures of assertions by registered or published keys (RFC 7523)."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from joserfc.jwk import Key

from broker.authorization_server.jose import InvalidToken, SignedJwt, import_public_key
from broker.authorization_server.jwks_cache import RemoteKeySet
from core.errors import Invalid

ALGORITHMS = frozenset({"RS256", "ES256"})
MAX_KEYS = 10
MAX_CANDIDATES = 5
"""Keys that are tried where an assertion does not say which one has signed it."""

_PRIVATE = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")


def validate_jwks(document: object) -> dict[str, Any]:
    """A key set that somebody registers, with its public keys and nothing else.

    Raises:
        Invalid: it holds a private key, or one that cannot check RS256 or ES256 signatures, or none.
    """
    keys = _list_keys(document)
    if not 1 <= len(keys) <= MAX_KEYS:
        raise Invalid(f'key set must be {{"keys": [...]}} with 1 to {MAX_KEYS} keys')
    if any(name in key for key in keys for name in _PRIVATE):
        raise Invalid("the key set contains a private key; generate a new key pair and send only the public key")
    if any(_import_key(jwk) is None for jwk in keys):
        raise Invalid("keys must be RSA keys of at least 2048 bits or EC keys on the curve P-256")
    return {"keys": [{name: value for name, value in key.items() if isinstance(value, str)} for key in keys]}


def parse_client_keys(document: object) -> tuple[Key, ...]:
    """Those keys of a set that can check RS256 or ES256 signatures; others are passed over (RFC 7517 §5)."""
    return tuple(key for jwk in _list_keys(document)[:MAX_KEYS] if (key := _import_key(jwk)) is not None)


def verify_with_keys(assertion: SignedJwt, keys: Iterable[Key]) -> Mapping[str, Any]:
    """The claims, if one of `keys` has signed them: the one that the assertion names, or any if it names none.

    Raises:
        InvalidToken: none has.
    """
    candidates = [key for key in keys if not assertion.kid or key.kid == assertion.kid]
    for key in candidates[:MAX_CANDIDATES]:
        try:
            return assertion.verify_claims(key, ALGORITHMS)
        except InvalidToken:
            continue
    raise InvalidToken("signature" if candidates else "kid")


async def verify_with_jwks(assertion: SignedJwt, keys: RemoteKeySet) -> Mapping[str, Any]:
    """The claims, if that key of `keys` has signed them that the assertion names.

    Raises:
        InvalidToken: it has not.
        core.errors.Unavailable: the keys cannot be fetched.
    """
    key = await keys.find(assertion.kid)
    if key is None:
        raise InvalidToken("kid")
    return assertion.verify_claims(key, ALGORITHMS)


def _list_keys(document: object) -> list[Mapping[str, Any]]:
    keys = cast("Mapping[str, Any]", document).get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list):
        return []
    return [cast("Mapping[str, Any]", key) for key in cast("list[Any]", keys) if isinstance(key, Mapping)]


def _import_key(data: Mapping[str, Any]) -> Key | None:
    """RSA and P-256 only: what RS256 and ES256 are made with."""
    fits = data.get("kty") == "RSA" or (data.get("kty"), data.get("crv")) == ("EC", "P-256")
    return import_public_key(data) if fits and data.get("alg", "RS256") in ALGORITHMS else None
