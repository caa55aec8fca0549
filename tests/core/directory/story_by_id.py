"""The part of the story that is told by ids, as the admin API tells it, and by entries of the allow list."""

from typing import Any
from uuid import UUID

from broker.identity.api_tokens import ApiTokens
from core.db import Database
from core.directory import allow_list, roles, tenants, users
from core.directory.audit_trail import Actor
from core.directory.search import UserSearch, search_users
from tests.core.directory.story_of_the_console import refused, told_of_searches

ACTOR = Actor("tester")


async def told_by_id(console: Database, tokens: ApiTokens, tenant: UUID, stranger: UUID) -> list[Any]:
    """Every statement with a filter runs at least once; the tenant is in the end as it was, but for two entries."""
    zoe = await users.create_user(console, ACTOR, tenant, "zoe@mail.test", roles=("first",))
    eves_role = await _role_of_the_stranger(console)
    return [
        await _roles(console, tenant, zoe, eves_role),
        await _people(console, tenant, zoe, stranger),
        await told_of_searches(console, tenant),
        await _tokens(tokens, tenant, zoe),
        await refused(users.remove_user(console, ACTOR, tenant, stranger)),
        await refused(users.remove_user(console, ACTOR, tenant, zoe)),
        await _allow_list(console, tenant),
        await _tenant(console, tenant),
    ]


async def _role_of_the_stranger(console: Database) -> UUID:
    (hers,) = [one for one in await tenants.list_tenants(console) if one.slug == "stranger"]
    return (await roles.find_role(console, hers.id, "strange")).id


async def _roles(console: Database, tenant: UUID, zoe: UUID, eves_role: UUID) -> list[Any]:
    granted = frozenset({("allow", "kg.read"), ("deny", "kg.write")})
    third = await roles.create_role(console, ACTOR, tenant, "third", 3, granted)
    await roles.change_role(console, ACTOR, tenant, third.id, name="Third", priority=4, tool_exposure="plain:kg")
    await users.assign_role(console, ACTOR, tenant, zoe, third.id)
    told = [
        await roles.change_role(console, ACTOR, tenant, third.id, grants=frozenset({("allow", "kg.*")})),
        *await roles.list_roles(console, tenant, None, 10),
        *await roles.list_roles(console, tenant, (4, "Third"), 10),
        *await roles.list_user_roles(console, tenant, zoe),
        *await roles.list_user_roles(console, tenant, zoe, (4, "Third")),
        await roles.find_role(console, tenant, "Third"),
    ]
    members = [one.email for one in await search_users(console, tenant, UserSearch(role_id=third.id), None, 10)]
    await users.unassign_role(console, ACTOR, tenant, zoe, third.id)
    left = await roles.list_user_roles(console, tenant, zoe)
    await roles.remove_role(console, ACTOR, tenant, third.id)
    refusals = [
        await refused(roles.get_role(console, tenant, third.id)),
        await refused(roles.get_role(console, tenant, eves_role)),
        await refused(users.assign_role(console, ACTOR, tenant, zoe, eves_role)),
        await refused(roles.find_role(console, tenant, "strange")),
    ]
    shown = [(one.name, one.priority, one.allow, one.deny, one.members) for one in [*told, *left]]
    return [shown, members, refusals]


async def _people(console: Database, tenant: UUID, zoe: UUID, stranger: UUID) -> list[Any]:
    changed = await users.change_user(console, ACTOR, tenant, zoe, name="Zoe", system_role="admin")
    return [
        (changed.email, changed.name, changed.system_role, changed.roles),
        (await users.get_user(console, tenant, zoe)).name,
        await refused(users.change_user(console, ACTOR, tenant, zoe, status="suspended")),
        await refused(users.get_user(console, tenant, stranger)),
        await refused(users.change_user(console, ACTOR, tenant, stranger, name="Mine")),
        await refused(users.create_user(console, ACTOR, tenant, "yan@mail.test", system_role="admin")),
        (await users.change_user(console, ACTOR, tenant, zoe, system_role="user")).system_role,
    ]


async def _tokens(tokens: ApiTokens, tenant: UUID, zoe: UUID) -> list[Any]:
    _, token = await tokens.create(ACTOR, tenant, zoe, "lost")
    return [await tokens.revoke_leaked(ACTOR, token), await tokens.revoke_leaked(ACTOR, token)]


async def _allow_list(console: Database, tenant: UUID) -> list[Any]:
    for entry in ("@one.test", "zoe@mail.test"):
        await allow_list.add_entry(console, ACTOR, tenant, entry)
    listed = [one.entry for one in await allow_list.list_entries(console, tenant)]
    await allow_list.remove_entry(console, ACTOR, tenant, "@one.test")
    refusal = await refused(allow_list.remove_entry(console, ACTOR, tenant, "eve@mail.test"))
    await allow_list.add_entry(console, ACTOR, tenant, "@one.test")
    return [listed, refusal]


async def _tenant(console: Database, tenant: UUID) -> list[Any]:
    options = {"name": "Another name", "record_arguments": False, "max_token_lifetime_days": 30}
    changed = await tenants.change_tenant(console, ACTOR, tenant, **options)
    options = {"name": "The same name", "record_arguments": False, "max_token_lifetime_days": None}
    return [
        changed.name,
        changed.max_token_lifetime_days,
        (await tenants.change_tenant(console, ACTOR, tenant, **options)).name,
    ]
