"""``/connections``: the connection doctor. How one's services stand, why, who can mend it, and what happened."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path
from pydantic import Field

from broker.api.connect_dependencies import ConnectDeps
from broker.connections.connection_status import HealthState, ResponsibleParty
from broker.connections.stored_credentials import AccountEvent, StoredCredential, UnconnectedModule
from core.api.app import create_router
from core.api.dependencies import AdminRead, AllOwners, OwnerRead, UserFilter, resolve_owner_filter
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.errors import NotFound
from core.scopes import ADMIN_READ

routes = create_router("connections")


class ConnectionView(ResponseModel):
    """Status of a stored credential, or of a module that has none yet."""

    credential_id: UUID | None = Field(description="Identifier of the credential; null if none is stored yet.")
    module: str = Field(description="Name of the module, such as `github`.")
    provider: str = Field(description="Identifier of the OAuth provider; empty for an API key.")
    kind: Literal["personal", "shared"] = Field(description="Ownership: `personal`, or `shared` by a role.")
    owner: str = Field(description="E-mail address of the user, or name of the role, that owns the credential.")
    account: str = Field(description="Name of the account at the vendor; empty if unknown.")
    state: HealthState = Field(description="Health of the connection.")
    cause: str = Field(description="Machine-readable cause of the state; empty if the connection works.")
    message: str = Field(description="Explanation of the cause; empty if the connection works.")
    responsible: ResponsibleParty = Field(description="Party that can resolve the problem; empty if nobody has to act.")
    action_url: str = Field(description="URL of the page on which the responsible party can resolve the problem.")
    next_retry_at: datetime | None = Field(description="Time of the next automatic attempt; null if none is due.")


class AccountEventView(ResponseModel):
    """An event in the history of an account at a vendor."""

    occurred_at: datetime = Field(description="Time of the event.")
    kind: str = Field(description="Kind of the event, such as `refreshed`.")
    error_class: str = Field(description="Class of the error; empty if there was none.")
    exchange: dict[str, Any] = Field(
        description="Redacted record of the request to the token endpoint and its response, without secrets."
    )


class ConnectionDetailView(ConnectionView):
    """Status of a connection with the latest events of its account."""

    events: list[AccountEventView] = Field(description="Latest events of the account, newest first.")


class ConnectionCountView(ResponseModel):
    """Number of a tenant's connections of one service that have the same state."""

    module: str = Field(description="Name of the module.")
    state: HealthState = Field(description="Health of the connections.")
    count: int = Field(description="Number of connections.")


class ConnectionCountsView(ResponseModel):
    """Numbers of a tenant's connections."""

    counts: list[ConnectionCountView] = Field(
        description="Numbers by service and state, by the name of the module; none that is zero."
    )


@routes.get("/connections")
async def list_connections(
    caller: OwnerRead,
    connect: ConnectDeps,
    user: UserFilter = None,
    all_owners: AllOwners = False,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[ConnectionView]:
    """List connections.

    Returns the caller's own connections, those that the caller's roles share, and modules that are not connected yet.
    Administrators can name a `user`, or list all of the tenant with `all_owners`.
    """
    user_id = resolve_owner_filter(caller, user, all_owners)
    after = None if cursor is None else decode_cursor(cursor, tuple[TextKey, TextKey, TextKey])
    async with connect.database.tenant(caller.tenant_id) as work:
        if user_id is None:
            statuses = await connect.connection_health.list_for_tenant(work, after=after, limit=limit + 1)
        else:
            statuses = [
                status
                for status in await connect.connection_health.list_for_user(work, user_id)
                if after is None or status.sort_key > after
            ]
    shown, following = split_page(statuses[: limit + 1], limit, lambda status: status.sort_key)
    return PageOf(items=[_build_view(status, connect.public_url) for status in shown], next_cursor=following)


@routes.get("/connections/counts")
async def count_connections(caller: AdminRead, connect: ConnectDeps) -> ConnectionCountsView:
    """Count the tenant's connections by service and state.

    Counts the personal and the shared connections that `GET /connections?all_owners=true` lists.
    """
    async with connect.database.tenant(caller.tenant_id) as work:
        counts = await connect.connection_health.count_for_tenant(work)
    return ConnectionCountsView(
        counts=[ConnectionCountView(module=one.module, state=one.state, count=one.count) for one in counts]
    )


@routes.get("/connections/{credential_id}")
async def read_connection(
    credential_id: Annotated[UUID, Path(description="Identifier of the credential.")],
    caller: OwnerRead,
    connect: ConnectDeps,
) -> ConnectionDetailView:
    """Get a connection with its history.

    Users find their own and those of their roles, administrators all of the tenant.
    """
    user_id = None if caller.is_administrator_with(ADMIN_READ) else caller.user_id
    async with connect.database.tenant(caller.tenant_id) as work:
        found_connection = await connect.connection_health.find_with_history(work, credential_id, user_id)
    if found_connection is None:
        raise NotFound("there is no such connection")
    standing, happened = found_connection
    shown = _build_view(standing, connect.public_url)
    return ConnectionDetailView(**shown.model_dump(), events=[_build_event_view(event) for event in happened])


def _build_view(status: StoredCredential | UnconnectedModule, public_url: str) -> ConnectionView:
    if isinstance(status, UnconnectedModule):
        return ConnectionView(
            credential_id=None,
            module=status.module,
            provider="",
            kind="personal",
            owner=status.owner,
            account="",
            state=HealthState.NEEDS_CONNECT,
            cause="",
            message="",
            responsible=ResponsibleParty.OWNER,
            action_url=public_url + status.link,
            next_retry_at=None,
        )
    return ConnectionView(
        credential_id=status.id,
        module=status.module,
        provider=status.provider,
        kind=status.kind,
        owner=status.owner,
        account=status.account,
        state=status.state,
        cause=status.cause,
        message=status.message,
        responsible=status.responsible,
        action_url=public_url + status.link,
        next_retry_at=status.next_retry_at,
    )


def _build_event_view(event: AccountEvent) -> AccountEventView:
    return AccountEventView(
        occurred_at=event.at, kind=event.kind, error_class=event.error_class, exchange=dict(event.exchange)
    )
