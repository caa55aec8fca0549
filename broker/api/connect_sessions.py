"""``/connect-sessions``: connecting services as one thing that has a link for a person, and progress for a program."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Header, Path, Response
from pydantic import AfterValidator, Field, StringConstraints

from broker.api.connect_dependencies import ConnectDeps
from broker.connect.connect_session_store import (
    MAX_SESSION_MODULES,
    ConnectSession,
    ConnectSessionRequest,
    ConnectSessionState,
    ServiceProgressState,
)
from broker.identity.sign_in_state import sanitize_return_to
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
SessionId = Annotated[UUID, Path(description="Identifier of the connect session.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern="^[!-~]{1,100}$",
        description="Key chosen by the caller; a repeated request with it starts no second session.",
    ),
]


class ConnectSessionCreate(RequestModel):
    """A request to connect services in a browser."""

    services: Annotated[list[Service], Field(min_length=1, max_length=MAX_SESSION_MODULES)] | None = Field(
        default=None, description="Modules to connect; null for all modules of the user that need a connection."
    )
    role_id: UUID | None = Field(
        default=None,
        description="Identifier of the role to share the accounts with (administrators only); null to connect own "
        "accounts.",
    )
    reconnect: bool = Field(default=False, description="Request a new connection also where a working one exists.")
    return_path: ReturnPath = Field(
        default="", description="Path of a page of MCPist that the user is sent to at the end, such as `/console`."
    )


class ServiceProgressView(ResponseModel):
    """Progress of one service of a connect session."""

    module: str = Field(description="Name of the module, such as `github`.")
    state: ServiceProgressState = Field(description="State of this service: `waiting`, `done` or `failed`.")
    cause: str = Field(
        description="Machine-readable cause of a failure, such as `declined` or `not_set_up`; empty otherwise."
    )
    account: str = Field(description="Name of the connected account at the vendor; empty until it is connected.")


class ConnectSessionView(ResponseModel):
    """A connect session: a URL at which its user connects services, and its progress."""

    id: UUID = Field(description="Identifier of the connect session.")
    url: str = Field(
        description="URL for the browser of its user, who signs in there. It carries no authority of its own."
    )
    state: ConnectSessionState = Field(
        description="State of the session. `failed` means that nothing is waiting and a service failed; the URL still"
        " works until the session expires."
    )
    role_id: UUID | None = Field(
        description="Identifier of the role that the accounts are shared with; null for own accounts."
    )
    role: str = Field(description="Name of the role that the accounts are shared with; empty for own accounts.")
    services: list[ServiceProgressView] = Field(description="Progress of each service.")
    return_path: str = Field(description="Path of the page that the user is sent to at the end.")
    created_at: datetime = Field(description="Time of creation.")
    expires_at: datetime = Field(description="Time at which the URL stops working.")


@routes.post("/connect-sessions", status_code=201, responses=describe_existing_response(ConnectSessionView))
async def start_connect_session(
    body: ConnectSessionCreate,
    caller: CurrentUserWrite,
    connect: ConnectDeps,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> ConnectSessionView:
    """Start a connect session.

    It is for the caller, or for the accounts that a role shares if an administrator names `role_id`. Repeated with the
    same `Idempotency-Key`, the request returns the existing session.
    """
    if body.role_id is not None and not caller.is_administrator_with(ADMIN_WRITE):
        raise NotFound("there is no such role")
    session_request = ConnectSessionRequest(body.services, body.role_id, body.reconnect, body.return_path)
    connect_session, is_new = await connect.connect_sessions.start(
        caller.actor, caller, session_request, idempotency_key
    )
    response.status_code = 201 if is_new else 200
    return _build_view(connect_session, connect.public_url)


@routes.get("/connect-sessions")
async def list_connect_sessions(
    caller: CurrentUserRead, connect: ConnectDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[ConnectSessionView]:
    """List the caller's connect sessions.

    Newest first.
    """
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    connect_sessions = await connect.connect_sessions.list_page(caller.tenant_id, caller.user_id, after, limit + 1)
    shown, following = split_page(
        connect_sessions, limit, lambda connect_session: (connect_session.created_at, connect_session.id)
    )
    return PageOf(
        items=[_build_view(connect_session, connect.public_url) for connect_session in shown], next_cursor=following
    )


@routes.get("/connect-sessions/{connect_session_id}")
async def read_connect_session(
    connect_session_id: SessionId, caller: CurrentUserRead, connect: ConnectDeps
) -> ConnectSessionView:
    """Get a connect session.

    Only the caller's own sessions are found.
    """
    connect_session = await connect.connect_sessions.find(caller.tenant_id, caller.user_id, connect_session_id)
    return _build_view(connect_session, connect.public_url)


@routes.delete("/connect-sessions/{connect_session_id}", status_code=204)
async def cancel_connect_session(connect_session_id: SessionId, caller: CurrentUserWrite, connect: ConnectDeps) -> None:
    """Cancel a connect session.

    Its URL stops working at once. Services that are connected stay connected.
    """
    await connect.connect_sessions.cancel(caller.actor, caller.tenant_id, caller.user_id, connect_session_id)


def _build_view(connect_session: ConnectSession, public_url: str) -> ConnectSessionView:
    return ConnectSessionView(
        id=connect_session.id,
        url=public_url + get_session_path(connect_session.id),
        state=connect_session.state,
        role_id=connect_session.role_id,
        role=connect_session.role,
        services=[
            ServiceProgressView(module=done.module, state=done.state, cause=done.cause, account=done.account)
            for done in connect_session.services
        ],
        return_path=connect_session.return_path,
        created_at=connect_session.created_at,
        expires_at=connect_session.expires_at,
    )
