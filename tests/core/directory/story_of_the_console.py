"""The part of the story about what the console keeps: profiles, access requests, counts of calls."""

from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from core.audit.call_counts import CallCounter
from core.audit.change_hints import load_chain_range, load_hint_events
from core.audit.event import AuditEvent, AuditEventKind, build_outcome_event
from core.audit.figures import load_figures
from core.audit.sealer import AuditSealer
from core.audit.writer import append_events
from core.db import Database
from core.directory import access_requests, profiles, roles
from core.directory.audit_trail import Actor
from core.directory.search import RoleSearch, UserSearch, search_roles, search_users
from core.directory.versions import fetch_version, lock_version, record_change
from core.errors import MCPistError

ACTOR = Actor("tester")
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


async def told_of_the_console(console: Database, tenant: UUID, user: UUID, stranger: UUID) -> list[Any]:
    """Every statement with a filter runs at least once; the tenant is in the end as it was."""
    return [
        await profiles.change_profile(console, ACTOR, tenant, user, language="ja", name="ボブ", time_zone="Asia/Tokyo"),
        await profiles.load_time_zone(console, tenant, user),
        await profiles.load_time_zone(console, tenant, stranger),
        await profiles.get_profile(console, tenant, user),
        await refused(profiles.get_profile(console, tenant, stranger)),
        await refused(profiles.change_profile(console, ACTOR, tenant, stranger, name="Mine")),
        await _requests(console, tenant, user, stranger),
        await _figures(console, tenant, user),
        await _versions(console, tenant),
        *await told_of_searches(console, tenant),
    ]


async def told_of_searches(console: Database, tenant: UUID) -> list[Any]:
    """Searches of users and roles, in every order."""
    users = [(key, down) for key in ("email", "name", "created_at") for down in (False, True)]
    roles = [(key, down) for key in ("priority", "name") for down in (False, True)]
    return [
        *[await _users(console, tenant, *order) for order in users],
        *[await _roles(console, tenant, *order) for order in roles],
    ]


async def _versions(console: Database, tenant: UUID) -> list[Any]:
    async with console.tenant(tenant) as work:
        await record_change(work, ACTOR, "service", "kg2")
        await lock_version(work, "service", "kg2", 2)
        version = await fetch_version(work, "service", "kg2")
    return [version.version, version.changed_by]


async def _figures(console: Database, tenant: UUID, user: UUID) -> list[Any]:
    at = int(NOON.timestamp() * 1e9)
    intent = AuditEvent(
        at=at, kind=AuditEventKind.CALL_INTENT, tenant_id=tenant, user_id=user, module="kg", tool="read"
    )
    await append_events(console, [intent, build_outcome_event(intent, "error", 5_000)])
    await AuditSealer(console, lambda: NOON).seal_all()
    counter = CallCounter(console)
    await counter.count_newest(tenant)
    await counter.count_batch(tenant)
    await counter.forget_old_of(tenant)
    hour, day = timedelta(hours=1), timedelta(days=1)
    return [
        await load_figures(console, tenant, NOON, NOON + hour, "hour"),
        await load_figures(console, tenant, NOON, NOON + day, "day", 9),
        await load_figures(console, tenant, NOON, NOON + 3 * day, "day"),
        sorted(hint.kind for hint in await load_hint_events(console, tenant, 0)),
        (await load_chain_range(console, tenant))[0],
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
    reopened = await access_requests.reopen_request(console, ACTOR, tenant, second.id)
    declined = await access_requests.decline_request(console, ACTOR, tenant, second.id, "no")
    await access_requests.withdraw_request(console, ACTOR, tenant, third.id, user)
    listed = await access_requests.list_requests(console, tenant)
    told = [again.id == first.id, *map(_shown, [approved, reopened, declined, *listed])]
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
