"""``/oauth/grants``: the clients that somebody has let in."""

from datetime import datetime
from uuid import UUID

from broker.web.api.parts import Parts
from core.api.app import router
from core.api.callers import ChangingPerson, Person, whose
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
async def list_grants(caller: Person, parts: Parts, user: UUID | None = None) -> PageOf[GrantView]:
    """One's own live grants, or for administrators those of a `user`; the one used last first, all in one page."""
    found = await parts.grants.list_of_user(caller.tenant_id, whose(caller, user, ADMIN_READ))
    return PageOf(items=[GrantView.model_validate(one) for one in found], next_cursor=None)


@routes.delete("/oauth/grants/{grant_id}", status_code=204)
async def revoke_grant(grant_id: UUID, caller: ChangingPerson, parts: Parts) -> None:
    """End a grant with all its tokens, within a second everywhere; administrators may end everybody's."""
    administers = caller.administers(ADMIN_WRITE)
    owner, cause = (None, "administrator") if administers else (caller.user_id, "user")
    await parts.grants.revoke(caller.actor, caller.tenant_id, grant_id, cause, user_id=owner)
