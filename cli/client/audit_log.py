"""The audit log at a server: one page of it, as the person may see it."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import BinaryIO
from uuid import UUID

import msgspec

from cli.client.admin_api import PAGE_SIZE, AdminApiClient
from cli.client.me import fetch_profile
from cli.client.users import fetch_user, fetch_users
from core.audit.query import AuditEntry, AuditFilter, AuditPage, ChainAnchor, ChainVerification


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


class _ChainPosition(msgspec.Struct):
    seq: int
    hash: str


class _VerificationView(msgspec.Struct):
    ok: bool
    complete: bool
    checked: int
    first_bad: int | None
    problem: str
    position: _ChainPosition | None
    head: _ChainPosition | None


class _AuditPage(msgspec.Struct):
    items: tuple[_AuditItem, ...]
    next_cursor: str | None
    searched_back_to: datetime | None = None
    """Not said by a server of an earlier version."""


@dataclass(frozen=True, slots=True)
class AuditRange:
    """Which of the entries that a filter leaves: at most `limit` from a cursor on, in an order."""

    cursor: str | None
    limit: int
    oldest_first: bool = False


def fetch_tenant_audit(
    api: AdminApiClient, filter: AuditFilter, user: str | None, range: AuditRange
) -> tuple[AuditPage, dict[UUID, str]]:
    """Return the entries of a range, and the addresses of their users."""
    if api.is_operator:
        users = fetch_users(api)
        user_id = None if user is None else fetch_user(api, user).id
        return _fetch_entries(api, "/audit", filter, range, user=user_id), {entry.id: entry.email for entry in users}
    profile = fetch_profile(api)
    administers = profile.system_role == "admin"
    user_id = None if user is None else profile.id if user.lower() == profile.email else fetch_user(api, user).id
    page = _fetch_entries(api, "/audit", filter, range, user=user_id)
    emails = {entry.id: entry.email for entry in fetch_users(api)} if administers else {profile.id: profile.email}
    return page, emails


def fetch_deployment_audit(
    api: AdminApiClient, filter: AuditFilter, range: AuditRange
) -> tuple[AuditPage, dict[UUID, str]]:
    """Return the entries that belong to no tenant, for the operator."""
    return _fetch_entries(api, "/deployment/audit", filter, range), {}


def download_audit(api: AdminApiClient, filter: AuditFilter, user: str | None, form: str, file: BinaryIO) -> None:
    """Write a tenant's entries to a file, as `csv` or `jsonl`, newest first."""
    user_id = None if user is None else fetch_user(api, user).id
    api.download("/audit/export", file, **_build_query(filter), user=user_id, form=form)


def verify_audit(api: AdminApiClient) -> ChainVerification:
    """Verify the chain of a tenant's log from the first event that is kept to the newest, in as many requests as that
    takes."""
    position: dict[str, str | int] | None = None
    checked = 0
    while True:
        found = msgspec.convert(api.change("POST", "/audit/verification", position or {}).json(), _VerificationView)
        checked += found.checked
        if found.complete or found.position is None:
            tenant_id = fetch_profile(api).tenant.id
            head = found.head and ChainAnchor(tenant_id, found.head.seq, bytes.fromhex(found.head.hash))
            return ChainVerification(tenant_id, checked, head, found.first_bad, found.problem)
        position = {"seq": found.position.seq, "hash": found.position.hash}


def _fetch_entries(
    api: AdminApiClient, path: str, filter: AuditFilter, range: AuditRange, **owner: UUID | None
) -> AuditPage:
    items: list[AuditEntry] = []
    left = range
    while True:
        page = _fetch_page(api, path, filter, left, **owner)
        items += page.items
        if page.next_cursor is None or len(items) >= range.limit:
            return AuditPage(tuple(items), page.next_cursor)
        left = replace(range, cursor=page.next_cursor, limit=range.limit - len(items))


def _fetch_page(
    api: AdminApiClient, path: str, filter: AuditFilter, range: AuditRange, **owner: UUID | None
) -> AuditPage:
    # Not sent where it is not needed: a server of an earlier version refuses what it does not know.
    sort = "occurred_at" if range.oldest_first else None
    limit = min(range.limit, PAGE_SIZE)
    page = api.get(path, _AuditPage, **_build_query(filter), sort=sort, limit=limit, cursor=range.cursor, **owner)
    return AuditPage(tuple(map(_to_audit_item, page.items)), page.next_cursor)


def _build_query(filter: AuditFilter) -> dict[str, str | None]:
    return {
        "since": None if filter.since is None else filter.since.isoformat(),
        "until": None if filter.until is None else filter.until.isoformat(),
        "kind": filter.kind,
        "module": filter.module,
        "tool": filter.tool,
        "outcome": filter.outcome,
    }


def _to_audit_item(item: _AuditItem) -> AuditEntry:
    return AuditEntry(
        seq=item.seq,
        at=item.occurred_at,
        kind=item.kind,
        user_id=item.user_id,
        credential_id=item.credential_id,
        client=item.client,
        request_id=item.request_id,
        module=item.module,
        tool=item.tool,
        outcome=item.outcome,
        duration_us=item.duration_us,
        digest=bytes.fromhex(item.arguments_digest),
        arguments=None if item.arguments is None else item.arguments.encode(),
        detail=item.detail,
        actor=item.actor,
    )
