"""``/tenants``, for the operator of the deployment; ``/tenant``, for each tenant's own administrators."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query, Response
from pydantic import Field, StringConstraints

from admin_ui.api.admin_dependencies import AdminDeps, ConsoleDatabase
from core.api.app import create_router, describe_existing_response
from core.api.dependencies import AdminRead, AdminWrite, OperatorRead, OperatorWrite
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.principal import Principal
from core.api.schemas import (
    NO_CONTROL_CHARACTERS,
    Email,
    Name,
    NotEmptyName,
    PageOf,
    RemovalView,
    RequestModel,
    ResponseModel,
    build_removal_view,
)
from core.db import Database
from core.directory.deletion import remove_tenant
from core.directory.provisioning import provision_tenant
from core.directory.tenants import (
    MAX_TOKEN_DAYS,
    Tenant,
    change_tenant,
    find_tenant,
    get_tenant,
    list_tenants_page,
    set_status,
)
from core.directory.users import find_user
from core.errors import Conflict, NotFound

routes = create_router("tenants")

Slug = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", max_length=63)]


Confirmation = Annotated[
    str,
    Query(
        max_length=63,
        pattern=NO_CONTROL_CHARACTERS,
        description="The tenant's slug once more: what goes does not come back.",
    ),
]


class TenantView(ResponseModel):
    """A company that uses this MCPist."""

    id: UUID
    slug: str
    name: str
    status: Literal["active", "suspended"]
    record_arguments: bool
    max_token_lifetime_days: int | None


class NewTenant(RequestModel):
    """`administrator` is the e-mail address of its first administrator, whom its allow list lets in."""

    slug: Slug
    name: Name = ""
    administrator: Email


class TenantChange(RequestModel):
    """`max_token_lifetime_days` is how long API tokens made from now on may live at most; null for no limit."""

    name: NotEmptyName | None = None
    record_arguments: bool | None = None
    max_token_lifetime_days: Annotated[int, Field(ge=1, le=MAX_TOKEN_DAYS)] | None = None


class OperatorTenantChange(TenantChange):
    """What the operator may change besides."""

    status: Literal["active", "suspended"] | None = None


@routes.get("/tenants")
async def list_tenants(
    caller: OperatorRead, console: ConsoleDatabase, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[TenantView]:
    """All tenants of the deployment, by slug."""
    after: str = "" if cursor is None else decode_cursor(cursor, TextKey)
    found, following = split_page(await list_tenants_page(console, after, limit + 1), limit, lambda one: one.slug)
    return PageOf(items=[TenantView.model_validate(one) for one in found], next_cursor=following)


@routes.post("/tenants", status_code=201, responses=describe_existing_response(TenantView))
async def add_tenant(asked: NewTenant, caller: OperatorWrite, parts: AdminDeps, response: Response) -> TenantView:
    """Make a tenant with every module switched on. Asked again, it answers 200 with the one that is there."""
    try:
        made = await provision_tenant(
            parts.console, caller.actor, asked.slug, asked.name, asked.administrator, parts.modules
        )
    except Conflict:
        made = await _find_same_tenant(parts.console, asked)
        response.status_code = 200
    return TenantView.model_validate(made)


@routes.get("/tenants/{tenant_id}")
async def show_tenant(tenant_id: UUID, caller: OperatorRead, console: ConsoleDatabase) -> TenantView:
    """One tenant."""
    return TenantView.model_validate(await get_tenant(console, tenant_id))


@routes.patch("/tenants/{tenant_id}")
async def change_any_tenant(
    tenant_id: UUID, asked: OperatorTenantChange, caller: OperatorWrite, console: ConsoleDatabase
) -> TenantView:
    """Change a tenant. Suspended, its people lose all access within a second."""
    tenant = await get_tenant(console, tenant_id)
    if asked.status is not None and asked.status != tenant.status:
        if tenant_id == caller.tenant_id:
            raise Conflict("this is your own tenant: you would shut yourself out")
        await set_status(console, caller.actor, tenant_id, asked.status)
    return await _apply_change(console, caller, tenant_id, asked)


@routes.delete("/tenants/{tenant_id}")
async def remove_any_tenant(
    tenant_id: UUID, confirm: Confirmation, caller: OperatorWrite, parts: AdminDeps
) -> RemovalView:
    """Delete a tenant with everything of it but the audit log. Its sessions and tokens end within a second, and the
    vendors of its people's accounts are told that these are over."""
    if tenant_id == caller.tenant_id:
        raise Conflict("this is your own tenant: you would shut yourself out")
    return build_removal_view(
        await remove_tenant(parts.console, caller.actor, tenant_id, confirm, parts.account_revoker)
    )


@routes.get("/tenant")
async def show_own_tenant(caller: AdminRead, console: ConsoleDatabase) -> TenantView:
    """The caller's own tenant."""
    return TenantView.model_validate(await get_tenant(console, caller.tenant_id))


@routes.patch("/tenant")
async def change_own_tenant(asked: TenantChange, caller: AdminWrite, console: ConsoleDatabase) -> TenantView:
    """Change the caller's own tenant."""
    return await _apply_change(console, caller, caller.tenant_id, asked)


async def _apply_change(console: Database, caller: Principal, tenant_id: UUID, asked: TenantChange) -> TenantView:
    there = await get_tenant(console, tenant_id)
    limited = "max_token_lifetime_days" in asked.model_fields_set
    now = await change_tenant(
        console,
        caller.actor,
        tenant_id,
        name=there.name if asked.name is None else asked.name,
        record_arguments=there.record_arguments if asked.record_arguments is None else asked.record_arguments,
        max_token_lifetime_days=asked.max_token_lifetime_days if limited else there.max_token_lifetime_days,
    )
    return TenantView.model_validate(now)


async def _find_same_tenant(console: Database, asked: NewTenant) -> Tenant:
    """The tenant that is there, if it could have come of the same request."""
    there = await find_tenant(console, asked.slug)
    try:
        administrator = await find_user(console, there.id, asked.administrator)
    except NotFound:
        administrator = None
    if administrator is None or administrator.system_role != "admin" or there.name != (asked.name or asked.slug):
        raise Conflict(f"there is another tenant {asked.slug!r} already")
    return there
