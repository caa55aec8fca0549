"""``/identities``: the accounts at identity providers that somebody signs in with."""

from datetime import datetime
from uuid import UUID

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.dependencies import CurrentUserRead, RecentlySignedInUser, resolve_owner
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = create_router("identities")


class IdentityView(ResponseModel):
    """An account; `subject` is its id at the provider, `email` the address that it had when it was last used."""

    id: UUID
    issuer: str
    subject: str
    email: str
    created_at: datetime
    last_sign_in_at: datetime


@routes.get("/identities")
async def list_identities(
    caller: CurrentUserRead, parts: IdentityDeps, user: UUID | None = None, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[IdentityView]:
    """The accounts that one signs in with, or for administrators those of a `user`; newest first. People add their own
    under `/account`.
    """
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    found = await parts.identities.list_page(
        caller.tenant_id, resolve_owner(caller, user, ADMIN_READ), after, limit + 1
    )
    shown, following = split_page(found, limit, lambda one: (one.created_at, one.id))
    return PageOf(items=[IdentityView.model_validate(one) for one in shown], next_cursor=following)


@routes.delete("/identities/{identity_id}", status_code=204)
async def unlink_identity(identity_id: UUID, caller: RecentlySignedInUser, parts: IdentityDeps) -> None:
    """Have an account sign its user in no more; administrators may for everybody. One's own last account stays. It
    takes a sign-in of the last ten minutes, because it changes who can sign in.
    """
    owner = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    await parts.identities.unlink(caller.actor, caller.tenant_id, identity_id, user_id=owner)
