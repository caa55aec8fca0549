"""``/sessions``: the browsers that somebody is signed in with."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import Field

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.dependencies import OwnerRead, OwnerWrite, UserFilter, resolve_owner
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = create_router("sessions")

SessionId = Annotated[UUID, Path(description="Identifier of the session.")]
KeepCurrent = Annotated[bool, Query(description="Keep the session that sends this request.")]


class SessionView(ResponseModel):
    """A signed-in browser session."""

    id: UUID = Field(description="Identifier of the session.")
    method: str = Field(description="Identity provider that the user signed in with, or `link`.")
    address: str = Field(description="IP address of the browser.")
    user_agent: str = Field(description="User agent of the browser.")
    browser: str = Field(description="Browser and system by name, such as `Firefox, Windows`; empty if unknown.")
    created_at: datetime = Field(description="Time of the sign-in.")
    last_seen_at: datetime = Field(description="Time of the latest request.")
    expires_at: datetime = Field(description="Time at which the session ends.")
    idle_expires_at: datetime = Field(description="Time at which the session ends if it is not used any more.")
    current: bool = Field(default=False, description="True for the session that sends this request.")


@routes.get("/sessions")
async def list_sessions(
    caller: OwnerRead, parts: IdentityDeps, user: UserFilter = None, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[SessionView]:
    """List live browser sessions.

    Returns the caller's own, newest first. Administrators can name a `user`.
    """
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    sessions = await parts.sessions.list_page(
        caller.tenant_id, resolve_owner(caller, user, ADMIN_READ), after, limit + 1
    )
    shown, following = split_page(sessions, limit, lambda session: (session.created_at, session.id))
    views = [SessionView.model_validate(session) for session in shown]
    items = [session.model_copy(update={"current": str(session.id) == caller.credential_id}) for session in views]
    return PageOf(items=items, next_cursor=following)


@routes.delete("/sessions", status_code=204)
async def end_sessions(
    caller: OwnerWrite, parts: IdentityDeps, user: UserFilter = None, keep_current: KeepCurrent = False
) -> None:
    """End all browser sessions of a user.

    Ends the caller's own, or for administrators those of a `user`. OAuth grants and API tokens are not affected.
    """
    current = UUID(caller.credential_id) if keep_current and caller.authentication_method == "session" else None
    owner = resolve_owner(caller, user, ADMIN_WRITE)
    await parts.sessions.end_all(caller.actor, caller.tenant_id, owner, but=current)


@routes.delete("/sessions/{session_id}", status_code=204)
async def end_session(session_id: SessionId, caller: OwnerWrite, parts: IdentityDeps) -> None:
    """End a browser session.

    Administrators can end any session of the tenant.
    """
    owner = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    await parts.sessions.end(caller.actor, caller.tenant_id, session_id, user_id=owner)
