"""``/mandates``: what works in somebody's absence."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path
from pydantic import Field

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.dependencies import AllOwners, OwnerRead, OwnerWrite, UserFilter, resolve_owner_filter
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.schemas import PageOf, ResponseModel
from core.scopes import ADMIN_WRITE

routes = create_router("mandates")

MandateId = Annotated[UUID, Path(description="Identifier of the mandate.")]


class MandateView(ResponseModel):
    """A user's permission to use tools in their absence."""

    id: UUID = Field(description="Identifier of the mandate.")
    user_email: str = Field(description="E-mail address of the user in whose name it works.")
    purpose: str = Field(description="Purpose of the mandate: `job`, `schedule` or `sync`.")
    title: str = Field(description="Name of the work.")
    tools: list[str] = Field(description="Tools that it may use, each as `module.tool`.")
    client: str = Field(description="Name of the client that asked for it; empty if unknown.")
    created_at: datetime = Field(description="Time at which it was made.")
    consented_at: datetime | None = Field(
        description="Time of the user's consent; null while it waits for that at `/account` and does not count."
    )
    expires_at: datetime = Field(description="Time at which it ends at the latest.")
    last_used_at: datetime | None = Field(description="Time of the latest use; null if it was never used.")


@routes.get("/mandates")
async def list_mandates(
    caller: OwnerRead,
    parts: IdentityDeps,
    user: UserFilter = None,
    all_owners: AllOwners = False,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[MandateView]:
    """List live mandates.

    Returns the caller's own, newest first. Administrators can name a `user`, or list all of the tenant with
    `all_owners`.
    """
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    mandates = await parts.mandates.list_page(
        caller.tenant_id, resolve_owner_filter(caller, user, all_owners), after, limit + 1
    )
    shown, following = split_page(mandates, limit, lambda mandate: (mandate.created_at, mandate.id))
    return PageOf(items=[MandateView.model_validate(mandate) for mandate in shown], next_cursor=following)


@routes.delete("/mandates/{mandate_id}", status_code=204)
async def revoke_mandate(mandate_id: MandateId, caller: OwnerWrite, parts: IdentityDeps) -> None:
    """Revoke a mandate.

    What works by it can use no tool any more within a second. Administrators can revoke any mandate of the tenant.
    """
    owner = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    await parts.mandates.revoke(caller.actor, caller.tenant_id, mandate_id, user_id=owner)
