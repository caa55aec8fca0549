"""Tokens of another authorization server, in the place of ours: its keys, its claims, our tenants and users.

Nobody is created by a token. A user is found by an account that was linked to them, or by the e-mail address of an
active user of the tenant, if the other server vouches for it.
"""

import hashlib
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from broker.identity.settings import ExternalSettings
from broker.interface import RefusalReason, Refused
from broker.oauth import jose
from broker.oauth.jose import NotGenuine
from broker.oauth.key_sets import MOST_BYTES, RemoteKeys
from core import scopes
from core.caller import Credential
from core.db import Database, Row
from core.known_clients import BY_CLIENT_ID
from core.outbound.documents import Documents
from core.secret import Secret

KIND = "oauth"
SUBJECT = "sub"
TOLD_SECONDS = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Claimed:
    subject: str
    email: str
    tenant: str
    client_id: str
    scopes: frozenset[str]
    expires_at: datetime


class ExternalIssuer:
    """Implements :class:`broker.interface.Verifier` for the tokens of one other authorization server."""

    def __init__(
        self,
        settings: ExternalSettings,
        database: Database,
        documents: Documents,
        *,
        resource: str,
        clock: Callable[[], datetime],
    ) -> None:
        async def fetch(url: str) -> bytes:
            return (await documents.read(url, MOST_BYTES)).body

        self._settings = settings
        self._database = database
        self._keys = RemoteKeys(settings.jwks_uri, fetch)
        self._audience = settings.audience or resource
        self._types = frozenset(name.lower() for name in settings.token_types)
        self._clock = clock
        self._told: dict[str, float] = {}

    async def verify(self, token: Secret) -> Credential | Refused:
        """Whom a token speaks for.

        Raises:
            core.errors.Unavailable: the other server's keys could never be read, or the database is away.
        """
        try:
            claimed = self._claimed(await self._claims(token.reveal()))
        except NotGenuine as error:
            self._tell(error.cause)
            return Refused(_REASONS.get(error.cause, RefusalReason.UNKNOWN))
        tenant_id = await self._tenant(claimed.tenant)
        if tenant_id is None:
            self._tell("tenant")
            return Refused(RefusalReason.UNKNOWN)
        return await self._stored(claimed, tenant_id)

    async def _claims(self, text: str) -> Mapping[str, Any]:
        jwt = jose.read(text)
        if jwt.typ.lower() not in self._types:
            raise NotGenuine("typ")
        if jwt.unverified.get("iss") != self._settings.issuer:
            raise NotGenuine("iss")  # before its key is looked for: others' tokens cause no fetch
        key = await self._keys.find(jwt.kid)
        if key is None:
            raise NotGenuine("kid")
        return jwt.claims(key, jose.ASYMMETRIC)

    def _claimed(self, claims: Mapping[str, Any]) -> _Claimed:
        if not _names(claims.get("aud"), self._audience):
            raise NotGenuine("aud")
        ends = jose.check_times(claims, self._clock().timestamp())
        return _Claimed(
            jose.text(claims, SUBJECT, most=500),
            self._email(claims),
            self._settings.tenant or self._tenant_slug(claims),
            str(claims.get("client_id") or claims.get("azp") or "")[:200],
            _scopes(claims.get(self._settings.claims.scopes)),
            datetime.fromtimestamp(ends, UTC),
        )

    def _email(self, claims: Mapping[str, Any]) -> str:
        """The address that may find a user, empty if none: one that nobody has checked would be anybody's."""
        name = self._settings.claims.user
        if name == SUBJECT:
            return ""
        if claims.get("email_verified") is not True and not self._settings.emails_are_verified:
            return ""
        value = claims.get(name)
        return value.lower() if isinstance(value, str) and len(value) <= 320 and "@" in value else ""

    def _tenant_slug(self, claims: Mapping[str, Any]) -> str:
        said = jose.text(claims, self._settings.claims.tenant, most=300)
        return self._settings.tenants.get(said, "" if self._settings.tenants else said)

    async def _tenant(self, slug: str) -> UUID | None:
        rows = await self._database.lookup("lookup_slug", slug, "SELECT tenant_id FROM core.tenants") if slug else ()
        return rows[0]["tenant_id"] if rows else None

    async def _stored(self, claimed: _Claimed, tenant_id: UUID) -> Credential | Refused:
        async with self._database.tenant(tenant_id) as work:
            # One statement, so one snapshot: the generation is never newer than what stands beside it.
            row = await work.fetchrow(_STORED, self._settings.issuer, claimed.subject, claimed.email)
        if row is None:
            self._tell("user")
            return Refused(RefusalReason.UNKNOWN, tenant_id)
        credential_id = self._credential_id(claimed)
        reason = _refusal(row)
        if reason is not None:
            return Refused(reason, tenant_id, row["id"], credential_id)
        return Credential(
            id=credential_id,
            kind=KIND,
            tenant_id=tenant_id,
            user_id=row["id"],
            scopes=claimed.scopes,
            expires_at=claimed.expires_at,
            client=claimed.client_id,
            generation=row["generation"],
            result_text=BY_CLIENT_ID.get(claimed.client_id, ""),
        )

    def _credential_id(self, claimed: _Claimed) -> str:
        """The same for every token of one person and client: limits and the audit log go by it."""
        said = "\0".join((self._settings.issuer, claimed.subject, claimed.client_id))
        return f"external-{hashlib.sha256(said.encode()).hexdigest()[:32]}"

    def _tell(self, cause: str) -> None:
        """Log each cause now and then: the operator has to find out what does not fit, and nobody may fill the log."""
        now = self._clock().timestamp()
        if cause not in _ROUTINE and now - self._told.get(cause, -math.inf) >= TOLD_SECONDS:
            self._told[cause] = now
            log.warning("a token of the other authorization server does not count", extra={"cause": cause})


_ROUTINE = frozenset({"expired", "form", "size"})
_REASONS = {"expired": RefusalReason.EXPIRED, "signature": RefusalReason.WRONG_SECRET}
_STORED = """SELECT u.id, u.status AS user_status, t.status AS tenant_status, n.value AS generation
    FROM core.users u
    JOIN core.tenants t ON t.tenant_id = u.tenant_id
    JOIN core.generations n ON n.tenant_id = u.tenant_id
    WHERE u.tenant_id = $1 AND u.id = coalesce(
        (SELECT i.user_id FROM auth.identities i WHERE i.tenant_id = $1 AND i.issuer = $2 AND i.subject = $3),
        (SELECT e.id FROM core.users e WHERE e.tenant_id = $1 AND e.email = $4))"""


def _refusal(row: Row) -> RefusalReason | None:
    if row["tenant_status"] != "active":
        return RefusalReason.TENANT_SUSPENDED
    return RefusalReason.USER_SUSPENDED if row["user_status"] != "active" else None


def _names(audience: object, wanted: str) -> bool:
    """Whether a token is for us (RFC 7519 §4.1.3). Other servers often name their own userinfo endpoint beside us."""
    return audience == wanted or (isinstance(audience, list) and wanted in cast("list[object]", audience))


def _scopes(said: object) -> frozenset[str]:
    """Ours among the scopes of a token, which stand in a text or a list. Nobody administers by another's token."""
    words = said.split(" ") if isinstance(said, str) else cast("list[object]", said) if isinstance(said, list) else []
    return frozenset(word for word in words if isinstance(word, str)) & scopes.MCP
