"""``/identities``: the accounts at identity providers that somebody signs in with."""

from datetime import datetime
from uuid import UUID

from broker.web.api.parts import Parts
from core.api.app import router
from core.api.callers import FreshPerson, Person, whose
from core.api.paging import Cursor, MomentKey, Most, key_of, paged
from core.api.shapes import PageOf, Told
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = router("identities")


class IdentityView(Told):
    """An account; `subject` is its id at the provider, `email` the address that it had when it was last used."""

    id: UUID
    issuer: str
    subject: str
    email: str
    created_at: datetime
    last_sign_in_at: datetime


@routes.get("/identities")
async def list_identities(
    caller: Person, parts: Parts, user: UUID | None = None, limit: Most = 50, cursor: Cursor = None
) -> PageOf[IdentityView]:
    """The accounts that one signs in with, or for administrators those of a `user`; newest first. People add their own
    under `/account`.
    """
    after: tuple[datetime, UUID] | None = None if cursor is None else key_of(cursor, MomentKey)
    found = await parts.identities.page(caller.tenant_id, whose(caller, user, ADMIN_READ), after, limit + 1)
    shown, following = paged(found, limit, lambda one: (one.created_at, one.id))
    return PageOf(items=[IdentityView.model_validate(one) for one in shown], next_cursor=following)


@routes.delete("/identities/{identity_id}", status_code=204)
async def untie(identity_id: UUID, caller: FreshPerson, parts: Parts) -> None:
    """Have an account sign its user in no more; administrators may for everybody. One's own last account stays. It
    takes a sign-in of the last ten minutes, because it changes who can sign in.
    """
    owner = None if caller.administers(ADMIN_WRITE) else caller.user_id
    await parts.identities.untie(caller.actor, caller.tenant_id, identity_id, user_id=owner)
