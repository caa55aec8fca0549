"""``/sessions``: the browsers that somebody is signed in with."""

from datetime import datetime
from uuid import UUID

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.dependencies import CurrentUserRead, CurrentUserWrite, resolve_owner
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = create_router("sessions")


class SessionView(ResponseModel):
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
async def list_sessions(
    caller: CurrentUserRead, parts: IdentityDeps, user: UUID | None = None, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[SessionView]:
    """One's own live sessions, or for administrators those of a `user`; newest first."""
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    found = await parts.sessions.list_page(caller.tenant_id, resolve_owner(caller, user, ADMIN_READ), after, limit + 1)
    shown, following = split_page(found, limit, lambda one: (one.created_at, one.id))
    views = [SessionView.model_validate(one) for one in shown]
    items = [one.model_copy(update={"current": str(one.id) == caller.credential_id}) for one in views]
    return PageOf(items=items, next_cursor=following)


@routes.delete("/sessions", status_code=204)
async def end_sessions(
    caller: CurrentUserWrite, parts: IdentityDeps, user: UUID | None = None, keep_current: bool = False
) -> None:
    """End all of one's own sessions at once, or for administrators those of a `user`; with `keep_current` all but the
    one that asks. Clients that were let in, and API tokens, go on.
    """
    current = UUID(caller.credential_id) if keep_current and caller.authentication_method == "session" else None
    owner = resolve_owner(caller, user, ADMIN_WRITE)
    await parts.sessions.end_all(caller.actor, caller.tenant_id, owner, but=current)


@routes.delete("/sessions/{session_id}", status_code=204)
async def end_session(session_id: UUID, caller: CurrentUserWrite, parts: IdentityDeps) -> None:
    """End a session at once; administrators may end everybody's."""
    owner = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    await parts.sessions.end(caller.actor, caller.tenant_id, session_id, user_id=owner)
