"""A token for one request from a gateway to the broker (threat-model.md §3.3, §2 rows 45 and 46).

A JWT (RFC 7519) signed with Ed25519 (RFC 8037) whose one header is pinned. It names the method, the path and the
SHA-256 of the body that it is for, counts once, and for less than half a minute. It says which gateway asks and
nothing about any user: alone it gets nothing.
"""

import base64
import binascii
import hashlib
import secrets
import time
from collections import deque
from collections.abc import Callable

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from broker.rpc.gateway_keys import TrustedGateways, compute_gateway_id

AUDIENCE = "mcpist-broker"
LIFETIME = 15.0
MAX_LIFETIME = 30.0
CLOCK_SKEW = 5.0
REPLAY_WINDOW = MAX_LIFETIME + 2 * CLOCK_SKEW
"""A token that is used at the earliest moment at which it counts ends so many seconds later."""

MAX_REMEMBERED_IDS = 100_000
MOST_TOKEN = 2_048
JTI_BYTES = 16
ANSWER_HEADER = "MCPist-Answers"
"""The header of an answer that names the request it is for."""

REQUEST_HEADER = "X-Request-Id"
"""The header of a request that names the call it is for, as both processes' logs have it."""

MARK_LENGTH = 32


def _encode_base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


HEADER = _encode_base64url(b'{"alg":"EdDSA","typ":"mcpist-service+jwt"}')


class Claims(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Claims of a service token: gateway, time, and the one request (`htm` and `htu` after RFC 9449, and the body's
    hash).
    """

    iss: str
    aud: str
    iat: float
    exp: float
    jti: str
    htm: str
    htu: str
    body_sha256: str


class InvalidServiceToken(Exception):
    """A token that does not count. `cause` is a fixed word for the broker's log; whoever asked learns nothing."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class ServiceTokenSigner:
    """Signs one gateway's requests. `clock` gives seconds since 1970."""

    def __init__(self, key: Ed25519PrivateKey, *, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock
        self.gateway = compute_gateway_id(key.public_key())

    def sign(self, method: str, path: str, body: bytes) -> str:
        """A token for one request, which begins to count now."""
        now = self._clock()
        jti = secrets.token_hex(JTI_BYTES)
        return self.sign_claims(Claims(self.gateway, AUDIENCE, now, now + LIFETIME, jti, method, path, hash_body(body)))

    def sign_claims(self, claims: Claims) -> str:
        """The compact form of `claims`."""
        signed = HEADER + b"." + _encode_base64url(msgspec.json.encode(claims))
        return (signed + b"." + _encode_base64url(self._key.sign(signed))).decode()


class ServiceTokenVerifier:
    """Checks tokens in two steps, so that nobody's body is read before it is known who sends it.

    `clock` gives seconds since 1970, `monotonic` seconds that never go back.
    """

    def __init__(
        self,
        gateways: TrustedGateways,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gateways = gateways
        self._clock = clock
        self._monotonic = monotonic
        self._used: dict[str, _UsedTokenIds] = {}

    def verify(self, token: str, method: str, path: str) -> Claims:
        """The claims of a token that was signed by a known gateway for this method and path, and counts now.

        Raises:
            InvalidToken: anything else.
        """
        claims, signed, signature = _parse_token(token)
        key = self._gateways.find(claims.iss)
        if key is None:
            raise InvalidServiceToken("unknown gateway")
        try:
            key.verify(signature, signed)
        except InvalidSignature:
            raise InvalidServiceToken("wrong signature") from None
        if claims.aud != AUDIENCE or (claims.htm, claims.htu) != (method, path):
            raise InvalidServiceToken("for another request")
        self._check_time(claims)
        return claims

    def consume(self, claims: Claims, body: bytes) -> None:
        """Count a token that was opened as used, for this body.

        Raises:
            InvalidToken: it was used before, or for another body.
        """
        if not secrets.compare_digest(claims.body_sha256.encode(), hash_body(body).encode()):
            raise InvalidServiceToken("for another body")
        used = self._used.setdefault(claims.iss, _UsedTokenIds())
        if not used.add(claims.jti, self._monotonic()):
            raise InvalidServiceToken("used before")

    def _check_time(self, claims: Claims) -> None:
        now = self._clock()
        if not 0 < claims.exp - claims.iat <= MAX_LIFETIME:
            raise InvalidServiceToken("wrong lifetime")
        if not claims.iat - CLOCK_SKEW <= now <= claims.exp + CLOCK_SKEW:
            raise InvalidServiceToken("expired, or the clocks differ")


class _UsedTokenIds:
    """The ids of one gateway's tokens, for as long as each could count. A gateway that fills it stops only itself."""

    __slots__ = ("_ids", "_order")

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._order: deque[tuple[float, str]] = deque()

    def add(self, jti: str, now: float) -> bool:
        while self._order and self._order[0][0] < now:
            self._ids.discard(self._order.popleft()[1])
        if jti in self._ids or len(self._ids) >= MAX_REMEMBERED_IDS:
            return False
        self._ids.add(jti)
        self._order.append((now + REPLAY_WINDOW, jti))
        return True


def compute_answer_mark(token: str) -> str:
    """Compute the value that binds a response to the request with this token."""
    return hashlib.sha256(token.encode()).hexdigest()[:MARK_LENGTH]


def hash_body(body: bytes) -> str:
    """The SHA-256 of a body, as tokens name it."""
    return hashlib.sha256(body).hexdigest()


def _parse_token(token: str) -> tuple[Claims, bytes, bytes]:
    """A token's claims, the bytes that were signed, and the signature."""
    try:
        if len(token) > MOST_TOKEN:
            raise ValueError
        header, payload, signature = token.encode("ascii").split(b".")
        if header != HEADER:
            raise ValueError
        claims = msgspec.json.decode(_decode_base64url(payload), type=Claims)
        if len(claims.jti) != 2 * JTI_BYTES:
            raise ValueError
        return claims, header + b"." + payload, _decode_base64url(signature)
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise InvalidServiceToken("malformed") from None


def _decode_base64url(text: bytes) -> bytes:
    return base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
