"""Tenants: the companies that share one deployment."""

import re
from dataclasses import dataclass
from uuid import UUID

from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor, audit_change, audit_deployment_change
from core.directory.versions import lock_version, record_change
from core.errors import Invalid, NotFound

_STATUS = {"active": AuditEventKind.TENANT_RESUMED, "suspended": AuditEventKind.TENANT_SUSPENDED}
MAX_TOKEN_DAYS = 3650
SLUG_PATTERN = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Tenant:
    """A company. `slug` is its short name at the command line; `record_arguments` keeps arguments in the audit log.

    `max_token_lifetime_days` is how long new API tokens may live; None is no limit. `shows_hidden_tools`: the console
    tells people the names of tools that they may not use (models never learn them); `accepts_access_requests`: they may
    ask for those.
    """

    id: UUID
    slug: str
    name: str
    status: str
    record_arguments: bool
    max_token_lifetime_days: int | None = None
    shows_hidden_tools: bool = True
    accepts_access_requests: bool = True


def validate_tenant(slug: str, name: str) -> None:
    """Check the form of a tenant's slug and name.

    Raises:
        Invalid: one of them is wrong; the text says which.
    """
    if not SLUG_PATTERN.fullmatch(slug):
        raise Invalid("a tenant's slug has 1 to 63 of a-z, 0-9 and -, and no - at its ends")
    if not 1 <= len(name) <= 200:
        raise Invalid("a tenant's name has 1 to 200 characters")


async def list_tenants(console: Database) -> list[Tenant]:
    """List all tenants of the deployment, by slug."""
    rows = await console.lookup("deployment", "list", _COLUMNS)
    return [Tenant(*row.values()) for row in rows]


async def find_tenant(console: Database, slug: str) -> Tenant:
    """Find the tenant of that slug.

    Raises:
        NotFound: there is none.
    """
    rows = await console.lookup("lookup_slug", slug, _COLUMNS)
    if not rows:
        raise NotFound(f"there is no tenant {slug!r}; `mcpist tenant list` shows them")
    return Tenant(*rows[0].values())


async def get_tenant(console: Database, tenant_id: UUID) -> Tenant:
    """Return the tenant of that id.

    Raises:
        NotFound: there is none.
    """
    async with console.tenant(tenant_id) as work:
        return await _fetch_tenant(work)


async def change_tenant(
    console: Database,
    actor: Actor,
    tenant_id: UUID,
    *,
    name: str,
    record_arguments: bool,
    max_token_lifetime_days: int | None,
    shows_hidden_tools: bool | None = None,
    accepts_access_requests: bool | None = None,
    expected_version: int | None = None,
) -> Tenant:
    """Set these, where None keeps one of the last two; the tenant as it is now. A shorter life of API tokens holds for
    those made from now on.

    Raises:
        NotFound: there is none of that id.
        Invalid: a value has the wrong form.
        VersionConflict: the tenant's version is not the expected one.
    """
    if max_token_lifetime_days is not None and not 1 <= max_token_lifetime_days <= MAX_TOKEN_DAYS:
        raise Invalid(f"API tokens may live for at most 1 to {MAX_TOKEN_DAYS} days")
    async with console.tenant(tenant_id) as work:
        await _fetch_tenant(work)
        await lock_version(work, "tenant", str(tenant_id), expected_version)
        before = await _fetch_tenant(work)
        validate_tenant(before.slug, name)
        requested = {
            "name": name,
            "record_arguments": record_arguments,
            "max_token_lifetime_days": max_token_lifetime_days,
            "shows_hidden_tools": before.shows_hidden_tools if shows_hidden_tools is None else shows_hidden_tools,
            "accepts_access_requests": (
                before.accepts_access_requests if accepts_access_requests is None else accepts_access_requests
            ),
        }
        detail = {
            field: _to_audit_detail(value) for field, value in requested.items() if getattr(before, field) != value
        }
        if detail:
            await record_change(work, actor, "tenant", str(tenant_id))
            await work.execute(_CHANGE, *requested.values())
            await audit_change(work, actor, AuditEventKind.TENANT_CHANGED, **detail)
            if name != before.name:
                await audit_deployment_change(work, actor, AuditEventKind.TENANT_CHANGED, tenant=str(tenant_id))
        return await _fetch_tenant(work)


def _to_audit_detail(value: str | bool | int | None) -> str | int:
    return value if isinstance(value, str) else int(value or 0)


async def _fetch_tenant(work: UnitOfWork) -> Tenant:
    row = await work.fetchrow(_GET)
    if row is None:
        raise NotFound("there is no tenant of this id")
    return Tenant(*row.values())


async def set_status(
    console: Database, actor: Actor, tenant_id: UUID, status: str, *, expected_version: int | None = None
) -> None:
    """Suspend a tenant, whose people lose all access within a second, or let them in again.

    Raises:
        VersionConflict: the tenant's version is not the expected one.
    """
    if status not in _STATUS:
        raise Invalid("a tenant's status is active or suspended")
    async with console.tenant(tenant_id) as work:
        await lock_version(work, "tenant", str(tenant_id), expected_version)
        await record_change(work, actor, "tenant", str(tenant_id))
        await work.execute("UPDATE core.tenants SET status = $2 WHERE tenant_id = $1", status)
        await audit_change(work, actor, _STATUS[status])
        await audit_deployment_change(work, actor, _STATUS[status], tenant=str(tenant_id))


TENANT_FIELDS = """SELECT tenant_id, slug, name, status, record_arguments, longest_token_days, shows_hidden_tools,
    accepts_access_requests FROM core.tenants """
_COLUMNS = TENANT_FIELDS + "ORDER BY slug"
_GET = TENANT_FIELDS + "WHERE tenant_id = $1"
_CHANGE = """UPDATE core.tenants SET name = $2, record_arguments = $3, longest_token_days = $4, shows_hidden_tools = $5,
    accepts_access_requests = $6 WHERE tenant_id = $1"""
