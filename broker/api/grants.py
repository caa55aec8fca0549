"""``/oauth/grants``: the clients that somebody has let in."""

from datetime import datetime
from uuid import UUID

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.dependencies import CurrentUserRead, CurrentUserWrite, resolve_owner
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = create_router("oauth")


class GrantView(ResponseModel):
    """What a client may do for somebody. Unless an administrator registered the client, it chose its name itself."""

    id: UUID
    kind: str
    client_id: str
    client_name: str
    scopes: list[str]
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime


@routes.get("/oauth/grants")
async def list_grants(
    caller: CurrentUserRead, parts: IdentityDeps, user: UUID | None = None, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[GrantView]:
    """One's own live grants, or for administrators those of a `user`; newest first."""
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    found = await parts.grants.list_page_for_user(
        caller.tenant_id, resolve_owner(caller, user, ADMIN_READ), after, limit + 1
    )
    shown, following = split_page(found, limit, lambda one: (one.created_at, one.id))
    return PageOf(items=[GrantView.model_validate(one) for one in shown], next_cursor=following)


@routes.delete("/oauth/grants/{grant_id}", status_code=204)
async def revoke_grant(grant_id: UUID, caller: CurrentUserWrite, parts: IdentityDeps) -> None:
    """End a grant with all its tokens, within a second everywhere; administrators may end everybody's."""
    administers = caller.is_administrator_with(ADMIN_WRITE)
    owner, cause = (None, "administrator") if administers else (caller.user_id, "user")
    await parts.grants.revoke(caller.actor, caller.tenant_id, grant_id, cause, user_id=owner)
