"""``/oauth/grants``: the clients that somebody has let in."""

from datetime import datetime
from typing import Annotated, Literal, cast
from uuid import UUID

from fastapi import Path, Query
from pydantic import Field

from broker.api.identity_dependencies import IdentityDeps
from broker.authorization_server.grant_records import GrantSearch, GrantSortKey
from core.api.app import create_router
from core.api.dependencies import AllOwners, OwnerRead, OwnerWrite, UserFilter, resolve_owner_filter
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel, ShortText
from core.scopes import ADMIN_WRITE

routes = create_router("oauth")

GrantSort = Literal["created_at", "-created_at", "last_used_at", "-last_used_at"]
GrantId = Annotated[UUID, Path(description="Identifier of the grant.")]


class GrantView(ResponseModel):
    """Access that a user has granted to an OAuth client."""

    id: UUID = Field(description="Identifier of the grant.")
    kind: str = Field(description="Kind of the grant: `code`, `client_credentials` or `id_jag`.")
    client_id: str = Field(description="OAuth client identifier.")
    client_name: str = Field(
        description="Name of the client. It is chosen by the client unless an administrator registered it."
    )
    user_email: str = Field(description="E-mail address of the user that granted it, or that a machine acts as.")
    scopes: list[str] = Field(description="Granted OAuth scopes.")
    created_at: datetime = Field(description="Time at which access was granted.")
    last_used_at: datetime = Field(description="Time of the latest use.")
    expires_at: datetime = Field(description="Time at which the grant expires.")
    current: bool = Field(default=False, description="True for the grant of the access token that sends this request.")


@routes.get("/oauth/grants")
async def list_grants(
    caller: OwnerRead,
    parts: IdentityDeps,
    user: UserFilter = None,
    all_owners: AllOwners = False,
    q: Annotated[ShortText, Query(description="Words that the client or the e-mail address contains.")] = "",
    sort: Annotated[GrantSort, Query(description="Field to order by; with `-` the other way round.")] = "-created_at",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[GrantView]:
    """List live grants.

    Returns the caller's own, newest first unless `sort` says otherwise. Administrators can name a `user`, or list all
    of the tenant with `all_owners`. Width, case and kana do not count in `q`.
    """
    key = cast("GrantSortKey", sort.removeprefix("-"))
    search = GrantSearch(q, key, sort.startswith("-"))
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    grants = await parts.grants.list_page(
        caller.tenant_id, resolve_owner_filter(caller, user, all_owners), search, after, limit + 1
    )
    shown, following = split_page(grants, limit, lambda grant: (getattr(grant, key), grant.id))
    views = [GrantView.model_validate(grant) for grant in shown]
    current = caller.credential_id if caller.authentication_method == "oauth" else None
    items = [grant.model_copy(update={"current": str(grant.id) == current}) for grant in views]
    return PageOf(items=items, next_cursor=following)


@routes.delete("/oauth/grants/{grant_id}", status_code=204)
async def revoke_grant(grant_id: GrantId, caller: OwnerWrite, parts: IdentityDeps) -> None:
    """Revoke a grant.

    All its tokens stop working within a second. Administrators can revoke any grant of the tenant.
    """
    administers = caller.is_administrator_with(ADMIN_WRITE)
    owner, cause = (None, "administrator") if administers else (caller.user_id, "user")
    await parts.grants.revoke(caller.actor, caller.tenant_id, grant_id, cause, user_id=owner)
