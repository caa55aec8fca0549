"""Identity providers whose word a tenant takes for its people without a browser (enterprise-managed authorization)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from broker.providers.metadata_reader import MetadataReader, MetadataUnavailable, list_server_metadata_urls
from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Invalid, LimitReached, NotFound, Unavailable
from core.http.json_documents import JsonDocumentFetcher

MAX_ISSUERS = 20
MAX_ISSUER_LENGTH, MAX_URL_LENGTH = 500, 1_000

_ISSUER = re.compile(r"https?://[^\s/?#@\\]+(/[^\s?#\\]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """An issuer, byte for byte as its assertions name it, and where its keys are."""

    issuer: str
    jwks_uri: str
    created_at: datetime


class TrustedIssuers:
    """The trusted issuers of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, documents: JsonDocumentFetcher, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._documents = documents
        self._reader = MetadataReader(documents)
        self._clock = clock

    async def trust(self, actor: Actor, tenant_id: UUID, issuer: str, jwks_uri: str = "") -> TrustedIssuer:
        """Take an issuer's word from now on; one that is trusted already gets another key set.

        Without `jwks_uri` the issuer's own metadata is asked for it (OpenID Connect Discovery §4, RFC 8414 §3).

        Raises:
            Invalid: the issuer or the URL of its keys is none that MCPist may ask.
            Unavailable: the issuer's metadata cannot be read.
            LimitReached: the tenant trusts 20 issuers.
        """
        if len(issuer) > MAX_ISSUER_LENGTH or not _ISSUER.fullmatch(issuer):
            raise Invalid(
                "an issuer must be a URL such as https://idp.example.com, exactly as in the iss claim of its tokens"
            )
        jwks_uri = jwks_uri or await self._discover_jwks_uri(issuer)
        if len(jwks_uri) > MAX_URL_LENGTH or not self._documents.is_askable(jwks_uri):
            raise Invalid(
                "the JWKS URL must be an https URL on port 443 of a public host or on one that the operator lists "
                "in MCPIST_ALLOWED_PRIVATE_HOSTS"
            )
        async with self._database.tenant(tenant_id) as work:
            if await work.fetchval(_COUNT, issuer) >= MAX_ISSUERS:
                raise LimitReached(f"limit of {MAX_ISSUERS} trusted issuers per tenant reached; remove one first")
            since = await work.fetchval(_TRUST, issuer, jwks_uri, self._clock())
            await audit_change(work, actor, AuditEventKind.ISSUER_TRUSTED, issuer=issuer, jwks_uri=jwks_uri)
        return TrustedIssuer(issuer, jwks_uri, since)

    async def list(self, tenant_id: UUID) -> list[TrustedIssuer]:
        """The issuers that a tenant trusts, by name."""
        async with self._database.tenant(tenant_id) as work:
            return [TrustedIssuer(*row.values()) for row in await work.fetch(_LIST)]

    async def remove(self, actor: Actor, tenant_id: UUID, issuer: str) -> None:
        """Take an issuer's word no more; what was granted on it so far ends within a second, and nothing else does.

        Raises:
            NotFound: the tenant does not trust this issuer.
        """
        async with self._database.tenant(tenant_id) as work:
            if not await work.execute(_REMOVE, issuer):
                raise NotFound(
                    f"this tenant does not trust {issuer[:200]!r}; `mcpist issuer list` shows the trusted ones"
                )
            ended = await work.execute(_END_GRANTS, self._clock(), "issuer_removed", issuer)
            await audit_change(work, actor, AuditEventKind.ISSUER_REMOVED, issuer=issuer, grants_ended=ended)

    async def find_jwks_uri(self, tenant_id: UUID, issuer: str) -> str | None:
        """Return the JWKS URL of a trusted issuer; None if the tenant does not trust it."""
        async with self._database.tenant(tenant_id) as work:
            return await work.fetchval(_KEYS, issuer)

    async def _discover_jwks_uri(self, issuer: str) -> str:
        urls = [*list_server_metadata_urls(issuer), issuer.rstrip("/") + "/.well-known/oauth-authorization-server"]
        try:
            metadata = await self._reader.fetch(
                dict.fromkeys(urls), is_issuer=lambda named: named == issuer, needed="jwks_uri"
            )
        except MetadataUnavailable:
            pass
        else:
            return str(metadata["jwks_uri"])
        raise Unavailable("the issuer's metadata cannot be fetched or names another issuer; give its JWKS URL", 60)


async def is_trusted_in(work: UnitOfWork, issuer: str) -> bool:
    """Check whether the tenant trusts an issuer, and lock that row until the transaction ends.

    The lock makes a grant created meanwhile visible to the statement that ends the issuer's grants.
    """
    return await work.fetchval(_HELD, issuer) is not None


_COUNT = "SELECT count(*) FROM auth.trusted_issuers WHERE tenant_id = $1 AND issuer <> $2"
_TRUST = """INSERT INTO auth.trusted_issuers (tenant_id, issuer, jwks_uri, created_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (tenant_id, issuer) DO UPDATE SET jwks_uri = excluded.jwks_uri RETURNING created_at"""
_LIST = (
    """SELECT issuer, jwks_uri, created_at FROM auth.trusted_issuers WHERE tenant_id = $1 ORDER BY issuer LIMIT 1000"""
)
_REMOVE = "DELETE FROM auth.trusted_issuers WHERE tenant_id = $1 AND issuer = $2"
_KEYS = "SELECT jwks_uri FROM auth.trusted_issuers WHERE tenant_id = $1 AND issuer = $2"
_HELD = "SELECT issuer FROM auth.trusted_issuers WHERE tenant_id = $1 AND issuer = $2 FOR SHARE"
_END_GRANTS = """UPDATE auth.grants SET revoked_at = $2, cause = $3
    WHERE tenant_id = $1 AND kind = 'id_jag' AND issuer = $4 AND revoked_at IS NULL"""
