"""``/tenants``, for the operator of the deployment; ``/tenant``, for each tenant's own administrators."""

from typing import Annotated, Literal, cast
from uuid import UUID

from fastapi import Path, Query, Response
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
    ShortText,
    build_removal_view,
)
from core.api.versions import ExpectedVersion, describe_conflict, set_etag
from core.db import Database
from core.directory.deletion import remove_tenant
from core.directory.provisioning import provision_tenant
from core.directory.search import TenantSearch, TenantSortKey, search_tenants
from core.directory.tenants import (
    MAX_TOKEN_DAYS,
    Tenant,
    change_tenant,
    find_tenant,
    get_tenant,
    set_status,
)
from core.directory.users import find_user
from core.errors import Conflict, NotFound

routes = create_router("tenants")

Slug = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", max_length=63)]
TenantStatus = Literal["active", "suspended"]
TenantSort = Literal["slug", "-slug", "name", "-name"]
TenantPath = Annotated[UUID, Path(description="Identifier of the tenant.")]
Confirmation = Annotated[
    str,
    Query(
        max_length=63,
        pattern=NO_CONTROL_CHARACTERS,
        description="Slug of the tenant, repeated as a confirmation.",
    ),
]


class TenantView(ResponseModel):
    """A tenant of the deployment."""

    id: UUID = Field(description="Identifier of the tenant.")
    slug: str = Field(description="Short name of the tenant.")
    name: str = Field(description="Display name of the tenant.")
    status: TenantStatus = Field(description="Status: `active` or `suspended`.")
    record_arguments: bool = Field(
        description="Record the arguments of tool calls in the audit log, not only their digest."
    )
    max_token_lifetime_days: int | None = Field(
        description="Maximum lifetime of new API tokens in days; null for no limit."
    )
    shows_hidden_tools: bool = Field(
        description="Tell people in the console the names of tools that they may not use; models never learn them."
    )
    accepts_access_requests: bool = Field(description="Let people ask for tools that they may not use.")


class NewTenant(RequestModel):
    """A tenant to create."""

    slug: Slug = Field(description="Short name of the tenant, unique in the deployment.")
    name: Name = Field(default="", description="Display name of the tenant.")
    administrator: Email = Field(
        description="E-mail address of the first administrator, which is added to the allow list."
    )


class TenantChange(RequestModel):
    """Changes to a tenant; omitted fields stay unchanged."""

    name: NotEmptyName | None = Field(default=None, description="Display name of the tenant.")
    record_arguments: bool | None = Field(
        default=None, description="Record the arguments of tool calls in the audit log, not only their digest."
    )
    max_token_lifetime_days: Annotated[int, Field(ge=1, le=MAX_TOKEN_DAYS)] | None = Field(
        default=None, description="Maximum lifetime of new API tokens in days; null for no limit."
    )
    shows_hidden_tools: bool | None = Field(
        default=None, description="Tell people in the console the names of tools that they may not use; null keeps it."
    )
    accepts_access_requests: bool | None = Field(
        default=None, description="Let people ask for tools that they may not use; null keeps it."
    )


class OperatorTenantChange(TenantChange):
    """Changes to a tenant by the operator; omitted fields stay unchanged."""

    status: TenantStatus | None = Field(default=None, description="New status: `active` or `suspended`; null keeps it.")


@routes.get("/tenants")
async def list_tenants(
    caller: OperatorRead,
    console: ConsoleDatabase,
    q: Annotated[ShortText, Query(description="Words that the name or the slug contains.")] = "",
    status: Annotated[TenantStatus | None, Query(description="Status: `active` or `suspended`.")] = None,
    sort: Annotated[TenantSort, Query(description="Field to order by; with `-` the other way round.")] = "slug",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[TenantView]:
    """List tenants.

    Ordered by slug, unless `sort` says otherwise. Width, case and kana do not count in `q`.
    """
    key = cast("TenantSortKey", sort.removeprefix("-"))
    search = TenantSearch(q, status or "", key, sort.startswith("-"))
    after: tuple[str, str] | None = None if cursor is None else decode_cursor(cursor, tuple[TextKey, TextKey])
    found = await search_tenants(console, search, after, limit + 1)
    tenants, next_cursor = split_page(found, limit, lambda tenant: (getattr(tenant, key), tenant.slug))
    return PageOf(items=[TenantView.model_validate(tenant) for tenant in tenants], next_cursor=next_cursor)


@routes.post("/tenants", status_code=201, responses=describe_existing_response(TenantView))
async def add_tenant(body: NewTenant, caller: OperatorWrite, dependencies: AdminDeps, response: Response) -> TenantView:
    """Create a tenant.

    Every module is enabled. Repeating the request returns the existing tenant with status 200.
    """
    try:
        tenant = await provision_tenant(
            dependencies.console, caller.actor, body.slug, body.name, body.administrator, dependencies.modules
        )
    except Conflict:
        tenant = await _find_same_tenant(dependencies.console, body)
        response.status_code = 200
    return TenantView.model_validate(tenant)


@routes.get("/tenants/{tenant_id}")
async def show_tenant(
    tenant_id: TenantPath, caller: OperatorRead, console: ConsoleDatabase, response: Response
) -> TenantView:
    """Get a tenant."""
    await set_etag(response, console, tenant_id, "tenant", tenant_id)
    return TenantView.model_validate(await get_tenant(console, tenant_id))


@routes.patch("/tenants/{tenant_id}")
async def change_any_tenant(
    tenant_id: TenantPath,
    body: OperatorTenantChange,
    caller: OperatorWrite,
    console: ConsoleDatabase,
    response: Response,
    expected_version: ExpectedVersion,
) -> TenantView:
    """Change a tenant.

    Users of a suspended tenant lose all access within a second.
    """

    async def load_state() -> TenantView:
        return TenantView.model_validate(await get_tenant(console, tenant_id))

    change = _apply_operator_change(console, caller, tenant_id, body, expected_version)
    view = await describe_conflict(change, load_state)
    await set_etag(response, console, tenant_id, "tenant", tenant_id)
    return view


@routes.delete("/tenants/{tenant_id}")
async def remove_any_tenant(
    tenant_id: TenantPath, confirm: Confirmation, caller: OperatorWrite, dependencies: AdminDeps
) -> RemovalView:
    """Delete a tenant.

    Everything but its audit log is deleted. Sessions and tokens end within a second, and accounts are revoked at their
    vendors.
    """
    if tenant_id == caller.tenant_id:
        raise Conflict("this is your own tenant: you would shut yourself out")
    return build_removal_view(
        await remove_tenant(dependencies.console, caller.actor, tenant_id, confirm, dependencies.account_revoker)
    )


@routes.get("/tenant")
async def show_own_tenant(caller: AdminRead, console: ConsoleDatabase, response: Response) -> TenantView:
    """Get the caller's tenant."""
    await set_etag(response, console, caller.tenant_id, "tenant", caller.tenant_id)
    return TenantView.model_validate(await get_tenant(console, caller.tenant_id))


@routes.patch("/tenant")
async def change_own_tenant(
    body: TenantChange,
    caller: AdminWrite,
    console: ConsoleDatabase,
    response: Response,
    expected_version: ExpectedVersion,
) -> TenantView:
    """Change the caller's tenant."""

    async def load_state() -> TenantView:
        return TenantView.model_validate(await get_tenant(console, caller.tenant_id))

    change = _apply_change(console, caller, caller.tenant_id, body, expected_version)
    view = await describe_conflict(change, load_state)
    await set_etag(response, console, caller.tenant_id, "tenant", caller.tenant_id)
    return view


async def _apply_operator_change(
    console: Database, caller: Principal, tenant_id: UUID, change: OperatorTenantChange, expected_version: int | None
) -> TenantView:
    tenant = await get_tenant(console, tenant_id)
    if change.status is not None and change.status != tenant.status:
        if tenant_id == caller.tenant_id:
            raise Conflict("this is your own tenant: you would shut yourself out")
        await set_status(console, caller.actor, tenant_id, change.status, expected_version=expected_version)
        expected_version = None  # what follows is a field that the caller names, on the version that this has made
    return await _apply_change(console, caller, tenant_id, change, expected_version)


async def _apply_change(
    console: Database, caller: Principal, tenant_id: UUID, change: TenantChange, expected_version: int | None = None
) -> TenantView:
    tenant = await get_tenant(console, tenant_id)
    sets_limit = "max_token_lifetime_days" in change.model_fields_set
    now = await change_tenant(
        console,
        caller.actor,
        tenant_id,
        name=tenant.name if change.name is None else change.name,
        record_arguments=tenant.record_arguments if change.record_arguments is None else change.record_arguments,
        max_token_lifetime_days=change.max_token_lifetime_days if sets_limit else tenant.max_token_lifetime_days,
        shows_hidden_tools=change.shows_hidden_tools,
        accepts_access_requests=change.accepts_access_requests,
        expected_version=expected_version,
    )
    return TenantView.model_validate(now)


async def _find_same_tenant(console: Database, new_tenant: NewTenant) -> Tenant:
    """Find the tenant that is there, if it could have come of the same request."""
    tenant = await find_tenant(console, new_tenant.slug)
    try:
        administrator = await find_user(console, tenant.id, new_tenant.administrator)
    except NotFound:
        administrator = None
    if (
        administrator is None
        or administrator.system_role != "admin"
        or tenant.name != (new_tenant.name or new_tenant.slug)
    ):
        raise Conflict(f"there is another tenant {new_tenant.slug!r} already")
    return tenant
