"""``/oauth/issuers``: identity providers whose assertions a tenant accepts (enterprise-managed authorization)."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from fastapi import Query
from pydantic import Field, StringConstraints

from broker.api.identity_dependencies import IdentityDeps
from broker.authorization_server.trusted_issuers import MAX_ISSUER_LENGTH, MAX_URL_LENGTH, TrustedIssuer
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, RecentlySignedInAdmin
from core.api.pagination import Cursor, PageLimit
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel, ResponseModel, ShortText
from core.api.sorted_lists import SortedList, SortKey

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
IssuerSort = Literal["issuer", "-issuer", "created_at", "-created_at"]
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


_ISSUERS = SortedList[TrustedIssuer](
    lambda trusted: f"{trusted.issuer} {trusted.jwks_uri}",
    lambda trusted: trusted.issuer,
    {
        "issuer": SortKey(lambda trusted: trusted.issuer, IssuerKey),
        "created_at": SortKey(lambda trusted: trusted.created_at, datetime),
    },
    IssuerKey,
)


@routes.get("/oauth/issuers")
async def list_issuers(
    caller: AdminRead,
    parts: IdentityDeps,
    q: Annotated[ShortText, Query(description="Words that the issuer or the address of its keys contains.")] = "",
    sort: Annotated[IssuerSort, Query(description="Field to order by; with `-` the other way round.")] = "issuer",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[IssuerView]:
    """List trusted issuers.

    Ordered by issuer identifier, unless `sort` says otherwise. Width, case and kana do not count in `q`.
    """
    issuers = await parts.issuers.list(caller.tenant_id)
    shown, following = _ISSUERS.select_page(issuers, q, sort, limit, cursor)
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
