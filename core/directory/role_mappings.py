"""Roles by groups and e-mail domains of an identity provider.

A role that somebody has remembers where it comes from: by hand, from a sign-in, or from provisioning (SCIM). What one
of these takes away stays as long as another gives it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.email_address import normalize_domain
from core.errors import Conflict, Invalid, NotFound

MAX_MAPPINGS = 1_000
MAX_GROUP_LENGTH = 200
SCIM_PROVIDER = "scim"
"""In the place of an identity provider's name: groups that are provisioned."""

MappingKind = Literal["group", "domain"]
MappingSource = Literal["sign_in", "scim"]


@dataclass(frozen=True, slots=True)
class RoleMapping:
    """Whoever is in the group `value` of an identity provider, or has an address of the domain `value`, has a role.
    `provider` is empty for a domain."""

    id: UUID
    kind: MappingKind
    provider: str
    value: str
    role_id: UUID
    role: str
    created_at: datetime


async def list_role_mappings(console: Database, tenant_id: UUID) -> list[RoleMapping]:
    """List the tenant's mappings, the oldest first; there are 1,000 at most."""
    async with console.tenant(tenant_id) as work:
        return [_to_mapping(row) for row in await work.fetch(_LIST, MAX_MAPPINGS)]


async def add_role_mapping(
    console: Database, actor: Actor, tenant_id: UUID, kind: MappingKind, provider: str, value: str, role_id: UUID
) -> tuple[RoleMapping, bool]:
    """Add a mapping; it, and whether it is new. It counts from each person's next sign-in or provisioning on.

    Raises:
        Invalid: the group or the domain has the wrong form.
        NotFound: the tenant has no such role.
        Conflict: there are 1,000 already.
    """
    if kind == "domain":
        provider, value = "", normalize_domain(value.removeprefix("@"))
    elif not provider:
        raise Invalid("provider is missing: the id of the identity provider whose group it is, or scim")
    if not 1 <= len(value) <= MAX_GROUP_LENGTH or not value.isprintable() or value != value.strip():
        raise Invalid(f"value: give a name of 1 to {MAX_GROUP_LENGTH} characters without blanks around it")
    async with console.tenant(tenant_id) as work:
        await work.execute(_LOCK)
        role = await work.fetchval("SELECT name FROM core.roles WHERE tenant_id = $1 AND id = $2", role_id)
        if role is None:
            raise NotFound("there is no role of this id")
        if await work.fetchval("SELECT count(*) FROM core.role_mappings WHERE tenant_id = $1") >= MAX_MAPPINGS:
            raise Conflict(f"there are {MAX_MAPPINGS} mappings already: remove one that is no longer used")
        is_new = bool(await work.execute(_ADD, kind, provider, value, role_id))
        if is_new:
            detail = {"mapping": kind, "provider": provider, "value": value, "role": str(role)}
            await audit_change(work, actor, AuditEventKind.ROLE_MAPPING_ADDED, **detail)
            if provider == SCIM_PROVIDER:
                await refresh_provisioned_roles(work, actor, await _list_members(work, value))
        row = await work.fetchrow(_FIND, kind, provider, value, role_id)
        assert row is not None, "it was added in this transaction, or is locked by it"
        return _to_mapping(row), is_new


async def remove_role_mapping(console: Database, actor: Actor, tenant_id: UUID, mapping_id: UUID) -> None:
    """Remove a mapping. Who has its role from it loses the role at their next sign-in or provisioning.

    Raises:
        NotFound: the tenant has no such mapping.
    """
    async with console.tenant(tenant_id) as work:
        row = await work.fetchrow(_REMOVE, mapping_id)
        if row is None:
            raise NotFound("there is no role mapping of this id")
        detail = {"mapping": row["kind"], "provider": row["provider"], "value": row["value"], "role": row["role"]}
        await audit_change(work, actor, AuditEventKind.ROLE_MAPPING_REMOVED, **detail)
        if row["provider"] == SCIM_PROVIDER:
            await refresh_provisioned_roles(work, actor, await _list_members(work, row["value"]))


async def apply_sign_in_mappings(
    work: UnitOfWork, actor: Actor, user_id: UUID, provider: str, email: str, groups: Sequence[str] | None
) -> None:
    """Give and take what the mappings say of a sign-in at `provider`. Without `groups`, because the provider does not
    tell them, what groups have given stays; without an `email` so does what domains have given."""
    domain = email.rpartition("@")[2]
    wanted = {row["role_id"] for row in await work.fetch(_MAPPED, domain, provider, list(groups or ()))}
    if groups is None or not domain:
        kinds = (["group"] if groups is None else []) + ([] if domain else ["domain"])
        wanted |= {row["role_id"] for row in await work.fetch(_KEPT, user_id, kinds)}
    await set_sourced_roles(work, actor, user_id, "sign_in", wanted)


async def refresh_provisioned_roles(work: UnitOfWork, actor: Actor, user_ids: Collection[UUID]) -> None:
    """Let exactly the roles of their provisioned groups come from those, for these users."""
    wanted: dict[UUID, set[UUID]] = {user_id: set() for user_id in user_ids}
    for row in await work.fetch(_WANTED_ROLES, list(user_ids), SCIM_PROVIDER):
        wanted[row["user_id"]].add(row["role_id"])
    held: dict[UUID, set[UUID]] = {user_id: set() for user_id in user_ids}
    for row in await work.fetch(_HELD_ROLES, list(user_ids)):
        held[row["user_id"]].add(row["role_id"])
    for user_id, role_ids in wanted.items():
        if role_ids != held[user_id]:
            await set_sourced_roles(work, actor, user_id, "scim", role_ids)


async def _list_members(work: UnitOfWork, group: str) -> list[UUID]:
    return [row["user_id"] for row in await work.fetch(_MEMBERS_OF, group)]


async def set_sourced_roles(
    work: UnitOfWork, actor: Actor, user_id: UUID, source: MappingSource, wanted: Collection[UUID]
) -> None:
    """Let exactly these roles of a user come from `source`; roles from elsewhere stay as they are. What the user gains
    and loses by it is audited."""
    role_ids = sorted(wanted)
    gained = await work.fetch(_GIVE, user_id, role_ids, source)
    await work.execute(_SHARE, user_id, role_ids, source)
    await work.execute(_UNSHARE, user_id, role_ids, source)
    lost = await work.fetch(_TAKE, user_id, role_ids, source)
    if not gained and not lost:
        return
    email = await work.fetchval("SELECT email FROM core.users WHERE tenant_id = $1 AND id = $2", user_id)
    names = {row["id"]: row["name"] for row in await work.fetch(_NAMES)}
    for rows, kind in ((gained, AuditEventKind.ROLE_ASSIGNED), (lost, AuditEventKind.ROLE_UNASSIGNED)):
        for row in rows:
            await audit_change(work, actor, kind, email=email, role=names.get(row["role_id"], ""), by=source)


def _to_mapping(row: Row) -> RoleMapping:
    return RoleMapping(*row.values())


_COLUMNS = """SELECT m.id, m.kind, m.provider, m.value, m.role_id, r.name AS role, m.created_at
    FROM core.role_mappings m JOIN core.roles r ON r.tenant_id = m.tenant_id AND r.id = m.role_id
    WHERE m.tenant_id = $1 """
_LIST = _COLUMNS + "ORDER BY m.created_at, m.id LIMIT $2"
_FIND = _COLUMNS + """AND m.kind = $2 AND m.provider = $3 AND m.value = $4 AND m.role_id = $5"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('core.role_mappings ' || $1::uuid, 0))"
_ADD = """INSERT INTO core.role_mappings (tenant_id, kind, provider, value, role_id) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT DO NOTHING"""
_REMOVE = """DELETE FROM core.role_mappings m USING core.roles r
    WHERE m.tenant_id = $1 AND m.id = $2 AND r.tenant_id = m.tenant_id AND r.id = m.role_id
    RETURNING m.kind, m.provider, m.value, r.name AS role"""
_MAPPED = """SELECT DISTINCT role_id FROM core.role_mappings WHERE tenant_id = $1
    AND (kind = 'domain' AND value = $2 OR kind = 'group' AND provider = $3 AND value = ANY ($4::text[]))"""
_KEPT = """SELECT DISTINCT a.role_id FROM core.role_assignments a
    JOIN core.role_mappings m ON m.tenant_id = a.tenant_id AND m.role_id = a.role_id
    WHERE a.tenant_id = $1 AND a.user_id = $2 AND 'sign_in' = ANY (a.sources) AND m.kind = ANY ($3::text[])"""
_GIVE = """INSERT INTO core.role_assignments (tenant_id, user_id, role_id, sources)
    SELECT $1, $2, role_id, ARRAY[$4::text] FROM unnest($3::uuid[]) AS wanted (role_id)
    ON CONFLICT DO NOTHING RETURNING role_id"""
_SHARE = """UPDATE core.role_assignments SET sources = array_append(sources, $4::text)
    WHERE tenant_id = $1 AND user_id = $2 AND role_id = ANY ($3::uuid[]) AND NOT $4 = ANY (sources)"""
_UNSHARE = """UPDATE core.role_assignments SET sources = array_remove(sources, $4::text)
    WHERE tenant_id = $1 AND user_id = $2 AND NOT role_id = ANY ($3::uuid[]) AND $4 = ANY (sources)
    AND cardinality(sources) > 1"""
_TAKE = """DELETE FROM core.role_assignments
    WHERE tenant_id = $1 AND user_id = $2 AND NOT role_id = ANY ($3::uuid[]) AND sources = ARRAY[$4::text]
    RETURNING role_id"""
_MEMBERS_OF = """SELECT m.user_id FROM core.scim_members m
    JOIN core.scim_groups g ON g.tenant_id = m.tenant_id AND g.id = m.group_id
    WHERE m.tenant_id = $1 AND g.display_name = $2"""
_WANTED_ROLES = """SELECT DISTINCT m.user_id, r.role_id FROM core.scim_members m
    JOIN core.scim_groups g ON g.tenant_id = m.tenant_id AND g.id = m.group_id
    JOIN core.role_mappings r ON r.tenant_id = m.tenant_id AND r.kind = 'group' AND r.provider = $3
        AND r.value = g.display_name
    WHERE m.tenant_id = $1 AND m.user_id = ANY ($2::uuid[])"""
_HELD_ROLES = """SELECT user_id, role_id FROM core.role_assignments
    WHERE tenant_id = $1 AND user_id = ANY ($2::uuid[]) AND 'scim' = ANY (sources)"""
_NAMES = "SELECT id, name FROM core.roles WHERE tenant_id = $1"
