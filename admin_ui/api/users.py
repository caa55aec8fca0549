"""``/users``: the people of a tenant."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from fastapi import Query, Response
from pydantic import Field

from admin_ui.api.admin_dependencies import AdminDeps, ConsoleDatabase
from core.api.app import create_router, describe_existing_response
from core.api.dependencies import AdminRead, AdminWrite, UserPath
from core.api.pagination import Cursor, PageLimit, TextKey, decode_cursor, split_page
from core.api.schemas import (
    Email,
    Name,
    PageOf,
    RemovalView,
    RequestModel,
    ResponseModel,
    ShortText,
    build_removal_view,
)
from core.api.versions import ExpectedVersion, describe_conflict, set_etag
from core.db import Database
from core.directory import users
from core.directory.search import UserSearch, UserSortKey, search_users
from core.directory.users import change_user, get_user, remove_user
from core.errors import Conflict

routes = create_router("users")

SystemRole = Literal["admin", "user"]
UserStatus = Literal["active", "suspended"]
UserSort = Literal["email", "-email", "name", "-name", "created_at", "-created_at"]
_CURSOR_KEYS: Mapping[UserSortKey, Any] = {
    "email": tuple[TextKey, TextKey],
    "name": tuple[TextKey, TextKey],
    "created_at": tuple[datetime, TextKey],
}


class UserView(ResponseModel):
    """A user of the tenant."""

    id: UUID = Field(description="Identifier of the user.")
    email: str = Field(description="E-mail address of the user.")
    name: str = Field(description="Display name of the user.")
    system_role: SystemRole = Field(description="System role: `admin` or `user`.")
    status: UserStatus = Field(description="Status: `active` or `suspended`.")
    created_at: datetime = Field(description="Time of creation.")
    roles: list[str] = Field(description="Names of the assigned roles.")


class NewUser(RequestModel):
    """A user to create."""

    email: Email = Field(description="E-mail address of the user, which is added to the allow list.")
    name: Name = Field(default="", description="Display name of the user.")
    system_role: SystemRole = Field(default="user", description="System role: `admin` or `user`.")


class UserChange(RequestModel):
    """Changes to a user; omitted fields stay unchanged."""

    name: Name | None = Field(default=None, description="New display name; null keeps it.")
    system_role: SystemRole | None = Field(default=None, description="New system role; null keeps it.")
    status: UserStatus | None = Field(default=None, description="New status; null keeps it.")


async def find_users_page(
    console: Database, tenant_id: UUID, search: UserSearch, limit: int, cursor: str | None
) -> PageOf[UserView]:
    """Find one page of users."""
    key = search.sort
    after = None if cursor is None else decode_cursor(cursor, _CURSOR_KEYS[key])
    found = await search_users(console, tenant_id, search, after, limit + 1)
    page, next_cursor = split_page(found, limit, lambda user: (getattr(user, key), user.email))
    return PageOf(items=[UserView.model_validate(user) for user in page], next_cursor=next_cursor)


@routes.get("/users")
async def list_users(
    caller: AdminRead,
    console: ConsoleDatabase,
    q: Annotated[ShortText, Query(description="Words that the name or the e-mail address contains.")] = "",
    status: Annotated[UserStatus | None, Query(description="Status: `active` or `suspended`.")] = None,
    system_role: Annotated[SystemRole | None, Query(description="System role: `admin` or `user`.")] = None,
    sort: Annotated[UserSort, Query(description="Field to order by; with `-` the other way round.")] = "email",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[UserView]:
    """List users.

    Ordered by e-mail address, unless `sort` says otherwise. Width, case and kana do not count in `q`.
    """
    key = cast("UserSortKey", sort.removeprefix("-"))
    search = UserSearch(q, status or "", system_role or "", key, sort.startswith("-"))
    return await find_users_page(console, caller.tenant_id, search, limit, cursor)


@routes.post("/users", status_code=201, responses=describe_existing_response(UserView))
async def add_user(body: NewUser, caller: AdminWrite, console: ConsoleDatabase, response: Response) -> UserView:
    """Create a user without roles.

    Repeating the request returns the existing user with status 200.
    """
    requested = (body.name, body.system_role)
    try:
        user_id = await users.create_user(
            console, caller.actor, caller.tenant_id, body.email, name=body.name, system_role=body.system_role
        )
    except Conflict:
        existing = await users.find_user(console, caller.tenant_id, body.email)
        if (existing.name, existing.system_role) != requested:
            raise
        response.status_code = 200
        return UserView.model_validate(existing)
    return UserView.model_validate(await get_user(console, caller.tenant_id, user_id))


@routes.get("/users/{user_id}")
async def show_user(user_id: UserPath, caller: AdminRead, console: ConsoleDatabase, response: Response) -> UserView:
    """Get a user."""
    await set_etag(response, console, caller.tenant_id, "user", user_id)
    return UserView.model_validate(await get_user(console, caller.tenant_id, user_id))


@routes.patch("/users/{user_id}")
async def update_user(
    user_id: UserPath,
    body: UserChange,
    caller: AdminWrite,
    console: ConsoleDatabase,
    response: Response,
    expected_version: ExpectedVersion,
) -> UserView:
    """Change a user.

    A suspended user loses all sessions and tokens within a second.
    """

    async def load_state() -> UserView:
        return UserView.model_validate(await get_user(console, caller.tenant_id, user_id))

    change = change_user(
        console,
        caller.actor,
        caller.tenant_id,
        user_id,
        name=body.name,
        system_role=body.system_role,
        status=body.status,
        expected_version=expected_version,
    )
    user = await describe_conflict(change, load_state)
    await set_etag(response, console, caller.tenant_id, "user", user_id)
    return UserView.model_validate(user)


@routes.delete("/users/{user_id}")
async def delete_user(user_id: UserPath, caller: AdminWrite, dependencies: AdminDeps) -> RemovalView:
    """Delete a user.

    Everything of the user and their own entry of the allow list are deleted; the audit log stays. Accounts are revoked
    at their vendors.
    """
    return build_removal_view(
        await remove_user(dependencies.console, caller.actor, caller.tenant_id, user_id, dependencies.account_revoker)
    )
