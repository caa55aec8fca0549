"""``/credentials``: whose accounts at vendors tools work with, one's own and shared ones. No answer has a secret."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path, Query
from pydantic import Field

from broker.api.connect_dependencies import ConnectDeps
from broker.connections.connection_status import HealthState
from broker.connections.stored_credentials import CredentialType, StoredCredential
from broker.disconnect.disconnect_service import RevocationOutcome as Outcome
from broker.web.key_errors import render_key_error
from core.api.app import create_router
from core.api.dependencies import AllOwners, OwnerRead, OwnerWrite, UserFilter, resolve_owner_filter
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.errors import Forbidden, NotFound
from core.scopes import ADMIN_READ, ADMIN_WRITE

routes = create_router("credentials")

CredentialId = Annotated[UUID, Path(description="Identifier of the credential.")]


class VendorCredentialView(ResponseModel):
    """A stored credential for a module, without its secret."""

    id: UUID = Field(description="Identifier of the credential.")
    module: str = Field(description="Name of the module, such as `github`.")
    type: CredentialType = Field(
        description="Type of the credential: a pasted `api_key`, or an `oauth` account that was connected."
    )
    provider: str = Field(description="Identifier of the OAuth provider; empty for an API key.")
    kind: Literal["personal", "shared"] = Field(description="Ownership: `personal`, or `shared` by a role.")
    owner: str = Field(description="E-mail address of the user, or name of the role, that owns the credential.")
    account: str = Field(description="Name of the account at the vendor; empty if unknown.")
    state: HealthState = Field(description="Health of the connection, as in `/connections`.")
    cause: str = Field(description="Machine-readable cause of the state; empty if the connection works.")
    created_at: datetime = Field(description="Time at which the credential was stored.")
    updated_at: datetime = Field(description="Time of the latest change.")
    last_used_at: datetime | None = Field(description="Time of the latest use; null if it was never used.")


class DisconnectionView(ResponseModel):
    """Result of disconnecting a credential."""

    modules: list[str] = Field(description="Modules that lost their credential.")
    revoked: bool = Field(description="True if the vendor confirmed the revocation.")
    revocation: Outcome = Field(
        description="Outcome at the vendor: `revoked`; `shared_grant` kept for another account; `unsupported` by the "
        "vendor; `unreachable`; `tokens_unreadable`; `timed_out`; or `api_key`, which its owner revokes "
        "at the vendor."
    )
    manage_url: str = Field(
        description="Page of the vendor on which the access can be revoked by hand; empty if unknown."
    )


class CredentialTestView(ResponseModel):
    """Result of testing a credential against its vendor."""

    works: bool = Field(description="True if the vendor accepted the credential.")
    state: Literal["connected", "broken"] = Field(
        description="State after the test: `broken` if the owner has to store or connect it again."
    )
    account: str = Field(description="Name of the account at the vendor; empty if unknown.")
    message: str = Field(description="Result of the test, for people.")


@routes.get("/credentials")
async def list_credentials(
    caller: OwnerRead,
    connect: ConnectDeps,
    user: UserFilter = None,
    all_owners: AllOwners = False,
    role: Annotated[
        UUID | None,
        Query(description="Identifier of the role whose shared credentials are listed (administrators only)."),
    ] = None,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[VendorCredentialView]:
    """List credentials.

    Returns the caller's own credentials and those that the caller's roles share. Administrators can name a `user` or a
    `role`, or list all of the tenant with `all_owners`.
    """
    if role is not None and not caller.is_administrator_with(ADMIN_READ):
        raise Forbidden("only an administrator sees what a role shares")
    user_id = resolve_owner_filter(caller, user, all_owners or role is not None)
    after = None if cursor is None else decode_cursor(cursor, tuple[TextKey, TextKey, TextKey])
    async with connect.database.tenant(caller.tenant_id) as work:
        credentials = await connect.connection_health.list_stored(
            work, user_id, role_id=role, after=after, limit=limit + 1
        )
    shown, following = split_page(credentials, limit, lambda credential: credential.sort_key)
    return PageOf(items=[_build_view(credential) for credential in shown], next_cursor=following)


@routes.delete("/credentials/{credential_id}")
async def disconnect(credential_id: CredentialId, caller: OwnerWrite, connect: ConnectDeps) -> DisconnectionView:
    """Disconnect a credential.

    Users disconnect their own, administrators any. An OAuth account is disconnected from every module that uses it, and
    revoked at its vendor.
    """
    credential = await _find_writable(connect, caller, credential_id)
    ended = await connect.disconnect_service.disconnect(caller.actor, caller.tenant_id, credential)
    return DisconnectionView(
        modules=list(ended.modules), revoked=ended.revoked, revocation=ended.outcome, manage_url=ended.manage_url
    )


@routes.post("/credentials/{credential_id}/test")
async def check_credential(credential_id: CredentialId, caller: OwnerWrite, connect: ConnectDeps) -> CredentialTestView:
    """Test a credential.

    The vendor is asked whether it accepts a stored API key. One that it rejects becomes broken, and a broken one that
    it accepts is used again. OAuth accounts are refreshed on their own, and are only reported. Users test their own,
    administrators any.
    """
    credential = await _find_writable(connect, caller, credential_id)
    result = await connect.credential_checker.check(caller.actor, caller.tenant_id, caller.email, credential_id)
    message = result.message
    if result.problem is not None:
        service = next(iter(connect.available_services.get_manifests([credential.module])), None)
        title = credential.module if service is None else service.title
        message = f"not known, and nothing changed: {render_key_error(result.problem, title)}"
    return CredentialTestView(
        works=result.works,
        state="broken" if result.broken else "connected",
        account=result.account,
        message=message,
    )


async def _find_writable(connect: ConnectDeps, caller: OwnerWrite, credential_id: UUID) -> StoredCredential:
    async with connect.database.tenant(caller.tenant_id) as work:
        credential = await connect.connection_health.find(work, credential_id)
    if credential.holder.user_id != caller.user_id and not caller.is_administrator_with(ADMIN_WRITE):
        raise NotFound("there is no such credential")
    return credential


def _build_view(credential: StoredCredential) -> VendorCredentialView:
    return VendorCredentialView(
        id=credential.id,
        module=credential.module,
        type=credential.type,
        provider=credential.provider,
        kind=credential.kind,
        owner=credential.owner,
        account=credential.account,
        state=credential.state,
        cause=credential.cause,
        created_at=credential.created_at,
        updated_at=credential.updated_at,
        last_used_at=credential.last_used_at,
    )
