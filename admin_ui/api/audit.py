"""``/audit``: what happened. Administrators read everything of their tenant, other people what they did themselves.
``/deployment/audit``: what belongs to no tenant, for the operator.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request
from pydantic import Field

from admin_ui.api.admin_dependencies import ConsoleDatabase
from core.api.app import create_router
from core.api.dependencies import OperatorRead, OwnerRead, resolve_owner
from core.api.pagination import Cursor, PageLimit
from core.api.principal import Principal
from core.api.schemas import PageOf, RequestModel, ResponseModel, ShortText, UtcDatetime
from core.api.security import get_security
from core.audit import query
from core.audit.event import DEPLOYMENT_CHAIN
from core.audit.sealer import seal_pending_events
from core.db import Database
from core.scopes import ADMIN_READ

routes = create_router("audit")


class AuditQuery(RequestModel):
    """Filters of the audit log."""

    since: UtcDatetime | None = Field(default=None, description="Earliest time, inclusive.")
    until: UtcDatetime | None = Field(default=None, description="Latest time, exclusive.")
    kind: ShortText | None = Field(
        default=None, description="Kind of event, the part of a kind before its dot, or `call`."
    )
    module: ShortText | None = Field(default=None, description="Name of the module.")
    tool: ShortText | None = Field(default=None, description="Name of the tool.")
    outcome: ShortText | None = Field(default=None, description="Outcome, such as `ok` or `error`.")
    request_id: ShortText | None = Field(default=None, description="Identifier of the request.")
    limit: PageLimit = 50
    cursor: Cursor = None


class TenantAuditQuery(AuditQuery):
    """Filters of the audit log of a tenant."""

    user: UUID | None = Field(default=None, description="Identifier of the acting user.")


class AuditItemView(ResponseModel):
    """An entry of the audit log. The intent and the outcome of a tool call are one entry."""

    seq: int = Field(description="Sequence number of the entry in its chain.")
    occurred_at: datetime = Field(description="Time of the event.")
    kind: str = Field(description="Kind of the event, such as `token.created`.")
    user_id: UUID | None = Field(description="Identifier of the acting user; null for the system.")
    actor: str = Field(description="Name of the actor: an e-mail address, or a part of the system.")
    credential_id: str = Field(description="Identifier of the credential used; empty if there was none.")
    client: str = Field(description="OAuth client, or other client of the request; empty if unknown.")
    request_id: str = Field(description="Identifier of the request, as in the log.")
    module: str = Field(description="Module of a tool call; empty otherwise.")
    tool: str = Field(description="Tool of a tool call; empty otherwise.")
    outcome: str = Field(description="Outcome, such as `ok`, `denied` or `error`.")
    duration_us: int | None = Field(description="Duration of a tool call in microseconds; null otherwise.")
    arguments_digest: str = Field(description="Digest of the arguments of a tool call, in hexadecimal.")
    arguments: str | None = Field(description="Arguments of a tool call as JSON; null unless the tenant records them.")
    detail: dict[str, str | int] = Field(description="Further details, by name.")


@routes.get("/audit")
async def list_audit(
    filters: Annotated[TenantAuditQuery, Query()], caller: OwnerRead, console: ConsoleDatabase, request: Request
) -> PageOf[AuditItemView]:
    """List the audit log of the tenant.

    Newest first. Administrators read everything of their tenant, users their own actions. Entries appear within
    seconds.
    """
    await _seal_for_operator(caller, console, request)
    return await _fetch_page(console, caller.tenant_id, filters, _resolve_user(caller, filters.user))


@routes.get("/deployment/audit")
async def list_deployment_audit(
    filters: Annotated[AuditQuery, Query()], caller: OperatorRead, console: ConsoleDatabase, request: Request
) -> PageOf[AuditItemView]:
    """List the audit log of the deployment.

    Newest first: keys, removed tenants, and credentials and sign-ins that belong to no tenant.
    """
    await _seal_for_operator(caller, console, request)
    return await _fetch_page(console, DEPLOYMENT_CHAIN, filters, None)


async def _seal_for_operator(caller: Principal, console: Database, request: Request) -> None:
    """Seal what was appended in the last moment, for commands on the product's own machine.

    Offline nothing else does it. Other callers wait for the sealer: they could keep it busy without end.
    """
    if caller.is_operator_credential:
        await seal_pending_events(console, get_security(request).clock)


async def _fetch_page(console: Database, chain: UUID, filters: AuditQuery, user: UUID | None) -> PageOf[AuditItemView]:
    audit_filter = query.AuditFilter(
        since=filters.since,
        until=filters.until,
        user=user,
        kind=filters.kind,
        module=filters.module,
        tool=filters.tool,
        outcome=filters.outcome,
        request_id=filters.request_id,
    )
    page = await query.fetch_audit_page(console, chain, audit_filter, filters.cursor, filters.limit)
    return PageOf(items=[_build_view(item) for item in page.items], next_cursor=page.next_cursor)


def _resolve_user(caller: Principal, user: UUID | None) -> UUID | None:
    """Return the id of the user to filter by; None for all users."""
    return (
        None if user is None and caller.is_administrator_with(ADMIN_READ) else resolve_owner(caller, user, ADMIN_READ)
    )


def _build_view(item: query.AuditEntry) -> AuditItemView:
    arguments = None if item.arguments is None else item.arguments.decode("utf-8", "replace")
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
        arguments=arguments,
        detail=dict(item.detail),
    )
