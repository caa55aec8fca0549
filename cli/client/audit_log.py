"""The audit log at a server: one page of it, as the person may see it."""

from datetime import datetime
from uuid import UUID

import msgspec

from cli.client.admin_api import PAGE_SIZE, AdminApiClient
from cli.client.me import fetch_profile
from cli.client.users import fetch_user, fetch_users
from core.audit.query import AuditEntry, AuditFilter, AuditPage


class _AuditItem(msgspec.Struct):
    seq: int
    occurred_at: datetime
    kind: str
    user_id: UUID | None
    actor: str
    credential_id: str
    client: str
    request_id: str
    module: str
    tool: str
    outcome: str
    duration_us: int | None
    arguments_digest: str
    arguments: str | None
    detail: dict[str, str | int]


class _AuditPage(msgspec.Struct):
    items: tuple[_AuditItem, ...]
    next_cursor: str | None


def fetch_tenant_audit(
    api: AdminApiClient, asked: AuditFilter, user: str | None, cursor: str | None, limit: int
) -> tuple[AuditPage, dict[UUID, str]]:
    """At most `limit` entries, and the addresses of the people in it."""
    if api.is_operator:
        users = fetch_users(api)
        person = None if user is None else fetch_user(api, user).id
        return _fetch_entries(api, "/audit", asked, cursor, limit, user=person), {one.id: one.email for one in users}
    mine = fetch_profile(api)
    administers = mine.system_role == "admin"
    person = None if user is None else mine.id if user.lower() == mine.email else fetch_user(api, user).id
    found = _fetch_entries(api, "/audit", asked, cursor, limit, user=person)
    emails = {one.id: one.email for one in fetch_users(api)} if administers else {mine.id: mine.email}
    return found, emails


def fetch_deployment_audit(
    api: AdminApiClient, asked: AuditFilter, cursor: str | None, limit: int
) -> tuple[AuditPage, dict[UUID, str]]:
    """The same of what belongs to no tenant, for whoever operates the deployment."""
    return _fetch_entries(api, "/deployment/audit", asked, cursor, limit), {}


def _fetch_entries(
    api: AdminApiClient, path: str, asked: AuditFilter, cursor: str | None, limit: int, **whose: UUID | None
) -> AuditPage:
    items: list[AuditEntry] = []
    while True:
        page = _fetch_page(api, path, asked, cursor, min(limit - len(items), PAGE_SIZE), **whose)
        items += page.items
        cursor = page.next_cursor
        if cursor is None or len(items) >= limit:
            return AuditPage(tuple(items), cursor)


def _fetch_page(
    api: AdminApiClient, path: str, asked: AuditFilter, cursor: str | None, limit: int, **whose: UUID | None
) -> AuditPage:
    found = api.get(
        path,
        _AuditPage,
        since=None if asked.since is None else asked.since.isoformat(),
        until=None if asked.until is None else asked.until.isoformat(),
        kind=asked.kind,
        module=asked.module,
        tool=asked.tool,
        outcome=asked.outcome,
        limit=limit,
        cursor=cursor,
        **whose,
    )
    return AuditPage(tuple(map(_to_audit_item, found.items)), found.next_cursor)


def _to_audit_item(one: _AuditItem) -> AuditEntry:
    return AuditEntry(
        seq=one.seq,
        at=one.occurred_at,
        kind=one.kind,
        user_id=one.user_id,
        credential_id=one.credential_id,
        client=one.client,
        request_id=one.request_id,
        module=one.module,
        tool=one.tool,
        outcome=one.outcome,
        duration_us=one.duration_us,
        digest=bytes.fromhex(one.arguments_digest),
        arguments=None if one.arguments is None else one.arguments.encode(),
        detail=one.detail,
        actor=one.actor,
    )
