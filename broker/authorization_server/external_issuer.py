"""Tokens of another authorization server, in the place of ours: its keys, its claims, our tenants and users.

Nobody is created by a token. A user is found by an account that was linked to them, or by the e-mail address of an
active user of the tenant, if the other server vouches for it.
"""

import hashlib
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from broker.authorization_server import jose
from broker.authorization_server.jose import InvalidToken
from broker.authorization_server.jwks_cache import JwksCache
from broker.identity.settings import ExternalSettings
from broker.interface import CredentialRefusal, RefusalReason
from core import scopes
from core.caller import Credential
from core.db import Database, Row
from core.http.json_documents import JsonDocumentFetcher
from core.known_clients import RESULT_TOKENS_BY_CLIENT_ID, TOOL_RESULT_FORMAT_BY_CLIENT_ID
from core.secret import Secret

CREDENTIAL_KIND = "oauth"
SUBJECT_CLAIM = "sub"
LOG_INTERVAL_SECONDS = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _VerifiedClaims:
    subject: str
    email: str
    tenant: str
    client_id: str
    scopes: frozenset[str]
    expires_at: datetime


class ExternalIssuerVerifier:
    """Implements :class:`broker.interface.Verifier` for the tokens of one other authorization server."""

    def __init__(
        self,
        settings: ExternalSettings,
        database: Database,
        documents: JsonDocumentFetcher,
        *,
        resource: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._settings = settings
        self._database = database
        self._keys = JwksCache(documents, clock=time.monotonic).get_key_set(settings.jwks_uri)
        self._audience = settings.audience or resource
        self._types = frozenset(name.lower() for name in settings.token_types)
        self._clock = clock
        self._told: dict[str, float] = {}

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        """Verify an access token of the external server and return the principal that it authenticates.

        Raises:
            core.errors.Unavailable: the other server's keys could never be read, or the database is away.
        """
        try:
            claimed = self._validate_claims(await self._verify_signature(token.reveal()))
        except InvalidToken as error:
            self._log_rejection(error.cause)
            return CredentialRefusal(_REASONS.get(error.cause, RefusalReason.UNKNOWN))
        tenant_id = await self._find_tenant(claimed.tenant)
        if tenant_id is None:
            self._log_rejection("tenant")
            return CredentialRefusal(RefusalReason.UNKNOWN)
        return await self._load_credential(claimed, tenant_id)

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        """See :class:`broker.interface.Verifier`. None is checked among others: its keys may have to be fetched."""
        return [None] * len(tokens)

    async def _verify_signature(self, text: str) -> Mapping[str, Any]:
        jwt = jose.parse_jwt(text)
        if jwt.typ.lower() not in self._types:
            raise InvalidToken("typ")
        if jwt.unverified_claims.get("iss") != self._settings.issuer:
            raise InvalidToken("iss")  # before its key is looked for: others' tokens cause no fetch
        key = await self._keys.find(jwt.kid)
        if key is None:
            raise InvalidToken("kid")
        return jwt.verify_claims(key, jose.ASYMMETRIC_ALGORITHMS)

    def _validate_claims(self, claims: Mapping[str, Any]) -> _VerifiedClaims:
        if not _includes_audience(claims.get("aud"), self._audience):
            raise InvalidToken("aud")
        ends = jose.check_times(claims, self._clock().timestamp())
        return _VerifiedClaims(
            jose.read_text_claim(claims, SUBJECT_CLAIM, most=500),
            self._read_email(claims),
            self._settings.tenant or self._read_tenant_slug(claims),
            str(claims.get("client_id") or claims.get("azp") or "")[:200],
            _parse_scopes(claims.get(self._settings.claims.scopes)),
            datetime.fromtimestamp(ends, UTC),
        )

    def _read_email(self, claims: Mapping[str, Any]) -> str:
        """The address that may find a user, empty if none: one that nobody has checked would be anybody's."""
        name = self._settings.claims.user
        if name == SUBJECT_CLAIM:
            return ""
        if claims.get("email_verified") is not True and not self._settings.emails_are_verified:
            return ""
        value = claims.get(name)
        return value.lower() if isinstance(value, str) and len(value) <= 320 and "@" in value else ""

    def _read_tenant_slug(self, claims: Mapping[str, Any]) -> str:
        claim = jose.read_text_claim(claims, self._settings.claims.tenant, most=300)
        return self._settings.tenants.get(claim, "" if self._settings.tenants else claim)

    async def _find_tenant(self, slug: str) -> UUID | None:
        rows = await self._database.lookup("lookup_slug", slug, "SELECT tenant_id FROM core.tenants") if slug else ()
        return rows[0]["tenant_id"] if rows else None

    async def _load_credential(self, claimed: _VerifiedClaims, tenant_id: UUID) -> Credential | CredentialRefusal:
        async with self._database.tenant(tenant_id) as work:
            # One statement, so one snapshot: the generation is never newer than what stands beside it.
            row = await work.fetchrow(_STORED, self._settings.issuer, claimed.subject, claimed.email)
        if row is None:
            self._log_rejection("user")
            return CredentialRefusal(RefusalReason.UNKNOWN, tenant_id)
        credential_id = self._build_credential_id(claimed)
        reason = _find_refusal(row)
        if reason is not None:
            return CredentialRefusal(reason, tenant_id, row["id"], credential_id)
        return Credential(
            id=credential_id,
            kind=CREDENTIAL_KIND,
            tenant_id=tenant_id,
            user_id=row["id"],
            scopes=claimed.scopes,
            expires_at=claimed.expires_at,
            client=claimed.client_id,
            generation=row["generation"],
            tool_result_format=TOOL_RESULT_FORMAT_BY_CLIENT_ID.get(claimed.client_id, ""),
            result_tokens=RESULT_TOKENS_BY_CLIENT_ID.get(claimed.client_id, 0),
        )

    def _build_credential_id(self, claimed: _VerifiedClaims) -> str:
        """The same for every token of one person and client: limits and the audit log go by it."""
        key = "\0".join((self._settings.issuer, claimed.subject, claimed.client_id))
        return f"external-{hashlib.sha256(key.encode()).hexdigest()[:32]}"

    def _log_rejection(self, cause: str) -> None:
        """Log each cause now and then: the operator has to find out what does not fit, and nobody may fill the log."""
        now = self._clock().timestamp()
        if cause not in _ROUTINE and now - self._told.get(cause, -math.inf) >= LOG_INTERVAL_SECONDS:
            self._told[cause] = now
            log.warning(
                "token of the external authorization server rejected",
                extra={"event": "external_token_rejected", "cause": cause},
            )


_ROUTINE = frozenset({"expired", "form", "size"})
_REASONS = {"expired": RefusalReason.EXPIRED, "signature": RefusalReason.WRONG_SECRET}
_STORED = """SELECT u.id, u.status AS user_status, t.status AS tenant_status, n.value AS generation
    FROM core.users u
    JOIN core.tenants t ON t.tenant_id = u.tenant_id
    JOIN core.generations n ON n.tenant_id = u.tenant_id
    WHERE u.tenant_id = $1 AND u.id = coalesce(
        (SELECT i.user_id FROM auth.identities i WHERE i.tenant_id = $1 AND i.issuer = $2 AND i.subject = $3),
        (SELECT e.id FROM core.users e WHERE e.tenant_id = $1 AND e.email = $4))"""


def _find_refusal(row: Row) -> RefusalReason | None:
    if row["tenant_status"] != "active":
        return RefusalReason.TENANT_SUSPENDED
    return RefusalReason.USER_SUSPENDED if row["user_status"] != "active" else None


def _includes_audience(audience: object, expected: str) -> bool:
    """Check whether a token is issued for this server (RFC 7519 §4.1.3); it may name other audiences beside it."""
    return audience == expected or (isinstance(audience, list) and expected in cast("list[object]", audience))


def _parse_scopes(claim: object) -> frozenset[str]:
    """Ours among the scopes of a token, which stand in a text or a list. Nobody administers by another's token."""
    words = (
        claim.split(" ") if isinstance(claim, str) else cast("list[object]", claim) if isinstance(claim, list) else []
    )
    return frozenset(word for word in words if isinstance(word, str)) & scopes.MCP_SCOPES
