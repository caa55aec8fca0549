"""``/oauth/issuers``: identity providers whose assertions the tenant accepts (enterprise-managed authorization)."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import Field, StringConstraints

from broker.api.identity_dependencies import IdentityDeps
from broker.authorization_server.trusted_issuers import MAX_ISSUER_LENGTH, MAX_URL_LENGTH
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, RecentlySignedInAdmin
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel, ResponseModel

routes = create_router("oauth")

IssuerUrl = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ISSUER_LENGTH, pattern=NO_CONTROL_CHARACTERS)]


class TrustedIssuerView(ResponseModel):
    """An identity provider whose assertions the tenant accepts."""

    issuer: str = Field(description="Issuer, exactly as in the `iss` claim of its assertions.")
    jwks_uri: str = Field(description="URL of the issuer's public keys.")
    created_at: datetime = Field(description="Time since which the issuer is trusted.")


class IssuerTrust(RequestModel):
    """An identity provider to trust."""

    issuer: IssuerUrl = Field(description="Issuer, exactly as in the `iss` claim of its assertions.")
    jwks_uri: Annotated[str, StringConstraints(max_length=MAX_URL_LENGTH, pattern=NO_CONTROL_CHARACTERS)] = Field(
        default="", description="URL of the issuer's public keys; empty to take it from the issuer's metadata."
    )


@routes.get("/oauth/issuers")
async def list_issuers(
    caller: AdminRead, parts: IdentityDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[TrustedIssuerView]:
    """List trusted issuers.

    Ordered by issuer.
    """
    found = await parts.issuers.list(caller.tenant_id)
    if cursor is not None:
        after: str = decode_cursor(cursor, TextKey)
        found = [one for one in found if one.issuer > after]
    shown, following = split_page(found[: limit + 1], limit, lambda one: one.issuer)
    return PageOf(items=[TrustedIssuerView.model_validate(one) for one in shown], next_cursor=following)


@routes.put("/oauth/issuers")
async def trust_issuer(asked: IssuerTrust, caller: RecentlySignedInAdmin, parts: IdentityDeps) -> TrustedIssuerView:
    """Trust an issuer, or change where its keys are.

    Its assertions let users in without a browser, so a sign-in within the last ten minutes is required. The allow list
    decides about users as it does at a sign-in.
    """
    trusted = await parts.issuers.trust(caller.actor, caller.tenant_id, asked.issuer, asked.jwks_uri)
    return TrustedIssuerView.model_validate(trusted)


@routes.delete("/oauth/issuers", status_code=204)
async def remove_issuer(
    caller: AdminWrite,
    parts: IdentityDeps,
    issuer: Annotated[IssuerUrl, Query(description="Issuer, exactly as it was trusted.")],
) -> None:
    """Stop trusting an issuer.

    Everything granted on its assertions ends within a second.
    """
    await parts.issuers.remove(caller.actor, caller.tenant_id, issuer)
