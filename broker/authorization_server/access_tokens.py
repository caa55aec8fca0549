"""Access tokens of our own authorization server: JWTs of the profile of RFC 9068, for one resource and a few minutes.

A token is believed what its signature covers; whether its grant and the key that signed it still count is asked of the
database, in the same snapshot as the generation, so that a revoked grant, a suspended user and a signature by a key
that others may know are refused within a second everywhere.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from broker.authorization_server import jose
from broker.authorization_server.jose import InvalidToken
from broker.authorization_server.signing_key_store import ALGORITHM
from broker.authorization_server.signing_keys import SigningKeys
from broker.interface import CredentialRefusal, RefusalReason
from core import scopes
from core.caller import Credential
from core.db import Database, Row
from core.known_clients import RESULT_TOKENS_BY_CLIENT_ID, TOOL_RESULT_FORMAT_BY_CLIENT_ID
from core.secret import Secret

ACCESS_TOKEN_TYPE = "at+jwt"  # noqa: S105 no secret
CREDENTIAL_KIND = "oauth"
JTI_BYTES = 16
_HEADER = frozenset({"alg", "typ", "kid"})
_ALGORITHMS = frozenset({ALGORITHM})


class AccessTokenGrant(Protocol):
    """Grant that an access token is issued for: a row of auth.grants. Its scopes may be fewer than the grant's."""

    @property
    def tenant_id(self) -> UUID: ...
    @property
    def user_id(self) -> UUID: ...
    @property
    def id(self) -> UUID: ...
    @property
    def client_id(self) -> str: ...
    @property
    def scopes(self) -> frozenset[str]: ...
    @property
    def resource(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _VerifiedClaims:
    tenant_id: UUID
    user_id: UUID
    grant_id: UUID
    client_id: str
    scopes: frozenset[str]
    expires_at: datetime
    kid: str


class AccessTokens:
    """Issues and verifies the tokens of one issuer for one resource. Implements :class:`broker.interface.Verifier`."""

    def __init__(
        self,
        keys: SigningKeys,
        database: Database,
        *,
        issuer: str,
        resource: str,
        lifetime: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self._keys = keys
        self._database = database
        self._issuer = issuer
        self._resource = resource
        self._lifetime = lifetime
        self._clock = clock

    async def mint(self, grant: AccessTokenGrant, now: datetime) -> tuple[Secret, int]:
        """Issue a token for a grant; return it with its lifetime in seconds.

        Raises:
            core.errors.Unavailable: it cannot be signed now.
        """
        issued, seconds = int(now.timestamp()), int(self._lifetime.total_seconds())
        claims = {
            "iss": self._issuer,
            "aud": grant.resource,
            "sub": str(grant.user_id),
            "tid": str(grant.tenant_id),
            "gid": str(grant.id),
            "client_id": grant.client_id,
            "scope": scopes.format_scopes(grant.scopes),
            "jti": secrets.token_urlsafe(JTI_BYTES),
            "iat": issued,
            "exp": issued + seconds,
        }
        return Secret(await self._keys.sign(ACCESS_TOKEN_TYPE, claims)), seconds

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        """Verify an access token and return the principal that it authenticates.

        Raises:
            core.errors.Unavailable: the keys or the database are away.
        """
        now = self._clock()
        claimed = await self._verify_claims(token, now)
        if isinstance(claimed, CredentialRefusal):
            return claimed
        (verdict,) = await self._judge(claimed.tenant_id, [claimed], now)
        return verdict

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        """See :class:`broker.interface.Verifier`. All of them take one statement."""
        now = self._clock()
        asked = [await self._verify_claims(token, now) for token in tokens]
        claimed = {
            number: one
            for number, one in enumerate(asked)
            if isinstance(one, _VerifiedClaims) and one.tenant_id == tenant_id
        }
        verdicts = dict(zip(claimed, await self._judge(tenant_id, list(claimed.values()), now), strict=True))
        found = map(verdicts.get, range(len(tokens)))
        return [verdict if isinstance(verdict, Credential) else None for verdict in found]

    async def _verify_claims(self, token: Secret, now: datetime) -> _VerifiedClaims | CredentialRefusal:
        """Verify what a token says, without a look at its grant."""
        try:
            kid, claims = await self._verify_signature(token.reveal())
            claimed = self._validate_claims(kid, claims, now)
        except InvalidToken as error:
            return CredentialRefusal(_REASONS.get(error.cause, RefusalReason.UNKNOWN))
        if claimed.expires_at <= now:
            return CredentialRefusal(RefusalReason.EXPIRED, claimed.tenant_id, claimed.user_id, str(claimed.grant_id))
        return claimed

    async def find_grant(self, token: Secret) -> tuple[UUID, UUID] | None:
        """Return tenant and grant of one of our tokens, valid or not; None for any other text.

        Raises:
            core.errors.Unavailable: the keys are away.
        """
        try:
            _, claims = await self._verify_signature(token.reveal())
            return _read_uuid(claims, "tid"), _read_uuid(claims, "gid")
        except InvalidToken:
            return None

    async def _verify_signature(self, text: str) -> tuple[str, Mapping[str, Any]]:
        """Return the id of the signing key and the signed claims."""
        jwt = jose.parse_jwt(text)
        if jwt.header.keys() ^ _HEADER or jwt.typ != ACCESS_TOKEN_TYPE or jwt.header["alg"] not in _ALGORITHMS:
            raise InvalidToken("header")
        key = await self._keys.find(jwt.kid)
        if key is None:
            raise InvalidToken("key")
        return jwt.kid, jwt.verify_claims(key, _ALGORITHMS)

    def _validate_claims(self, kid: str, claims: Mapping[str, Any], now: datetime) -> _VerifiedClaims:
        if claims.get("iss") != self._issuer or claims.get("aud") != self._resource:
            raise InvalidToken("audience")
        begins, ends = jose.read_time_claim(claims, "iat"), jose.read_time_claim(claims, "exp")
        if begins is None or ends is None or begins > now.timestamp() + jose.LEEWAY:
            raise InvalidToken("times")
        jose.read_text_claim(claims, "jti", most=100)
        return _VerifiedClaims(
            _read_uuid(claims, "tid"),
            _read_uuid(claims, "sub"),
            _read_uuid(claims, "gid"),
            jose.read_text_claim(claims, "client_id"),
            _parse_scopes(claims),
            datetime.fromtimestamp(ends, UTC),
            kid,
        )

    async def _judge(
        self, tenant_id: UUID, asked: Sequence[_VerifiedClaims], now: datetime
    ) -> Sequence[Credential | CredentialRefusal]:
        """Judge tokens of one tenant by what is stored of their grants."""
        async with self._database.tenant(tenant_id) as work:
            # One statement, so one snapshot: the generation is never newer than what stands beside it.
            rows = await work.fetch(
                _STORED, [claimed.grant_id for claimed in asked], list({claimed.kid for claimed in asked})
            )
        stored = {row["id"]: row for row in rows}
        return [self._judge_one(claimed, stored.get(claimed.grant_id), now) for claimed in asked]

    def _judge_one(self, claimed: _VerifiedClaims, row: Row | None, now: datetime) -> Credential | CredentialRefusal:
        if row is not None and claimed.kid not in row["trusted"]:
            self._keys.invalidate()
            return CredentialRefusal(
                RefusalReason.UNKNOWN
            )  # as where the process knows already; whoever has the key forges
        if row is None or row["user_id"] != claimed.user_id or row["client_id"] != claimed.client_id:
            return CredentialRefusal(RefusalReason.REVOKED)  # the grant was swept, or with its user or tenant removed
        reason = _find_refusal(row, now)
        if reason is not None:
            return CredentialRefusal(reason, claimed.tenant_id, claimed.user_id, str(claimed.grant_id))
        return _build_credential(claimed, row)


_REASONS = {"signature": RefusalReason.WRONG_SECRET}
_STORED = """SELECT g.id, g.user_id, g.client_id, g.client_name, g.scopes, g.expires_at, g.revoked_at,
    u.status AS user_status, u.system_role, t.status AS tenant_status, n.value AS generation,
    c.result_text, c.result_tokens, c.tool_exposure,
    g.session_id IS NOT NULL AND NOT EXISTS (SELECT FROM auth.sessions s WHERE s.tenant_id = g.tenant_id
        AND s.id = g.session_id AND s.ended_at IS NULL) AS session_ended,
    ARRAY(SELECT k.kid FROM auth.signing_keys k WHERE k.kid = ANY($3::text[]) AND k.state <> 'distrusted') AS trusted
    FROM auth.grants g
    JOIN core.users u ON u.tenant_id = g.tenant_id AND u.id = g.user_id
    JOIN core.tenants t ON t.tenant_id = g.tenant_id
    JOIN core.generations n ON n.tenant_id = g.tenant_id
    LEFT JOIN auth.clients c ON c.tenant_id = g.tenant_id AND c.id = g.client_id
    WHERE g.tenant_id = $1 AND g.id = ANY($2::uuid[])"""


def _find_refusal(row: Row, now: datetime) -> RefusalReason | None:
    if row["revoked_at"] is not None or row["session_ended"]:
        return RefusalReason.REVOKED
    if row["expires_at"] <= now:
        return RefusalReason.EXPIRED
    if row["tenant_status"] != "active":
        return RefusalReason.TENANT_SUSPENDED
    return RefusalReason.USER_SUSPENDED if row["user_status"] != "active" else None


def _build_credential(claimed: _VerifiedClaims, row: Row) -> Credential:
    """Build the credential: scopes that both token and grant allow; admin scopes only while the user is an
    administrator.
    """
    allowed = claimed.scopes & frozenset(row["scopes"])
    return Credential(
        id=str(claimed.grant_id),
        kind=CREDENTIAL_KIND,
        tenant_id=claimed.tenant_id,
        user_id=claimed.user_id,
        scopes=allowed if row["system_role"] == "admin" else allowed - scopes.ADMIN_SCOPES,
        expires_at=min(claimed.expires_at, row["expires_at"]),
        client=row["client_name"],
        generation=row["generation"],
        tool_result_format=row["result_text"] or TOOL_RESULT_FORMAT_BY_CLIENT_ID.get(claimed.client_id, ""),
        result_tokens=row["result_tokens"] or RESULT_TOKENS_BY_CLIENT_ID.get(claimed.client_id, 0),
        tool_exposure=row["tool_exposure"] or "",
    )


def _read_uuid(claims: Mapping[str, Any], name: str) -> UUID:
    try:
        return UUID(jose.read_text_claim(claims, name, most=36))
    except ValueError:
        raise InvalidToken(name) from None


def _parse_scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    claim = claims.get("scope")
    if not isinstance(claim, str):
        raise InvalidToken("scope")
    return frozenset(claim.split(" ")) & scopes.ALL_SCOPES
