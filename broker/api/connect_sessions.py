"""``/connect-sessions``: connecting services as one thing that has a link for a person, and progress for a program."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Header, Path, Response
from pydantic import AfterValidator, Field, StringConstraints

from broker.api.connect_dependencies import ConnectDeps
from broker.connect.connect_session import (
    ConnectSession,
    ConnectSessionRequest,
    ConnectSessionState,
    ServiceProgressState,
)
from broker.connect.connect_session_store import MAX_SESSION_MODULES
from broker.identity.return_to import sanitize_return_to
from broker.web.connect_urls import get_session_path
from core.api.app import create_router, describe_existing_response
from core.api.dependencies import CurrentUserRead, CurrentUserWrite
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.schemas import NO_CONTROL_CHARACTERS, PageOf, RequestModel, ResponseModel
from core.errors import NotFound
from core.names import MODULE_NAME_FIELD
from core.scopes import ADMIN_WRITE

routes = create_router("connect sessions")


def _check_own_path(path: str) -> str:
    if path and sanitize_return_to(path) != path:
        raise ValueError("a path of MCPist's own pages is expected, such as /console or /account")
    return path


Service = Annotated[str, StringConstraints(pattern=MODULE_NAME_FIELD)]
ReturnPath = Annotated[
    str, StringConstraints(max_length=2_000, pattern=NO_CONTROL_CHARACTERS), AfterValidator(_check_own_path)
]
SessionId = Annotated[UUID, Path()]
IdempotencyKey = Annotated[
    str | None,
    Header(pattern="^[!-~]{1,100}$", description="Chosen by the caller; asked again with it, no second one begins."),
]


class ConnectSessionCreate(RequestModel):
    """Without `services` it is for all of one's own that need it. With `role_id` an administrator shares what is
    connected with that role. `reconnect` wants a new connection where there is a good one. `return_path` is the page of
    MCPist's own that the person comes to in the end."""

    services: Annotated[list[Service], Field(min_length=1, max_length=MAX_SESSION_MODULES)] | None = None
    role_id: UUID | None = None
    reconnect: bool = False
    return_path: ReturnPath = ""


class ServiceProgressView(ResponseModel):
    """How one service stands; `cause` is a fixed word, such as `declined` or `not_set_up`."""

    module: str
    state: ServiceProgressState
    cause: str
    account: str


class ConnectSessionView(ResponseModel):
    """A session. `url` is for its person's browser and has no authority: they sign in there. It is `failed` when
    nothing waits any more and something was tried in vain; the link still leads there until it has expired."""

    id: UUID
    url: str
    state: ConnectSessionState
    role_id: UUID | None
    role: str
    services: list[ServiceProgressView]
    return_path: str
    created_at: datetime
    expires_at: datetime


@routes.post("/connect-sessions", status_code=201, responses=describe_existing_response(ConnectSessionView))
async def start_connect_session(
    asked: ConnectSessionCreate,
    caller: CurrentUserWrite,
    connect: ConnectDeps,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> ConnectSessionView:
    """Begin one for oneself, or as an administrator for what a role shares."""
    if asked.role_id is not None and not caller.is_administrator_with(ADMIN_WRITE):
        raise NotFound("there is no such role")
    wish = ConnectSessionRequest(asked.services, asked.role_id, asked.reconnect, asked.return_path)
    made, new = await connect.connect_sessions.start(caller.actor, caller, wish, idempotency_key)
    response.status_code = 201 if new else 200
    return _build_view(made, connect.public_url)


@routes.get("/connect-sessions")
async def list_connect_sessions(
    caller: CurrentUserRead, connect: ConnectDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[ConnectSessionView]:
    """One's own, the newest first."""
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    found = await connect.connect_sessions.list_page(caller.tenant_id, caller.user_id, after, limit + 1)
    shown, following = split_page(found, limit, lambda one: (one.created_at, one.id))
    return PageOf(items=[_build_view(one, connect.public_url) for one in shown], next_cursor=following)


@routes.get("/connect-sessions/{connect_session_id}")
async def read_connect_session(
    connect_session_id: SessionId, caller: CurrentUserRead, connect: ConnectDeps
) -> ConnectSessionView:
    """One of one's own, and how far it is."""
    found = await connect.connect_sessions.find(caller.tenant_id, caller.user_id, connect_session_id)
    return _build_view(found, connect.public_url)


@routes.delete("/connect-sessions/{connect_session_id}", status_code=204)
async def cancel_connect_session(connect_session_id: SessionId, caller: CurrentUserWrite, connect: ConnectDeps) -> None:
    """Cancel one of one's own: its link leads nowhere from now on. What was connected stays connected."""
    await connect.connect_sessions.cancel(caller.actor, caller.tenant_id, caller.user_id, connect_session_id)


def _build_view(one: ConnectSession, public_url: str) -> ConnectSessionView:
    return ConnectSessionView(
        id=one.id,
        url=public_url + get_session_path(one.id),
        state=one.state,
        role_id=one.role_id,
        role=one.role,
        services=[
            ServiceProgressView(module=done.module, state=done.state, cause=done.cause, account=done.account)
            for done in one.services
        ],
        return_path=one.return_path,
        created_at=one.created_at,
        expires_at=one.expires_at,
    )
