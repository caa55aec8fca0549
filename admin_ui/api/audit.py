"""``/audit``: what happened. Administrators read everything of their tenant, other people what they did themselves.
``/deployment/audit``: what belongs to no tenant, for the operator.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query

from admin_ui.api.parts import Console
from core.api.app import router
from core.api.callers import Person, ReadingOperator, whose
from core.api.paging import Cursor, Most
from core.api.principal import Principal
from core.api.shapes import Asked, PageOf, Time, Told, Word
from core.audit import query
from core.audit.event import DEPLOYMENT
from core.db import Database
from core.scopes import ADMIN_READ

routes = router("audit")


class Wished(Asked):
    """`since` is included, `until` is not. `kind` is a kind, the part before its dot, or `call`."""

    since: Time | None = None
    until: Time | None = None
    kind: Word | None = None
    module: Word | None = None
    tool: Word | None = None
    outcome: Word | None = None
    request_id: Word | None = None
    limit: Most = 50
    cursor: Cursor = None


class Wanted(Wished):
    """`user` is who did it."""

    user: UUID | None = None


class AuditItem(Told):
    """One thing that happened; a call's intent and outcome are one. `arguments` is JSON, where the tenant keeps it."""

    seq: int
    at: datetime
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
    digest: str
    arguments: str | None
    detail: dict[str, str | int]


@routes.get("/audit")
async def list_audit(wanted: Annotated[Wanted, Query()], caller: Person, console: Console) -> PageOf[AuditItem]:
    """The audit log, newest first. What happened shows within seconds."""
    return await _page(console, caller.tenant_id, wanted, _whose(caller, wanted.user))


@routes.get("/deployment/audit")
async def list_deployment_audit(
    wanted: Annotated[Wished, Query()], caller: ReadingOperator, console: Console
) -> PageOf[AuditItem]:
    """What belongs to no tenant, newest first: keys, removed tenants, credentials and sign-ins that are nobody's."""
    return await _page(console, DEPLOYMENT, wanted, None)


async def _page(console: Database, chain: UUID, wanted: Wished, user: UUID | None) -> PageOf[AuditItem]:
    chosen = query.Filter(
        since=wanted.since,
        until=wanted.until,
        user=user,
        kind=wanted.kind,
        module=wanted.module,
        tool=wanted.tool,
        outcome=wanted.outcome,
        request_id=wanted.request_id,
    )
    page = await query.page(console, chain, chosen, wanted.cursor, wanted.limit)
    return PageOf(items=[_shown(item) for item in page.items], next_cursor=page.next_cursor)


def _whose(caller: Principal, user: UUID | None) -> UUID | None:
    """None is everybody."""
    return None if user is None and caller.administers(ADMIN_READ) else whose(caller, user, ADMIN_READ)


def _shown(item: query.Item) -> AuditItem:
    kept = None if item.arguments is None else item.arguments.decode("utf-8", "replace")
    same = {name: getattr(item, name) for name in AuditItem.model_fields if name not in ("digest", "arguments")}
    return AuditItem(**same, digest=item.digest.hex(), arguments=kept)
