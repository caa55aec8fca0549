"""``/connections``: the connection doctor. How one's services stand, why, who can mend it, and what happened."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path

from broker.api.connect_dependencies import ConnectDeps
from broker.connections.connection_status import AccountEvent, ConnectionStatus, HealthState, ResponsibleParty
from core.api.app import create_router
from core.api.dependencies import AllOwners, CurrentUserRead, resolve_owner_filter
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.errors import NotFound
from core.scopes import ADMIN_READ

routes = create_router("connections")


class ConnectionView(ResponseModel):
    """How a credential stands, or that there is none yet (`credential_id` null). `cause` is a fixed word and `message`
    its sentence; `responsible` can do something about it, at `action_url`; `next_retry_at` is when MCPist asks the
    vendor next by itself."""

    credential_id: UUID | None
    module: str
    provider: str
    kind: Literal["personal", "shared"]
    owner: str
    account: str
    state: HealthState
    cause: str
    message: str
    responsible: ResponsibleParty
    action_url: str
    next_retry_at: datetime | None


class AccountEventView(ResponseModel):
    """One event of the account's history; `exchange` is what was said at the token endpoint, without secrets."""

    occurred_at: datetime
    kind: str
    error_class: str
    exchange: dict[str, Any]


class ConnectionDetailView(ConnectionView):
    """With the last events of the account behind it, the newest first."""

    events: list[AccountEventView]


@routes.get("/connections")
async def list_connections(
    caller: CurrentUserRead,
    connect: ConnectDeps,
    user: UUID | None = None,
    all_owners: AllOwners = False,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[ConnectionView]:
    """One's own, those that one's roles share, and what is not connected yet; for administrators those of a `user`, or
    with `all_owners` everybody's."""
    user_id = resolve_owner_filter(caller, user, all_owners)
    after = None if cursor is None else decode_cursor(cursor, tuple[TextKey, TextKey, TextKey])
    async with connect.database.tenant(caller.tenant_id) as work:
        if user_id is None:
            found = await connect.connection_health.list_for_tenant(work, after=after, limit=limit + 1)
        else:
            found = [
                one
                for one in await connect.connection_health.list_for_user(work, user_id)
                if after is None or one.sort_key > after
            ]
    shown, following = split_page(found[: limit + 1], limit, lambda one: one.sort_key)
    return PageOf(items=[_build_view(one, connect.public_url) for one in shown], next_cursor=following)


@routes.get("/connections/{credential_id}")
async def read_connection(
    credential_id: Annotated[UUID, Path()], caller: CurrentUserRead, connect: ConnectDeps
) -> ConnectionDetailView:
    """One of one's own or of one's roles', or for an administrator anybody's, with its history."""
    user_id = None if caller.is_administrator_with(ADMIN_READ) else caller.user_id
    async with connect.database.tenant(caller.tenant_id) as work:
        found = await connect.connection_health.find_with_history(work, credential_id, user_id)
    if found is None:
        raise NotFound("there is no such connection")
    standing, happened = found
    shown = _build_view(standing, connect.public_url)
    return ConnectionDetailView(**shown.model_dump(), events=[_build_event_view(one) for one in happened])


def _build_view(one: ConnectionStatus, public_url: str) -> ConnectionView:
    return ConnectionView(
        credential_id=one.id,
        module=one.module,
        provider=one.provider,
        kind=one.kind,
        owner=one.owner,
        account=one.account,
        state=one.state,
        cause=one.cause,
        message=one.message,
        responsible=one.responsible,
        action_url=public_url + one.link,
        next_retry_at=one.next_retry_at,
    )


def _build_event_view(one: AccountEvent) -> AccountEventView:
    return AccountEventView(occurred_at=one.at, kind=one.kind, error_class=one.error_class, exchange=dict(one.exchange))
