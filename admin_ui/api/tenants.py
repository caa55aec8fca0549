"""``/tenants``, for the operator of the deployment; ``/tenant``, for each tenant's own administrators."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query, Response
from pydantic import Field, StringConstraints

from admin_ui.api.parts import Console, Parts
from core.api.app import router, there_already
from core.api.callers import ChangingAdmin, ChangingOperator, ReadingAdmin, ReadingOperator
from core.api.paging import Cursor, Most, TextKey, key_of, paged
from core.api.principal import Principal
from core.api.shapes import PLAIN, Asked, Email, Name, NotEmptyName, PageOf, RemovedView, Told, removed
from core.db import Database
from core.directory.founding import found_tenant
from core.directory.removal import remove_tenant
from core.directory.tenants import (
    MOST_TOKEN_DAYS,
    Tenant,
    change_tenant,
    find_tenant,
    get_tenant,
    page_of_tenants,
    set_status,
)
from core.directory.users import find_user
from core.errors import Conflict, NotFound

routes = router("tenants")

Slug = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", max_length=63)]


Confirmation = Annotated[
    str, Query(max_length=63, pattern=PLAIN, description="The tenant's slug once more: what goes does not come back.")
]


class TenantView(Told):
    """A company that uses this MCPist."""

    id: UUID
    slug: str
    name: str
    status: Literal["active", "suspended"]
    record_arguments: bool
    longest_token_days: int | None


class NewTenant(Asked):
    """`administrator` is the e-mail address of its first administrator, whom its allow list lets in."""

    slug: Slug
    name: Name = ""
    administrator: Email


class TenantChange(Asked):
    """`longest_token_days` is how long API tokens made from now on may live at most; null for no limit."""

    name: NotEmptyName | None = None
    record_arguments: bool | None = None
    longest_token_days: Annotated[int, Field(ge=1, le=MOST_TOKEN_DAYS)] | None = None


class OperatedChange(TenantChange):
    """What the operator may change besides."""

    status: Literal["active", "suspended"] | None = None


@routes.get("/tenants")
async def list_tenants(
    caller: ReadingOperator, console: Console, limit: Most = 50, cursor: Cursor = None
) -> PageOf[TenantView]:
    """All tenants of the deployment, by slug."""
    after: str = "" if cursor is None else key_of(cursor, TextKey)
    found, following = paged(await page_of_tenants(console, after, limit + 1), limit, lambda one: one.slug)
    return PageOf(items=[TenantView.model_validate(one) for one in found], next_cursor=following)


@routes.post("/tenants", status_code=201, responses=there_already(TenantView))
async def add_tenant(asked: NewTenant, caller: ChangingOperator, parts: Parts, response: Response) -> TenantView:
    """Make a tenant with every module switched on. Asked again, it answers 200 with the one that is there."""
    try:
        made = await found_tenant(
            parts.console, caller.actor, asked.slug, asked.name, asked.administrator, parts.modules
        )
    except Conflict:
        made = await _same(parts.console, asked)
        response.status_code = 200
    return TenantView.model_validate(made)


@routes.get("/tenants/{tenant_id}")
async def show_tenant(tenant_id: UUID, caller: ReadingOperator, console: Console) -> TenantView:
    """One tenant."""
    return TenantView.model_validate(await get_tenant(console, tenant_id))


@routes.patch("/tenants/{tenant_id}")
async def change_any_tenant(
    tenant_id: UUID, asked: OperatedChange, caller: ChangingOperator, console: Console
) -> TenantView:
    """Change a tenant. Suspended, its people lose all access within a second."""
    tenant = await get_tenant(console, tenant_id)
    if asked.status is not None and asked.status != tenant.status:
        if tenant_id == caller.tenant_id:
            raise Conflict("this is your own tenant: you would shut yourself out")
        await set_status(console, caller.actor, tenant_id, asked.status)
    return await _changed(console, caller, tenant_id, asked)


@routes.delete("/tenants/{tenant_id}")
async def remove_any_tenant(
    tenant_id: UUID, confirm: Confirmation, caller: ChangingOperator, parts: Parts
) -> RemovedView:
    """Delete a tenant with everything of it but the audit log. Its sessions and tokens end within a second, and the
    vendors of its people's accounts are told that these are over."""
    if tenant_id == caller.tenant_id:
        raise Conflict("this is your own tenant: you would shut yourself out")
    return removed(await remove_tenant(parts.console, caller.actor, tenant_id, confirm, parts.farewell))


@routes.get("/tenant")
async def show_own_tenant(caller: ReadingAdmin, console: Console) -> TenantView:
    """The caller's own tenant."""
    return TenantView.model_validate(await get_tenant(console, caller.tenant_id))


@routes.patch("/tenant")
async def change_own_tenant(asked: TenantChange, caller: ChangingAdmin, console: Console) -> TenantView:
    """Change the caller's own tenant."""
    return await _changed(console, caller, caller.tenant_id, asked)


async def _changed(console: Database, caller: Principal, tenant_id: UUID, asked: TenantChange) -> TenantView:
    there = await get_tenant(console, tenant_id)
    limited = "longest_token_days" in asked.model_fields_set
    now = await change_tenant(
        console,
        caller.actor,
        tenant_id,
        name=there.name if asked.name is None else asked.name,
        record_arguments=there.record_arguments if asked.record_arguments is None else asked.record_arguments,
        longest_token_days=asked.longest_token_days if limited else there.longest_token_days,
    )
    return TenantView.model_validate(now)


async def _same(console: Database, asked: NewTenant) -> Tenant:
    """The tenant that is there, if it could have come of the same request."""
    there = await find_tenant(console, asked.slug)
    try:
        administrator = await find_user(console, there.id, asked.administrator)
    except NotFound:
        administrator = None
    if administrator is None or administrator.system_role != "admin" or there.name != (asked.name or asked.slug):
        raise Conflict(f"there is another tenant {asked.slug!r} already")
    return there
