"""``/users``: the people of a tenant."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from fastapi import Response

from admin_ui.api.admin_dependencies import AdminDeps, ConsoleDatabase
from core.api.app import create_router, describe_existing_response
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import Email, Name, PageOf, RemovalView, RequestModel, ResponseModel, build_removal_view
from core.directory import users
from core.directory.users_by_id import change_user, get_user, remove_user
from core.errors import Conflict

routes = create_router("users")

SystemRole = Literal["admin", "user"]


class UserView(ResponseModel):
    """A person. `roles` are the names of the roles that they have."""

    id: UUID
    email: str
    name: str
    system_role: SystemRole
    status: Literal["active", "suspended"]
    created_at: datetime
    roles: list[str]


class NewUser(RequestModel):
    """The address is put on the allow list, so that they can sign in."""

    email: Email
    name: Name = ""
    system_role: SystemRole = "user"


class UserChange(RequestModel):
    """What is left out, or null, stays as it is."""

    name: Name | None = None
    system_role: SystemRole | None = None
    status: Literal["active", "suspended"] | None = None


def build_users_page(found: "list[users.User]", limit: int) -> PageOf[UserView]:
    """One page of users, which are in the order of their addresses."""
    shown, following = split_page(found, limit, lambda one: one.email)
    return PageOf(items=[UserView.model_validate(one) for one in shown], next_cursor=following)


@routes.get("/users")
async def list_users(
    caller: AdminRead, console: ConsoleDatabase, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[UserView]:
    """The tenant's users, by e-mail address."""
    after: str = "" if cursor is None else decode_cursor(cursor, TextKey)
    return build_users_page(await users.list_users(console, caller.tenant_id, after=after, limit=limit + 1), limit)


@routes.post("/users", status_code=201, responses=describe_existing_response(UserView))
async def add_user(asked: NewUser, caller: AdminWrite, console: ConsoleDatabase, response: Response) -> UserView:
    """Make a user, without roles. Asked again, it answers 200 with the one that is there."""
    wanted = (asked.name, asked.system_role)
    try:
        user_id = await users.create_user(
            console, caller.actor, caller.tenant_id, asked.email, name=asked.name, system_role=asked.system_role
        )
    except Conflict:
        there = await users.find_user(console, caller.tenant_id, asked.email)
        if (there.name, there.system_role) != wanted:
            raise
        response.status_code = 200
        return UserView.model_validate(there)
    return UserView.model_validate(await get_user(console, caller.tenant_id, user_id))


@routes.get("/users/{user_id}")
async def show_user(user_id: UUID, caller: AdminRead, console: ConsoleDatabase) -> UserView:
    """One user."""
    return UserView.model_validate(await get_user(console, caller.tenant_id, user_id))


@routes.patch("/users/{user_id}")
async def update_user(user_id: UUID, asked: UserChange, caller: AdminWrite, console: ConsoleDatabase) -> UserView:
    """Change a user. Whoever is suspended loses sessions and tokens within a second."""
    changed = await change_user(
        console,
        caller.actor,
        caller.tenant_id,
        user_id,
        name=asked.name,
        system_role=asked.system_role,
        status=asked.status,
    )
    return UserView.model_validate(changed)


@routes.delete("/users/{user_id}")
async def delete_user(user_id: UUID, caller: AdminWrite, parts: AdminDeps) -> RemovalView:
    """Delete a user with all that is theirs, and their own entry of the allow list. The audit log stays. The vendors of
    their accounts are told that these are over."""
    return build_removal_view(
        await remove_user(parts.console, caller.actor, caller.tenant_id, user_id, parts.account_revoker)
    )
