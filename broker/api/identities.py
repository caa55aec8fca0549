"""``/identities``: the accounts at identity providers that somebody signs in with."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.dependencies import CurrentUserRead, RecentlySignedInUser, UserFilter, resolve_owner
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = create_router("identities")

IdentityId = Annotated[UUID, Path(description="Identifier of the identity.")]


class IdentityView(ResponseModel):
    """An account at an identity provider with which a user signs in."""

    id: UUID = Field(description="Identifier of the identity.")
    issuer: str = Field(description="Issuer of the identity provider.")
    subject: str = Field(description="Identifier of the account at the identity provider.")
    email: str = Field(description="E-mail address of the account at its latest sign-in.")
    created_at: datetime = Field(description="Time at which the identity was linked.")
    last_sign_in_at: datetime = Field(description="Time of the latest sign-in with it.")


@routes.get("/identities")
async def list_identities(
    caller: CurrentUserRead, parts: IdentityDeps, user: UserFilter = None, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[IdentityView]:
    """List identities.

    Returns the caller's own, newest first; they are linked under `/account`. Administrators can name a `user`.
    """
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    identities = await parts.identities.list_page(
        caller.tenant_id, resolve_owner(caller, user, ADMIN_READ), after, limit + 1
    )
    shown, following = split_page(identities, limit, lambda identity: (identity.created_at, identity.id))
    return PageOf(items=[IdentityView.model_validate(identity) for identity in shown], next_cursor=following)


@routes.delete("/identities/{identity_id}", status_code=204)
async def unlink_identity(identity_id: IdentityId, caller: RecentlySignedInUser, parts: IdentityDeps) -> None:
    """Unlink an identity.

    Users cannot unlink their last identity; administrators can unlink any of the tenant. It changes who can sign in, so
    a sign-in within the last ten minutes is required.
    """
    owner = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    await parts.identities.unlink(caller.actor, caller.tenant_id, identity_id, user_id=owner)
