"""``/scim-tokens``: bearer tokens by which an identity provider provisions people and groups."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, RecentlySignedInAdmin
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.schemas import PageOf, RequestModel, ResponseModel, ShortName

routes = create_router("scim")

ScimTokenPath = Annotated[UUID, Path(description="Identifier of the SCIM token.")]


class ScimTokenView(ResponseModel):
    """A SCIM token, without its secret."""

    id: UUID = Field(description="Identifier of the token.")
    name: str = Field(description="Name that tells tokens apart.")
    created_at: datetime = Field(description="Time of creation.")
    last_used_at: datetime | None = Field(
        description="Time of the latest use, five minutes exactly; null if never used."
    )


class ScimTokenCreate(RequestModel):
    """A SCIM token to create."""

    name: ShortName = Field(description="Name that tells tokens apart, such as that of the identity provider.")


class CreatedScimTokenView(ResponseModel):
    """A newly created SCIM token."""

    id: UUID = Field(description="Identifier of the token.")
    token: str = Field(description="The token, returned only once.")


@routes.get("/scim-tokens")
async def list_scim_tokens(
    caller: AdminRead, parts: IdentityDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[ScimTokenView]:
    """List SCIM tokens.

    Newest first.
    """
    after = None if cursor is None else decode_cursor(cursor, TimestampKey)
    tokens = await parts.scim_tokens.list_page(caller.tenant_id, after, limit + 1)
    shown, following = split_page(tokens, limit, lambda token: (token.created_at, token.id))
    return PageOf(items=[ScimTokenView.model_validate(token) for token in shown], next_cursor=following)


@routes.post("/scim-tokens", status_code=201)
async def make_scim_token(
    body: ScimTokenCreate, caller: RecentlySignedInAdmin, parts: IdentityDeps
) -> CreatedScimTokenView:
    """Create a SCIM token.

    It makes, changes and suspends people and groups of the tenant under `/scim/v2`, and opens nothing else. It creates
    a credential, so a sign-in within the last ten minutes is required.
    """
    made, token = await parts.scim_tokens.create(caller.actor, caller.tenant_id, body.name)
    return CreatedScimTokenView(id=made.id, token=token.reveal())


@routes.delete("/scim-tokens/{scim_token_id}", status_code=204)
async def remove_scim_token(scim_token_id: ScimTokenPath, caller: AdminWrite, parts: IdentityDeps) -> None:
    """Remove a SCIM token.

    It ends at once; people and groups stay as they are.
    """
    await parts.scim_tokens.remove(caller.actor, caller.tenant_id, scim_token_id)
