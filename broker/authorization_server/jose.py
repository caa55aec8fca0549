"""Signed JWTs (RFC 7519, RFC 7515), read and made in this one place: what joserfc leaves to its callers is done here.

Nobody's claims count before :meth:`SignedJwt.claims`; nothing of a token ever names its own key or its own rules
(RFC 8725): a header that tries is refused, and who verifies says which algorithms count.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import Key, import_key
from joserfc.util import urlsafe_b64decode

from core.token_format import MAX_JWT_BYTES

MAX_HEADER_LENGTH = 512
MIN_RSA_BITS, MAX_RSA_BITS = 2_048, 8_192
LEEWAY = 10.0
ASYMMETRIC_ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519"}
)
"""Signature algorithms accepted from external issuers and clients."""

_FORBIDDEN = frozenset({"jku", "jwk", "x5u", "x5c", "crit", "b64", "zip", "enc"})
_TEXTS = ("alg", "typ", "kid")
_PART = re.compile(r"[A-Za-z0-9_-]+")


class InvalidToken(Exception):
    """A token that does not count. `cause` is a fixed word for a log; whoever brought it learns nothing."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass(frozen=True, slots=True, repr=False)
class SignedJwt:
    """A token in the right form, of which nothing is known to be true.

    `unverified` serves to find the key that it has to be signed by, and nothing else.
    """

    text: str
    header: Mapping[str, Any]
    unverified_claims: Mapping[str, Any]

    @property
    def kid(self) -> str:
        """The id of the key that it names, empty if none."""
        return self.header.get("kid", "")

    @property
    def typ(self) -> str:
        """The type that it says, empty if none."""
        return self.header.get("typ", "")

    def verify_claims(self, key: Key, algorithms: Collection[str]) -> Mapping[str, Any]:
        """The claims, if `key` has signed them with one of `algorithms`.

        Raises:
            InvalidToken: it has not.
        """
        try:
            jws.deserialize_compact(self.text, key, registry=_build_registry(algorithms))
        except (JoseError, ValueError, TypeError):
            raise InvalidToken("signature") from None
        return self.unverified_claims


def parse_jwt(token: str, *, most: int = MAX_JWT_BYTES) -> SignedJwt:
    """Take a token apart; nothing is believed yet.

    Raises:
        InvalidToken: it is too long, no JWT, has a key or a name twice, or a header that tells how it is to be read.
    """
    if len(token) > most:
        raise InvalidToken("size")
    parts = token.split(".")
    if len(parts) != 3 or not all(map(_PART.fullmatch, parts)) or len(parts[0]) > MAX_HEADER_LENGTH:
        raise InvalidToken("form")
    header, claims = _decode_object(parts[0]), _decode_object(parts[1])
    if not _FORBIDDEN.isdisjoint(header) or not all(isinstance(header.get(name, ""), str) for name in _TEXTS):
        raise InvalidToken("header")
    return SignedJwt(token, header, claims)


def sign_jwt(key: Key, header: Mapping[str, Any], claims: Mapping[str, Any], algorithm: str) -> str:
    """The compact form of `claims`. `header` gets the algorithm and nothing else."""
    full_header = {"alg": algorithm, **header}
    content = json.dumps(dict(claims), ensure_ascii=False, separators=(",", ":"))
    return jws.serialize_compact(full_header, content, key, registry=_build_registry({algorithm}))


def import_public_key(data: Mapping[str, Any]) -> Key | None:
    """One key of a JWK set (RFC 7517 §4) that may check signatures; None for any other."""
    if data.get("kty") not in ("RSA", "EC", "OKP") or data.get("use", "sig") != "sig":
        return None
    try:
        if data["kty"] == "RSA" and not MIN_RSA_BITS <= _count_bits(data["n"]) <= MAX_RSA_BITS:
            return None
        key = import_key(_select_public_members(data))
        _ = key.public_key  # what is no point of its curve is noticed here
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return key


def check_times(claims: Mapping[str, Any], now: float, *, leeway: float = LEEWAY) -> float:
    """The time at which the claims end (seconds since 1970); `leeway` is for clocks that are ahead of ours.

    Raises:
        InvalidToken: they have ended, or have not begun, or do not say when they end.
    """
    ends = read_time_claim(claims, "exp")
    if ends is None:
        raise InvalidToken("exp")
    for name in ("iat", "nbf"):
        begins = read_time_claim(claims, name)
        if begins is not None and begins > now + leeway:
            raise InvalidToken(name)
    if now >= ends:
        raise InvalidToken("expired")
    return ends


def read_time_claim(claims: Mapping[str, Any], name: str) -> float | None:
    """A NumericDate (RFC 7519 §2), None where there is none.

    Raises:
        InvalidToken: it is something else.
    """
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e11:
        raise InvalidToken(name)
    return float(value)


def read_text_claim(claims: Mapping[str, Any], name: str, *, most: int = 2_000) -> str:
    """A claim that has to be there, as a printable text (so one that a database takes) of 1 to `most` characters.

    Raises:
        InvalidToken: it is not.
    """
    value = claims.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= most or not value.isprintable():
        raise InvalidToken(name)
    return value


def _build_registry(algorithms: Collection[str]) -> jws.JWSRegistry:
    if not algorithms:
        raise ValueError("at least one algorithm must be allowed")  # joserfc would take that for "the recommended ones"
    return jws.JWSRegistry(algorithms=sorted(algorithms), strict_check_header=False)


def _count_bits(number: str) -> int:
    return int.from_bytes(urlsafe_b64decode(number.encode())).bit_length() if len(number) <= MAX_RSA_BITS else 0


def _select_public_members(data: Mapping[str, Any]) -> dict[str, Any]:
    members = ("kty", "n", "e", "crv", "x", "y", "alg", "kid", "use")
    return {name: data[name] for name in members if name in data}


def _decode_object(part: str) -> dict[str, Any]:
    try:
        document: object = json.loads(
            urlsafe_b64decode(part.encode()), object_pairs_hook=_reject_duplicate_names, parse_constant=_reject_constant
        )
    except (ValueError, RecursionError):
        raise InvalidToken("form") from None
    if not isinstance(document, dict):
        raise InvalidToken("form")
    return cast("dict[str, Any]", document)


def _reject_duplicate_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers might each take another of two equal names."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _reject_constant(_text: str) -> float:
    raise ValueError
