"""``/audit``: what happened. Administrators read everything of their tenant, other people what they did themselves.
``/deployment/audit``: what belongs to no tenant, for the operator.
"""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query, Request
from pydantic import ConfigDict, Field, StringConstraints
from starlette.responses import Response

from admin_ui.api.admin_dependencies import AdminDeps, ConsoleDatabase
from admin_ui.api.audit_export import (
    EXPORT_MEDIA_TYPES,
    EXPORT_RESPONSES,
    ExportForm,
    build_export_headers,
    encode_export,
)
from admin_ui.api.tool_catalogue import is_tool_installed
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, OperatorRead, OwnerRead, resolve_owner
from core.api.pagination import Cursor, PageLimit
from core.api.principal import Principal
from core.api.schemas import PageOf, RequestModel, ResponseModel, ShortText, UtcDatetime
from core.api.security import get_security
from core.api.streaming import SteadyStreamResponse
from core.audit import query
from core.audit.event import DEPLOYMENT_CHAIN, AuditEventKind, CallOutcome
from core.audit.query import ChainAnchor
from core.audit.sealer import seal_pending_events
from core.db import Database
from core.directory.audit_trail import audit_change
from core.errors import Invalid
from core.scopes import ADMIN_READ

routes = create_router("audit")

AuditSort = Literal["occurred_at", "-occurred_at"]
Denial = Literal["", "hidden_tool", "unknown_tool", "tool", "scope"]
IsInstalled = Callable[[str, str], bool]
"""Check whether a module has this tool, or any where the tool's name is empty."""
EXPORT_SEARCH_SECONDS = 1.0
"""For each page; nobody waits for the first one, and each begins a transaction."""
MAX_VERIFIED_EVENTS = 50_000
"""A request: some seconds."""


class AuditFilters(RequestModel):
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


class AuditQuery(AuditFilters):
    """Filters of the audit log, and a page of it."""

    sort: AuditSort = Field(
        default="-occurred_at", description="Field to order by; with `-` the other way round, newest first."
    )
    limit: PageLimit = 50
    cursor: Cursor = None


class TenantAuditQuery(AuditQuery):
    """Filters of the audit log of a tenant."""

    user: UUID | None = Field(default=None, description="Identifier of the acting user.")


class AuditExportQuery(AuditFilters):
    """Filters of an export of the audit log."""

    user: UUID | None = Field(default=None, description="Identifier of the acting user.")
    form: ExportForm = Field(default="csv", description="Form of the export: `csv` or `jsonl` (JSON Lines).")


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
    denial: Denial = Field(
        description="Kind of a denial: `hidden_tool` for a tool that exists and not for the caller (the signal of an "
        "attack), `unknown_tool` for a made-up name, `tool` for either where an administrator alone may know, `scope` "
        "for a credential that lacks one; empty for what was not denied."
    )


class AuditPageView(PageOf[AuditItemView]):
    """One page of the audit log."""

    model_config = ConfigDict(json_schema_extra={"description": "One page of the audit log."})

    searched_back_to: datetime | None = Field(
        description="Time back to which the log was searched, or up to which with the oldest first, where the search "
        "has ended before the page was full: `next_cursor` goes on from there, and there may be no items yet. Null "
        "otherwise."
    )


class VerificationRequest(RequestModel):
    """Position from which a verification goes on; without one it begins at the first event that is kept."""

    seq: int | None = Field(default=None, ge=1, lt=2**63, description="Sequence number of the last verified event.")
    hash: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")] | None = Field(
        default=None, description="Hash of the last verified event, in hexadecimal."
    )

    @property
    def is_whole(self) -> bool:
        """Check whether both parts of the position are there, or neither."""
        return (self.seq is None) == (self.hash is None)


class ChainPositionView(ResponseModel):
    """An event of the chain."""

    seq: int = Field(description="Sequence number of the event.")
    hash: str = Field(description="Hash of the event, in hexadecimal.")


class VerificationView(ResponseModel):
    """Result of a verification of the audit log's chain."""

    ok: bool = Field(description="True if no problem was found so far.")
    complete: bool = Field(description="False if events are left: send `position` to go on.")
    checked: int = Field(description="Number of events that were checked.")
    first_bad: int | None = Field(description="Sequence number of the first wrong event; null if there is none.")
    problem: str = Field(description="Explanation of the problem; empty if there is none.")
    position: ChainPositionView | None = Field(description="Last verified event; null for an empty log or a problem.")
    head: ChainPositionView | None = Field(description="Newest event of the log; null for an empty log.")


@routes.get("/audit")
async def list_audit(
    filters: Annotated[TenantAuditQuery, Query()], caller: OwnerRead, dependencies: AdminDeps, request: Request
) -> AuditPageView:
    """List the audit log of the tenant.

    Newest first, unless `sort` says otherwise. Administrators read everything of their tenant, users their own actions.
    Entries appear within seconds. A search for what is rare by `user`, `outcome` or `module` alone ends after about
    0.1 s and says how far it has looked: go on by `next_cursor`.
    """
    console, user = dependencies.console, _resolve_user(caller, filters.user)
    await _seal_for_operator(caller, console, request)
    is_installed = partial(is_tool_installed, dependencies.catalogue)
    known = is_installed if caller.is_administrator_with(ADMIN_READ) else None
    return await _fetch_page(console, caller.tenant_id, filters, user, known)


@routes.get("/audit/export", response_class=Response, responses=EXPORT_RESPONSES)
async def export_audit(
    filters: Annotated[AuditExportQuery, Query()], caller: AdminRead, dependencies: AdminDeps, request: Request
) -> Response:
    """Export the audit log of the tenant.

    As CSV or JSON Lines, newest first, streamed. The export is recorded in the log itself.
    """
    console = dependencies.console
    await _seal_for_operator(caller, console, request)
    async with console.tenant(caller.tenant_id) as work:
        await audit_change(work, caller.actor, AuditEventKind.AUDIT_EXPORTED, form=filters.form)
    is_installed, exports = partial(is_tool_installed, dependencies.catalogue), dependencies.audit_exports
    exports.admit(caller.user_id)

    async def fetch_views() -> AsyncIterator[list[AuditItemView]]:
        cursor: str | None = None
        while True:
            page = await query.fetch_audit_page(
                console,
                caller.tenant_id,
                _build_filter(filters, filters.user),
                cursor,
                query.MAX_ITEMS,
                search_seconds=EXPORT_SEARCH_SECONDS,
            )
            yield [_build_view(item, is_installed) for item in page.items]
            if (cursor := page.next_cursor) is None:
                return

    chunks = exports.count(caller.user_id, encode_export(fetch_views(), [*AuditItemView.model_fields], filters.form))
    return SteadyStreamResponse(chunks, EXPORT_MEDIA_TYPES[filters.form], build_export_headers(filters.form))


@routes.post("/audit/verification")
async def verify_audit(body: VerificationRequest, caller: AdminWrite, dependencies: AdminDeps) -> VerificationView:
    """Verify the chain of the tenant's audit log.

    Checks up to 50,000 events, and answers where to go on. What the product says of its own log is a sign and no
    proof: `mcpist audit verify` compares with anchors that are kept elsewhere.
    """
    if not body.is_whole:
        raise Invalid("send both seq and hash of the last position, or neither")
    start = None if body.seq is None else ChainAnchor(caller.tenant_id, body.seq, bytes.fromhex(body.hash or ""))
    async with dependencies.verification_turn:
        found = await query.verify_chain(
            dependencies.console, caller.tenant_id, start=start, max_events=MAX_VERIFIED_EVENTS
        )
    return VerificationView(
        ok=found.ok,
        complete=found.complete,
        checked=found.checked,
        first_bad=found.first_bad,
        problem=found.problem,
        position=_build_position(found.position),
        head=_build_position(found.head),
    )


def _build_position(anchor: ChainAnchor | None) -> ChainPositionView | None:
    return None if anchor is None else ChainPositionView(seq=anchor.seq, hash=anchor.hash.hex())


@routes.get("/deployment/audit")
async def list_deployment_audit(
    filters: Annotated[AuditQuery, Query()], caller: OperatorRead, console: ConsoleDatabase, request: Request
) -> AuditPageView:
    """List the audit log of the deployment.

    Newest first, unless `sort` says otherwise: keys, removed tenants, and credentials and sign-ins that belong to no
    tenant.
    """
    await _seal_for_operator(caller, console, request)
    return await _fetch_page(console, DEPLOYMENT_CHAIN, filters, None, lambda _module, _tool: False)


async def _seal_for_operator(caller: Principal, console: Database, request: Request) -> None:
    """Seal what was appended in the last moment, for commands on the product's own machine.

    Offline nothing else does it. Other callers wait for the sealer: they could keep it busy without end.
    """
    if caller.is_operator_credential:
        await seal_pending_events(console, get_security(request).clock)


async def _fetch_page(
    console: Database, chain: UUID, filters: AuditQuery, user: UUID | None, is_installed: IsInstalled | None
) -> AuditPageView:
    page = await query.fetch_audit_page(
        console,
        chain,
        _build_filter(filters, user),
        filters.cursor,
        filters.limit,
        oldest_first=filters.sort == "occurred_at",
    )
    items = [_build_view(item, is_installed) for item in page.items]
    return AuditPageView(items=items, next_cursor=page.next_cursor, searched_back_to=page.searched_until)


def _build_filter(filters: AuditFilters, user: UUID | None) -> query.AuditFilter:
    return query.AuditFilter(
        since=filters.since,
        until=filters.until,
        user=user,
        kind=filters.kind,
        module=filters.module,
        tool=filters.tool,
        outcome=filters.outcome,
        request_id=filters.request_id,
    )


def _find_denial(item: query.AuditEntry, is_installed: IsInstalled | None) -> Denial:
    """Find the kind of a denial. Without `is_installed` the reader must not learn which tools there are."""
    if item.kind == AuditEventKind.DENIED:
        if is_installed is None:
            return "tool"
        return "hidden_tool" if is_installed(item.module, item.tool) else "unknown_tool"
    return "scope" if item.outcome == CallOutcome.DENIED else ""


def _resolve_user(caller: Principal, user: UUID | None) -> UUID | None:
    """Return the id of the user to filter by; None for all users."""
    return (
        None if user is None and caller.is_administrator_with(ADMIN_READ) else resolve_owner(caller, user, ADMIN_READ)
    )


def _build_view(item: query.AuditEntry, is_installed: IsInstalled | None) -> AuditItemView:
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
        denial=_find_denial(item, is_installed),
    )
