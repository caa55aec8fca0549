"""``/oauth/grants``: the clients that somebody has let in."""

from datetime import datetime
from uuid import UUID

from broker.web.api.parts import Parts
from core.api.app import router
from core.api.callers import ChangingPerson, Person, whose
from core.api.paging import Cursor, MomentKey, Most, key_of, paged
from core.api.shapes import PageOf, Told
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = router("oauth")


class GrantView(Told):
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
    caller: Person, parts: Parts, user: UUID | None = None, limit: Most = 50, cursor: Cursor = None
) -> PageOf[GrantView]:
    """One's own live grants, or for administrators those of a `user`; newest first."""
    after: tuple[datetime, UUID] | None = None if cursor is None else key_of(cursor, MomentKey)
    found = await parts.grants.page_of_user(caller.tenant_id, whose(caller, user, ADMIN_READ), after, limit + 1)
    shown, following = paged(found, limit, lambda one: (one.created_at, one.id))
    return PageOf(items=[GrantView.model_validate(one) for one in shown], next_cursor=following)


@routes.delete("/oauth/grants/{grant_id}", status_code=204)
async def revoke_grant(grant_id: UUID, caller: ChangingPerson, parts: Parts) -> None:
    """End a grant with all its tokens, within a second everywhere; administrators may end everybody's."""
    administers = caller.administers(ADMIN_WRITE)
    owner, cause = (None, "administrator") if administers else (caller.user_id, "user")
    await parts.grants.revoke(caller.actor, caller.tenant_id, grant_id, cause, user_id=owner)
