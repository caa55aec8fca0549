"""``/credentials``: whose accounts at vendors tools work with, one's own and shared ones. No answer has a secret."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path

from broker.api.connect_dependencies import ConnectDeps
from broker.connections.connection_status import ConnectionStatus, CredentialType, HealthState
from broker.connections.credential_summary import list_owner_credentials
from broker.disconnect.disconnect_result import RevocationOutcome as Outcome
from core.api.app import create_router
from core.api.dependencies import AllOwners, CurrentUserRead, CurrentUserWrite, resolve_owner_filter
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.errors import NotFound
from core.scopes import ADMIN_WRITE

routes = create_router("credentials")

CredentialId = Annotated[UUID, Path()]


class VendorCredentialView(ResponseModel):
    """A credential: an API key, or an account that was connected by OAuth at `provider`; `owner` is an
    e-mail address, or the name of the role that shares it. `state` and `cause` are those of ``/connections``."""

    id: UUID
    module: str
    type: CredentialType
    provider: str
    kind: Literal["personal", "shared"]
    owner: str
    account: str
    state: HealthState
    cause: str
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None


class DisconnectionView(ResponseModel):
    """What was ended. `revoked` says whether the vendor was told, and `revocation` how that went: revoked;
    shared_grant, with another account, so left; unsupported by it; unreachable; tokens_unreadable, lost here;
    timed_out; api_key, which its owner revokes. Where it was not told, `manage_url` is where to end it, if known."""

    modules: list[str]
    revoked: bool
    revocation: Outcome
    manage_url: str


@routes.get("/credentials")
async def list_credentials(
    caller: CurrentUserRead,
    connect: ConnectDeps,
    user: UUID | None = None,
    all_owners: AllOwners = False,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[VendorCredentialView]:
    """One's own and those that one's roles share; or for administrators those of a `user`, or with `all_owners`
    everybody's."""
    user_id = resolve_owner_filter(caller, user, all_owners)
    after = None if cursor is None else decode_cursor(cursor, tuple[TextKey, TextKey, TextKey])
    async with connect.database.tenant(caller.tenant_id) as work:
        found = await connect.connection_health.list_stored(work, user_id, after=after, limit=limit + 1)
    shown, following = split_page(found, limit, lambda one: one.sort_key)
    return PageOf(items=[_build_view(one) for one in shown], next_cursor=following)


@routes.delete("/credentials/{credential_id}")
async def disconnect(credential_id: CredentialId, caller: CurrentUserWrite, connect: ConnectDeps) -> DisconnectionView:
    """End a credential of one's own, or as an administrator anybody's: an account is ended with every module that uses
    it, and its vendor is told."""
    found, owner = await connect.credentials.find(caller.tenant_id, credential_id)
    if owner.user_id != caller.user_id and not caller.is_administrator_with(ADMIN_WRITE):
        raise NotFound("there is no such credential")
    async with connect.database.tenant(caller.tenant_id) as work:
        held = await list_owner_credentials(work, [found.module], owner)
    if not held:
        raise NotFound("there is no such credential")
    ended = await connect.disconnect_service.disconnect(caller.actor, caller.tenant_id, held[0], owner)
    return DisconnectionView(
        modules=list(ended.modules), revoked=ended.revoked, revocation=ended.outcome, manage_url=ended.manage_url
    )


def _build_view(one: ConnectionStatus) -> VendorCredentialView:
    assert one.id is not None
    assert one.stored is not None
    return VendorCredentialView(
        id=one.id,
        module=one.module,
        type=one.stored.type,
        provider=one.provider,
        kind=one.kind,
        owner=one.owner,
        account=one.account,
        state=one.state,
        cause=one.cause,
        created_at=one.stored.created_at,
        updated_at=one.stored.updated_at,
        last_used_at=one.stored.last_used_at,
    )
