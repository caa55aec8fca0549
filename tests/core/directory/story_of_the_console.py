"""The part of the story about what the console keeps: profiles, access requests."""

from collections.abc import Awaitable
from typing import Any
from uuid import UUID

from core.db import Database
from core.directory import access_requests, profiles, roles
from core.directory.audit_trail import Actor
from core.directory.search import RoleSearch, UserSearch, search_roles, search_users
from core.errors import MCPistError

ACTOR = Actor("tester")


async def told_of_the_console(console: Database, tenant: UUID, user: UUID, stranger: UUID) -> list[Any]:
    """Every statement with a filter runs at least once; the tenant is in the end as it was."""
    return [
        await profiles.change_profile(console, ACTOR, tenant, user, language="ja", name="ボブ"),
        await profiles.get_profile(console, tenant, user),
        await refused(profiles.get_profile(console, tenant, stranger)),
        await refused(profiles.change_profile(console, ACTOR, tenant, stranger, name="Mine")),
        await _requests(console, tenant, user, stranger),
        *[
            await _users(console, tenant, key, down)
            for key in ("email", "name", "created_at")
            for down in (False, True)
        ],
        *[await _roles(console, tenant, key, down) for key in ("priority", "name") for down in (False, True)],
    ]


async def _users(console: Database, tenant: UUID, key: Any, descending: bool) -> list[str]:
    """Of all pages, one user at a time."""
    told, after = [], None
    while found := await search_users(console, tenant, UserSearch("", sort=key, descending=descending), after, 1):
        told.append(found[0].email)
        after = getattr(found[0], key), found[0].email
    return told


async def _roles(console: Database, tenant: UUID, key: Any, descending: bool) -> list[str]:
    told, after = [], None
    while found := await search_roles(console, tenant, RoleSearch("", key, descending), after, 1):
        told.append(found[0].name)
        after = getattr(found[0], key), found[0].name
    return told


async def _requests(console: Database, tenant: UUID, user: UUID, stranger: UUID) -> list[Any]:
    ask = access_requests.create_request
    first, _ = await ask(console, ACTOR, tenant, user, "kg", "read", "why")
    again, _ = await ask(console, ACTOR, tenant, user, "kg", "read", "why")
    second, _ = await ask(console, ACTOR, tenant, user, "kg", "", "")
    third, _ = await ask(console, ACTOR, tenant, user, "kg", "write", "")
    role = await roles.create_role(console, ACTOR, tenant, "fourth", 4, frozenset({("allow", "kg.search")}))
    approved = await access_requests.approve_request(
        console, ACTOR, tenant, first.id, role.id, permits=lambda role, _: "kg.read" in role.allow, allow=True
    )
    declined = await access_requests.decline_request(console, ACTOR, tenant, second.id, "no")
    await access_requests.withdraw_request(console, ACTOR, tenant, third.id, user)
    listed = await access_requests.list_requests(console, tenant)
    told = [again.id == first.id, *map(_shown, [approved, declined, *listed])]
    told += map(_shown, await access_requests.list_requests(console, tenant, user_id=user, state="declined"))
    told += [await refused(ask(console, ACTOR, tenant, stranger, "kg", "read", ""))]
    told += [_shown(await access_requests.get_request(console, tenant, first.id))]
    await roles.remove_role(console, ACTOR, tenant, role.id)
    return told


def _shown(request: access_requests.AccessRequest) -> Any:
    """A request without what is new each time."""
    return request.email, request.permission, request.message, request.state, request.role, request.reason


async def refused(attempt: Awaitable[Any]) -> str:
    """How it was refused; what came of it may hold ids, which are new each time."""
    try:
        await attempt
    except MCPistError as error:
        return str(error)
    return "done"
