"""``/audit``: what happened. Administrators read everything of their tenant, other people what they did themselves.
``/deployment/audit``: what belongs to no tenant, for the operator.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query

from admin_ui.api.admin_dependencies import ConsoleDatabase
from core.api.app import create_router
from core.api.dependencies import CurrentUserRead, OperatorRead, resolve_owner
from core.api.pagination import Cursor, PageLimit
from core.api.principal import Principal
from core.api.schemas import PageOf, RequestModel, ResponseModel, ShortText, UtcDatetime
from core.audit import query
from core.audit.event import DEPLOYMENT_CHAIN
from core.db import Database
from core.scopes import ADMIN_READ

routes = create_router("audit")


class AuditQuery(RequestModel):
    """`since` is included, `until` is not. `kind` is a kind, the part before its dot, or `call`."""

    since: UtcDatetime | None = None
    until: UtcDatetime | None = None
    kind: ShortText | None = None
    module: ShortText | None = None
    tool: ShortText | None = None
    outcome: ShortText | None = None
    request_id: ShortText | None = None
    limit: PageLimit = 50
    cursor: Cursor = None


class TenantAuditQuery(AuditQuery):
    """`user` is who did it."""

    user: UUID | None = None


class AuditItemView(ResponseModel):
    """One thing that happened; a call's intent and outcome are one. `arguments` is JSON, where the tenant keeps it."""

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


@routes.get("/audit")
async def list_audit(
    wanted: Annotated[TenantAuditQuery, Query()], caller: CurrentUserRead, console: ConsoleDatabase
) -> PageOf[AuditItemView]:
    """The audit log, newest first. What happened shows within seconds."""
    return await _fetch_page(console, caller.tenant_id, wanted, _resolve_user(caller, wanted.user))


@routes.get("/deployment/audit")
async def list_deployment_audit(
    wanted: Annotated[AuditQuery, Query()], caller: OperatorRead, console: ConsoleDatabase
) -> PageOf[AuditItemView]:
    """What belongs to no tenant, newest first: keys, removed tenants, credentials and sign-ins that are nobody's."""
    return await _fetch_page(console, DEPLOYMENT_CHAIN, wanted, None)


async def _fetch_page(console: Database, chain: UUID, wanted: AuditQuery, user: UUID | None) -> PageOf[AuditItemView]:
    chosen = query.AuditFilter(
        since=wanted.since,
        until=wanted.until,
        user=user,
        kind=wanted.kind,
        module=wanted.module,
        tool=wanted.tool,
        outcome=wanted.outcome,
        request_id=wanted.request_id,
    )
    page = await query.fetch_audit_page(console, chain, chosen, wanted.cursor, wanted.limit)
    return PageOf(items=[_build_view(item) for item in page.items], next_cursor=page.next_cursor)


def _resolve_user(caller: Principal, user: UUID | None) -> UUID | None:
    """None is everybody."""
    return (
        None if user is None and caller.is_administrator_with(ADMIN_READ) else resolve_owner(caller, user, ADMIN_READ)
    )


def _build_view(item: query.AuditEntry) -> AuditItemView:
    kept = None if item.arguments is None else item.arguments.decode("utf-8", "replace")
    return AuditItemView(
        seq=item.seq,
        occurred_at=item.at,
        kind=item.kind,
        user_id=item.user_id,
        actor=item.actor,
        credential_id=item.credential_id,
        client=item.client,
        request_id=item.request_id,
        module=item.module,
        tool=item.tool,
        outcome=item.outcome,
        duration_us=item.duration_us,
        arguments_digest=item.digest.hex(),
        arguments=kept,
        detail=dict(item.detail),
    )
