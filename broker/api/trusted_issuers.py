"""``/oauth/issuers``: identity providers whose assertions a tenant accepts (enterprise-managed authorization)."""

from datetime import datetime
from typing import Annotated

import msgspec
from fastapi import Query
from pydantic import Field, StringConstraints

from broker.api.identity_dependencies import IdentityDeps
from broker.authorization_server.trusted_issuers import MAX_ISSUER_LENGTH, MAX_URL_LENGTH
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, RecentlySignedInAdmin
from core.api.pagination import Cursor, PageLimit, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel, ResponseModel

routes = create_router("oauth")

Issuer = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ISSUER_LENGTH, pattern=NO_CONTROL_CHARACTERS)]
IssuerQuery = Annotated[
    str,
    Query(
        min_length=1,
        max_length=MAX_ISSUER_LENGTH,
        pattern=NO_CONTROL_CHARACTERS,
        description="Issuer identifier, exactly as in the list.",
    ),
]
JwksUri = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL_LENGTH, pattern=NO_CONTROL_CHARACTERS)]
IssuerKey = Annotated[str, msgspec.Meta(pattern=NO_CONTROL_CHARACTERS, max_length=MAX_ISSUER_LENGTH)]


class IssuerView(ResponseModel):
    """A trusted issuer of the tenant."""

    issuer: str = Field(description="Issuer identifier, exactly as in the `iss` claim of its assertions.")
    jwks_uri: str = Field(description="URL of the JWK set that its assertions are verified with.")
    created_at: datetime = Field(description="Time at which the tenant began to trust it.")


class IssuerTrust(RequestModel):
    """An issuer to trust."""

    issuer: Issuer = Field(description="Issuer identifier, exactly as in the `iss` claim of its assertions.")
    jwks_uri: JwksUri | None = Field(
        default=None, description="URL of its JWK set; null to read it from the issuer's metadata."
    )


@routes.get("/oauth/issuers")
async def list_issuers(
    caller: AdminRead, parts: IdentityDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[IssuerView]:
    """List trusted issuers.

    Ordered by issuer identifier.
    """
    issuers = sorted(await parts.issuers.list(caller.tenant_id), key=lambda trusted: trusted.issuer)
    if cursor is not None:
        last: str = decode_cursor(cursor, IssuerKey)
        issuers = [trusted for trusted in issuers if trusted.issuer > last]
    shown, following = split_page(issuers, limit, lambda trusted: trusted.issuer)
    return PageOf(items=[IssuerView.model_validate(trusted) for trusted in shown], next_cursor=following)


@routes.put("/oauth/issuers")
async def trust_issuer(body: IssuerTrust, caller: RecentlySignedInAdmin, parts: IdentityDeps) -> IssuerView:
    """Trust an issuer, or change the JWK set of a trusted one.

    Its assertions let users of the tenant in, within the allow list, so a sign-in within the last ten minutes is
    required. Without `jwks_uri` the issuer's metadata is fetched; 503 if that fails.
    """
    trusted = await parts.issuers.trust(caller.actor, caller.tenant_id, body.issuer, body.jwks_uri or "")
    return IssuerView.model_validate(trusted)


@routes.delete("/oauth/issuers", status_code=204)
async def remove_issuer(issuer: IssuerQuery, caller: AdminWrite, parts: IdentityDeps) -> None:
    """Stop trusting an issuer.

    Everything granted on its assertions ends within a second.
    """
    await parts.issuers.remove(caller.actor, caller.tenant_id, issuer)
