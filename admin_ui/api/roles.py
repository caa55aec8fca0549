"""``/roles``: named sets of tool permissions, and who has them."""

from collections.abc import Awaitable, Mapping
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from fastapi import Query, Response
from pydantic import Field, StringConstraints

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps, ConsoleDatabase
from admin_ui.api.users import UserSort, UserView, find_users_page
from core.api.app import create_router, describe_existing_response
from core.api.dependencies import AdminRead, AdminWrite, RolePath, UserPath
from core.api.pagination import Cursor, PageLimit, PriorityKey, TextKey, decode_cursor, split_page
from core.api.principal import Principal
from core.api.schemas import (
    PageOf,
    RemovalView,
    RequestModel,
    ResponseModel,
    ShortName,
    ShortText,
    ToolExposureText,
    build_removal_view,
)
from core.api.versions import ExpectedVersion, describe_conflict, set_etag
from core.db import Database
from core.directory import roles
from core.directory.roles import MAX_PERMISSIONS, PermissionGrants, RoleRecord
from core.directory.search import RoleSearch, RoleSortKey, UserSearch, UserSortKey, search_roles
from core.directory.users import assign_role, unassign_role
from core.errors import Conflict
from core.permissions import PERMISSION_PATTERN, check_permissions_installed

routes = create_router("roles")

Priority = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]
Permission = Annotated[str, StringConstraints(pattern=f"^(?:{PERMISSION_PATTERN.pattern})$", max_length=200)]
RoleSort = Literal["priority", "-priority", "name", "-name"]
_CURSOR_KEYS: Mapping[RoleSortKey, Any] = {"priority": tuple[PriorityKey, TextKey], "name": tuple[TextKey, TextKey]}
Permissions = Annotated[list[Permission], Field(max_length=MAX_PERMISSIONS)]


class RoleView(ResponseModel):
    """A role: a named set of tool permissions."""

    id: UUID = Field(description="Identifier of the role.")
    name: str = Field(description="Name of the role.")
    priority: int = Field(description="Order among shared credentials: the highest is used first.")
    allow: list[str] = Field(description="Allowed permissions: `module.tool`, `module.*`, `module:read` or `*`.")
    deny: list[str] = Field(description="Permissions removed from what this role allows.")
    members: int = Field(description="Number of users who have the role.")
    tool_exposure: str | None = Field(
        description="Exposure of tools to its members, such as `plain:github,notion`; null for the meta-tools."
    )


class NewRole(RequestModel):
    """A role to create."""

    name: ShortName = Field(description="Name of the role.")
    priority: Priority = Field(default=0, description="Order among shared credentials: the highest is used first.")
    allow: Permissions = Field(
        default=[], description="Allowed permissions: `module.tool`, `module.*`, `module:read` or `*`."
    )
    deny: Permissions = Field(default=[], description="Permissions removed from what this role allows.")
    allow_unknown: bool = Field(default=False, description="Accept permissions that match no installed tool.")
    tool_exposure: ToolExposureText | None = Field(
        default=None,
        description="Exposure of tools to its members, such as `plain:github,notion`; null for the meta-tools.",
    )


class RoleChange(RequestModel):
    """Changes to a role; omitted fields stay unchanged."""

    name: ShortName | None = Field(default=None, description="New name; null keeps it.")
    priority: Priority | None = Field(default=None, description="New priority; null keeps it.")
    tool_exposure: ToolExposureText | None = Field(
        default=None,
        description="Exposure of tools to its members, such as `plain:github,notion`; null for the meta-tools.",
    )


class RolePermissions(RequestModel):
    """All permissions of a role."""

    allow: Permissions = Field(description="Allowed permissions: `module.tool`, `module.*`, `module:read` or `*`.")
    deny: Permissions = Field(description="Permissions removed from what this role allows.")
    allow_unknown: bool = Field(default=False, description="Accept permissions that match no installed tool.")

    @property
    def grants(self) -> PermissionGrants:
        return _build_grants(self.allow, self.deny)


class PermissionSet(RequestModel):
    """Permissions of each effect."""

    allow: Permissions = Field(default=[], description="Allowed permissions.")
    deny: Permissions = Field(default=[], description="Denied permissions.")

    @property
    def grants(self) -> PermissionGrants:
        return _build_grants(self.allow, self.deny)


class PermissionChanges(RequestModel):
    """Changes to the permissions of a role; what stands in both is added."""

    add: PermissionSet = Field(default=PermissionSet(), description="Permissions to add.")
    remove: PermissionSet = Field(default=PermissionSet(), description="Permissions to remove.")
    allow_unknown: bool = Field(default=False, description="Accept permissions that match no installed tool.")


def _build_grants(allow: list[str], deny: list[str]) -> PermissionGrants:
    return frozenset({*(("allow", permission) for permission in allow), *(("deny", permission) for permission in deny)})


def _check_installed(dependencies: AdminDependencies, grants: PermissionGrants) -> None:
    tools = {name: module.tools for name, module in dependencies.installed.items()}
    check_permissions_installed({permission for _, permission in grants}, tools)


def _decode_role_cursor(cursor: str | None) -> tuple[int, str] | None:
    return None if cursor is None else decode_cursor(cursor, tuple[PriorityKey, TextKey])


def _build_page(records: list[RoleRecord], limit: int) -> PageOf[RoleView]:
    page, next_cursor = split_page(records, limit, lambda record: (record.priority, record.name))
    return PageOf(items=[RoleView.model_validate(record) for record in page], next_cursor=next_cursor)


@routes.get("/roles")
async def list_roles(
    caller: AdminRead,
    console: ConsoleDatabase,
    q: Annotated[ShortText, Query(description="Words that the name contains.")] = "",
    sort: Annotated[RoleSort, Query(description="Field to order by; with `-` the other way round.")] = "-priority",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[RoleView]:
    """List roles.

    Highest priority first, unless `sort` says otherwise. Width, case and kana do not count in `q`.
    """
    key = cast("RoleSortKey", sort.removeprefix("-"))
    after = None if cursor is None else decode_cursor(cursor, _CURSOR_KEYS[key])
    search = RoleSearch(q, key, sort.startswith("-"))
    found = await search_roles(console, caller.tenant_id, search, after, limit + 1)
    page, next_cursor = split_page(found, limit, lambda role: (getattr(role, key), role.name))
    return PageOf(items=[RoleView.model_validate(role) for role in page], next_cursor=next_cursor)


@routes.post("/roles", status_code=201, responses=describe_existing_response(RoleView))
async def add_role(body: NewRole, caller: AdminWrite, dependencies: AdminDeps, response: Response) -> RoleView:
    """Create a role with its permissions.

    Repeating the request returns the existing role with status 200.
    """
    console, grants = dependencies.console, _build_grants(body.allow, body.deny)
    if not body.allow_unknown:
        _check_installed(dependencies, grants)
    try:
        role = await roles.create_role(
            console, caller.actor, caller.tenant_id, body.name, body.priority, grants, body.tool_exposure
        )
    except Conflict:
        role = await roles.find_role(console, caller.tenant_id, body.name)
        existing = (role.priority, role.tool_exposure, _build_grants([*role.allow], [*role.deny]))
        if existing != (body.priority, body.tool_exposure, grants):
            raise
        response.status_code = 200
    return RoleView.model_validate(role)


@routes.get("/roles/{role_id}")
async def show_role(role_id: RolePath, caller: AdminRead, console: ConsoleDatabase, response: Response) -> RoleView:
    """Get a role."""
    await set_etag(response, console, caller.tenant_id, "role", role_id)
    return RoleView.model_validate(await roles.get_role(console, caller.tenant_id, role_id))


@routes.patch("/roles/{role_id}")
async def change_role(
    role_id: RolePath,
    body: RoleChange,
    caller: AdminWrite,
    console: ConsoleDatabase,
    response: Response,
    expected_version: ExpectedVersion,
) -> RoleView:
    """Rename a role, or change its priority or how tools are shown to its members."""
    change = roles.change_role(
        console,
        caller.actor,
        caller.tenant_id,
        role_id,
        name=body.name,
        priority=body.priority,
        tool_exposure=body.tool_exposure if "tool_exposure" in body.model_fields_set else "",
        expected_version=expected_version,
    )
    return await _answer_change(change, role_id, caller, console, response)


@routes.delete("/roles/{role_id}")
async def remove_role(role_id: RolePath, caller: AdminWrite, dependencies: AdminDeps) -> RemovalView:
    """Delete a role.

    Its permissions, assignments and shared credentials are deleted; the credentials are revoked at their vendors.
    """
    return build_removal_view(
        await roles.remove_role(
            dependencies.console, caller.actor, caller.tenant_id, role_id, dependencies.account_revoker
        )
    )


@routes.put("/roles/{role_id}/permissions")
async def replace_permissions(
    role_id: RolePath,
    body: RolePermissions,
    caller: AdminWrite,
    dependencies: AdminDeps,
    response: Response,
    expected_version: ExpectedVersion,
) -> RoleView:
    """Replace all permissions of a role."""
    console = dependencies.console
    if not body.allow_unknown:
        before = await roles.get_role(console, caller.tenant_id, role_id)
        _check_installed(dependencies, body.grants - _build_grants([*before.allow], [*before.deny]))
    change = roles.change_role(
        console, caller.actor, caller.tenant_id, role_id, grants=body.grants, expected_version=expected_version
    )
    return await _answer_change(change, role_id, caller, console, response)


@routes.patch("/roles/{role_id}/permissions")
async def change_permissions(
    role_id: RolePath,
    body: PermissionChanges,
    caller: AdminWrite,
    dependencies: AdminDeps,
    response: Response,
    expected_version: ExpectedVersion,
) -> RoleView:
    """Add and remove permissions of a role.

    What is not named stays, also what somebody else changes at the same moment.
    """
    added, removed = body.add.grants, body.remove.grants
    if not body.allow_unknown:
        _check_installed(dependencies, added)
    change = roles.change_role(
        dependencies.console,
        caller.actor,
        caller.tenant_id,
        role_id,
        added=added,
        removed=removed,
        expected_version=expected_version,
    )
    return await _answer_change(change, role_id, caller, dependencies.console, response)


async def _answer_change(
    change: Awaitable[RoleRecord], role_id: UUID, caller: Principal, console: Database, response: Response
) -> RoleView:
    async def load_state() -> RoleView:
        return RoleView.model_validate(await roles.get_role(console, caller.tenant_id, role_id))

    role = await describe_conflict(change, load_state)
    await set_etag(response, console, caller.tenant_id, "role", role_id)
    return RoleView.model_validate(role)


@routes.get("/roles/{role_id}/users")
async def list_members(
    role_id: RolePath,
    caller: AdminRead,
    console: ConsoleDatabase,
    q: Annotated[ShortText, Query(description="Words that the name or the e-mail address contains.")] = "",
    sort: Annotated[UserSort, Query(description="Field to order by; with `-` the other way round.")] = "email",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[UserView]:
    """List the users of a role.

    Ordered by e-mail address, unless `sort` says otherwise. Width, case and kana do not count in `q`.
    """
    role = await roles.get_role(console, caller.tenant_id, role_id)
    key = cast("UserSortKey", sort.removeprefix("-"))
    search = UserSearch(q, sort=key, descending=sort.startswith("-"), role_id=role.id)
    return await find_users_page(console, caller.tenant_id, search, limit, cursor)


@routes.get("/users/{user_id}/roles")
async def list_roles_of_user(
    user_id: UserPath, caller: AdminRead, console: ConsoleDatabase, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[RoleView]:
    """List the roles of a user.

    Highest priority first.
    """
    return _build_page(
        await roles.list_user_roles(console, caller.tenant_id, user_id, _decode_role_cursor(cursor), limit + 1), limit
    )


@routes.put("/users/{user_id}/roles/{role_id}", status_code=204)
async def assign_user_role(user_id: UserPath, role_id: RolePath, caller: AdminWrite, console: ConsoleDatabase) -> None:
    """Assign a role to a user.

    An existing assignment stays unchanged.
    """
    await assign_role(console, caller.actor, caller.tenant_id, user_id, role_id)


@routes.delete("/users/{user_id}/roles/{role_id}", status_code=204)
async def unassign_user_role(
    user_id: UserPath, role_id: RolePath, caller: AdminWrite, console: ConsoleDatabase
) -> None:
    """Remove a role from a user.

    A missing assignment is not an error.
    """
    await unassign_role(console, caller.actor, caller.tenant_id, user_id, role_id)
