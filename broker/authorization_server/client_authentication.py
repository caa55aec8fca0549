"""Which client speaks at the token endpoint (RFC 6749 §2.3, RFC 7523 §3, OpenID Connect Core §9)."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.parse import unquote_plus

from broker.authorization_server.client_keys import parse_client_keys, verify_with_jwks, verify_with_keys
from broker.authorization_server.client_registry import Client, ClientRegistry, SecretHash
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.jose import InvalidToken, SignedJwt, check_times, parse_jwt, read_text_claim
from broker.authorization_server.jwks_cache import JwksCache
from broker.identity.peppers import Peppers
from core.db import Database
from core.secret import Secret

RETENTION = timedelta(hours=1)


class ReplayCache:
    """Takes ids for good, until they would not be accepted anyway."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def take(self, kind: str, value: str, expires_at: datetime) -> bool:
        """Record `value` as used; return True for exactly one caller and False for every later one.

        An expired entry counts as used, because its record may have been deleted.

        Raises:
            core.errors.Unavailable: the database is away, so nothing can be given out.
        """
        if expires_at <= self._clock():
            return False
        hashed = hashlib.sha256(f"{kind}\0{value}".encode(errors="surrogatepass")).digest()
        return await self._database.call(_TAKE, hashed, expires_at) is not None

    async def sweep(self) -> int:
        """Forget what has expired for an hour, by whichever broker's clock; how many."""
        return await self._database.call(_SWEEP, self._clock() - RETENTION)


_TAKE = """INSERT INTO auth.used_ids (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING true"""
_SWEEP = """WITH gone AS (DELETE FROM auth.used_ids WHERE expires_at <= $1 RETURNING 1) SELECT count(*) FROM gone"""


ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
MAX_ASSERTION_LIFETIME = 300.0
LEEWAY = 30.0
MAX_HEADER_LENGTH = 4096
MAX_CLIENT_ID_LENGTH = 2000

ProofMethod = Literal["none", "secret", "private_key_jwt"]
_METHODS: Mapping[str, ProofMethod] = {
    "none": "none",
    "client_secret_basic": "secret",
    "client_secret_post": "secret",
    "private_key_jwt": "private_key_jwt",
}


@dataclass(frozen=True, slots=True)
class _ClientProof:
    """Client id that a request claims, with the proof that it presents."""

    client_id: str
    method: ProofMethod
    secret: Secret | None = None
    assertion: SignedJwt | None = None


class ClientAuthentication:
    """Tells clients apart. A client with a secret may send it in the header or in the body, whichever it was registered
    with: programs choose by themselves, and it proves the same."""

    def __init__(
        self,
        clients: ClientRegistry,
        peppers: Peppers,
        single_use: ReplayCache,
        published_keys: JwksCache,
        *,
        issuer: str,
        token_endpoint: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._clients = clients
        self._peppers = peppers
        self._single_use = single_use
        self._published_keys = published_keys
        self._audiences = (issuer, token_endpoint)
        self._clock = clock

    async def authenticate(self, headers: Mapping[str, str], form: Mapping[str, str]) -> Client:
        """Authenticate the client of a request. Names in `headers` are lower case, or found in any case.

        Raises:
            OAuthError: invalid_request, it names two clients or two proofs; invalid_client, it has not proved anything.
            core.errors.Unavailable: the database is away, or the server of a client's metadata or keys.
            core.errors.LimitReached: too many metadata documents were asked for lately.
        """
        presented = _parse_proof(headers.get("authorization"), form)
        client_and_secret = await self._clients.find_with_secret(presented.client_id)
        # An unknown client takes the same steps as one whose secret is wrong.
        right = self._is_secret_valid(presented, client_and_secret[1] if client_and_secret else None)
        if client_and_secret is None or _METHODS[client_and_secret[0].auth_method] != presented.method:
            raise _build_invalid_client()
        if presented.method == "secret" and not right:
            raise _build_invalid_client()
        if presented.assertion is not None:
            await self._check_assertion(client_and_secret[0], presented.assertion)
        return client_and_secret[0]

    def _is_secret_valid(self, presented: _ClientProof, stored: SecretHash | None) -> bool:
        key = self._peppers.keys.get(stored.pepper_kid) if stored else None
        digest = hash_client_secret(
            key or self._peppers.keys[self._peppers.active], presented.client_id, presented.secret or Secret("")
        )
        return hmac.compare_digest(stored.hmac if stored and key else bytes(32), digest)

    async def _check_assertion(self, client: Client, assertion: SignedJwt) -> None:
        try:
            claims = await self._verify_signature(client, assertion)
            jti, ends = self._check_claims(claims, client.id)
        except InvalidToken as error:
            raise _build_invalid_client(f"invalid client assertion: {error.cause}") from None
        if not await self._single_use.take("client_assertion", f"{client.id} {jti}", ends):
            raise _build_invalid_client(
                "client assertion was already used; create a new one with a new jti for every request"
            )

    async def _verify_signature(self, client: Client, assertion: SignedJwt) -> Mapping[str, Any]:
        if client.jwks is not None:
            return verify_with_keys(assertion, parse_client_keys(client.jwks))
        return await verify_with_jwks(assertion, self._published_keys.get_key_set(client.jwks_uri))

    def _check_claims(self, claims: Mapping[str, Any], client_id: str) -> tuple[str, datetime]:
        """The assertion's id and end (RFC 7523 §3)."""
        now = self._clock().timestamp()
        for name in ("iss", "sub"):
            if read_text_claim(claims, name) != client_id:
                raise InvalidToken(name)
        audience = claims.get("aud")
        if audience not in self._audiences and audience not in [[own_audience] for own_audience in self._audiences]:
            raise InvalidToken("aud")
        ends = check_times(claims, now, leeway=LEEWAY)
        if ends > now + MAX_ASSERTION_LIFETIME + LEEWAY:
            raise InvalidToken("exp")
        return read_text_claim(claims, "jti", most=256), datetime.fromtimestamp(ends, UTC)


def hash_client_secret(pepper: bytes, client_id: str, secret: Secret) -> bytes:
    """Return the stored hash of a client secret.

    The prefix separates client secrets from API tokens under the same pepper.
    """
    message = f"oauth client {client_id} {secret.reveal()}".encode(errors="surrogatepass")
    return hmac.digest(pepper, message, hashlib.sha256)


def _parse_proof(authorization: str | None, form: Mapping[str, str]) -> _ClientProof:
    proofs = [authorization is not None, bool(form.get("client_secret")), "client_assertion" in form]
    if sum(proofs) > 1:
        raise OAuthError("invalid_request", "more than one client authentication method; send only one")
    if authorization is not None:
        basic = _parse_basic(authorization)
    elif "client_assertion" in form or "client_assertion_type" in form:
        basic = _parse_assertion(form)
    else:
        secret = form.get("client_secret", "")
        basic = _ClientProof(form.get("client_id", ""), "secret" if secret else "none", Secret(secret))
    if not basic.client_id:
        raise _build_invalid_client("client_id is missing")
    if form.get("client_id", basic.client_id) != basic.client_id:
        raise OAuthError("invalid_request", "client_id does not match the authenticated client")
    if len(basic.client_id) > MAX_CLIENT_ID_LENGTH:
        raise _build_invalid_client()
    return basic


def _parse_basic(authorization: str) -> _ClientProof:
    """RFC 6749 §2.3.1: both parts are form-encoded before they are joined."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic" or len(value) > MAX_HEADER_LENGTH:
        raise _build_invalid_client("the Authorization header must use the scheme Basic")
    try:
        joined = base64.b64decode(value.strip().encode("ascii"), validate=True).decode()
        client_id, separator, secret = joined.partition(":")
        pair = unquote_plus(client_id, errors="strict"), unquote_plus(secret, errors="strict")
    except (binascii.Error, ValueError):
        raise _build_invalid_client("malformed Authorization header") from None
    if not separator:
        raise _build_invalid_client("malformed Authorization header")
    return _ClientProof(pair[0], "secret", Secret(pair[1]))


def _parse_assertion(form: Mapping[str, str]) -> _ClientProof:
    if form.get("client_assertion_type") != ASSERTION_TYPE:
        raise OAuthError("invalid_request", f"client_assertion_type must be {ASSERTION_TYPE}")
    try:
        assertion = parse_jwt(form.get("client_assertion", ""))
        return _ClientProof(read_text_claim(assertion.unverified_claims, "sub"), "private_key_jwt", assertion=assertion)
    except InvalidToken as error:
        raise _build_invalid_client(f"malformed client assertion: {error.cause}") from None


def _build_invalid_client(
    description: str = "the client is not known, or has not proved that it is this one",
) -> OAuthError:
    return OAuthError("invalid_client", description, 401, {"WWW-Authenticate": 'Basic realm="mcpist"'})
