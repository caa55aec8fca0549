"""``/roles``: named sets of tool permissions, and who has them."""

from typing import Annotated
from uuid import UUID

from fastapi import Response
from pydantic import Field, StringConstraints

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps, ConsoleDatabase
from admin_ui.api.users import UserView, build_users_page
from core.api.app import create_router, describe_existing_response
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit, PriorityKey, TextKey, decode_cursor, split_page
from core.api.schemas import PageOf, RemovalView, RequestModel, ResponseModel, ShortName, build_removal_view
from core.directory import roles_by_id as roles
from core.directory.roles_by_id import MAX_PERMISSIONS, PermissionGrants, RoleRecord
from core.directory.users_by_id import give_role, list_role_members, take_role
from core.errors import Conflict
from core.permissions import PERMISSION_PATTERN, check_permissions_installed

routes = create_router("roles")

Priority = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]
Permission = Annotated[str, StringConstraints(pattern=f"^(?:{PERMISSION_PATTERN.pattern})$", max_length=200)]
Permissions = Annotated[list[Permission], Field(max_length=MAX_PERMISSIONS)]


class RoleView(ResponseModel):
    """A role. A permission is `module.tool`, `module.*`, `module:read` or `*`; `deny` takes from this role only."""

    id: UUID
    name: str
    priority: int
    allow: list[str]
    deny: list[str]
    members: int


class NewRole(RequestModel):
    """`priority` orders shared credentials, the highest first, and nothing else. A permission that matches no installed
    tool is refused unless `allow_unknown`."""

    name: ShortName
    priority: Priority = 0
    allow: Permissions = Field(default=[])
    deny: Permissions = Field(default=[])
    allow_unknown: bool = False


class RoleChange(RequestModel):
    """What is left out, or null, stays as it is."""

    name: ShortName | None = None
    priority: Priority | None = None


class RolePermissions(RequestModel):
    """All permissions of a role. A new one that matches no installed tool is refused unless `allow_unknown`."""

    allow: Permissions
    deny: Permissions
    allow_unknown: bool = False

    @property
    def grants(self) -> PermissionGrants:
        return _build_grants(self.allow, self.deny)


def _build_grants(allow: list[str], deny: list[str]) -> PermissionGrants:
    return frozenset({*(("allow", one) for one in allow), *(("deny", one) for one in deny)})


def _check_installed(parts: AdminDependencies, granted: PermissionGrants) -> None:
    tools = {name: module.tools for name, module in parts.installed.items()}
    check_permissions_installed({permission for _, permission in granted}, tools)


def _decode_role_cursor(cursor: str | None) -> tuple[int, str] | None:
    return None if cursor is None else decode_cursor(cursor, tuple[PriorityKey, TextKey])


def _build_page(found: list[RoleRecord], limit: int) -> PageOf[RoleView]:
    shown, following = split_page(found, limit, lambda one: (one.priority, one.name))
    return PageOf(items=[RoleView.model_validate(one) for one in shown], next_cursor=following)


@routes.get("/roles")
async def list_roles(
    caller: AdminRead, console: ConsoleDatabase, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[RoleView]:
    """The tenant's roles, the highest priority first."""
    return _build_page(
        await roles.list_roles_page(console, caller.tenant_id, _decode_role_cursor(cursor), limit + 1), limit
    )


@routes.post("/roles", status_code=201, responses=describe_existing_response(RoleView))
async def add_role(asked: NewRole, caller: AdminWrite, parts: AdminDeps, response: Response) -> RoleView:
    """Make a role with its permissions. Asked again, it answers 200 with the one that is there."""
    console, granted = parts.console, _build_grants(asked.allow, asked.deny)
    if not asked.allow_unknown:
        _check_installed(parts, granted)
    try:
        made = await roles.make_role(console, caller.actor, caller.tenant_id, asked.name, asked.priority, granted)
    except Conflict:
        made = await roles.find_role(console, caller.tenant_id, asked.name)
        if (made.priority, _build_grants([*made.allow], [*made.deny])) != (asked.priority, granted):
            raise
        response.status_code = 200
    return RoleView.model_validate(made)


@routes.get("/roles/{role_id}")
async def show_role(role_id: UUID, caller: AdminRead, console: ConsoleDatabase) -> RoleView:
    """One role."""
    return RoleView.model_validate(await roles.get_role(console, caller.tenant_id, role_id))


@routes.patch("/roles/{role_id}")
async def change_role(role_id: UUID, asked: RoleChange, caller: AdminWrite, console: ConsoleDatabase) -> RoleView:
    """Rename a role, or change its priority."""
    changed = await roles.change_role(
        console, caller.actor, caller.tenant_id, role_id, name=asked.name, priority=asked.priority
    )
    return RoleView.model_validate(changed)


@routes.delete("/roles/{role_id}")
async def remove_role(role_id: UUID, caller: AdminWrite, parts: AdminDeps) -> RemovalView:
    """Delete a role with its permissions, its assignments and its shared credentials, whose vendors are told."""
    return build_removal_view(
        await roles.remove_role(parts.console, caller.actor, caller.tenant_id, role_id, parts.account_revoker)
    )


@routes.put("/roles/{role_id}/permissions")
async def replace_permissions(role_id: UUID, asked: RolePermissions, caller: AdminWrite, parts: AdminDeps) -> RoleView:
    """Give a role exactly these permissions, all at once."""
    console = parts.console
    if not asked.allow_unknown:
        before = await roles.get_role(console, caller.tenant_id, role_id)
        _check_installed(parts, asked.grants - _build_grants([*before.allow], [*before.deny]))
    changed = await roles.change_role(console, caller.actor, caller.tenant_id, role_id, granted=asked.grants)
    return RoleView.model_validate(changed)


@routes.get("/roles/{role_id}/users")
async def list_members(
    role_id: UUID, caller: AdminRead, console: ConsoleDatabase, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[UserView]:
    """The users who have a role, by e-mail address."""
    after: str = "" if cursor is None else decode_cursor(cursor, TextKey)
    return build_users_page(
        await list_role_members(console, caller.tenant_id, role_id, after=after, limit=limit + 1), limit
    )


@routes.get("/users/{user_id}/roles")
async def list_roles_of_user(
    user_id: UUID, caller: AdminRead, console: ConsoleDatabase, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[RoleView]:
    """The roles that a user has, the highest priority first."""
    return _build_page(
        await roles.list_user_roles(console, caller.tenant_id, user_id, _decode_role_cursor(cursor), limit + 1), limit
    )


@routes.put("/users/{user_id}/roles/{role_id}", status_code=204)
async def assign_user_role(user_id: UUID, role_id: UUID, caller: AdminWrite, console: ConsoleDatabase) -> None:
    """Give a user a role; one that they have already stays."""
    await give_role(console, caller.actor, caller.tenant_id, user_id, role_id)


@routes.delete("/users/{user_id}/roles/{role_id}", status_code=204)
async def unassign_user_role(user_id: UUID, role_id: UUID, caller: AdminWrite, console: ConsoleDatabase) -> None:
    """Take a role from a user; one that they do not have is no error."""
    await take_role(console, caller.actor, caller.tenant_id, user_id, role_id)
