"""``/sessions``: the browsers that somebody is signed in with."""

from datetime import datetime
from uuid import UUID

from broker.web.api.parts import Parts
from core.api.app import router
from core.api.callers import ChangingPerson, Person, whose
from core.api.shapes import PageOf, Told
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = router("sessions")


class SessionView(Told):
    """A signed-in browser; `current` is the one that asks."""

    id: UUID
    method: str
    address: str
    user_agent: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    current: bool = False


@routes.get("/sessions")
async def list_sessions(caller: Person, parts: Parts, user: UUID | None = None) -> PageOf[SessionView]:
    """One's own live sessions, or for administrators those of a `user`; the one used last first, all in one page."""
    found = await parts.sessions.list(caller.tenant_id, whose(caller, user, ADMIN_READ))
    views = [SessionView.model_validate(one) for one in found]
    items = [one.model_copy(update={"current": str(one.id) == caller.credential_id}) for one in views]
    return PageOf(items=items, next_cursor=None)


@routes.delete("/sessions/{session_id}", status_code=204)
async def end_session(session_id: UUID, caller: ChangingPerson, parts: Parts) -> None:
    """End a session at once; administrators may end everybody's."""
    owner = None if caller.administers(ADMIN_WRITE) else caller.user_id
    await parts.sessions.end(caller.actor, caller.tenant_id, session_id, user_id=owner)
