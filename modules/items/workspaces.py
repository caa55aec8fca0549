"""Workspaces: found by name, made at the first write, and locked by the first statement of every write.

The database decides which of them a user reads and writes; ``$2``, the user of the transaction, is what it goes by.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from modules.items.errors import build_denied, build_invalid
from modules.kit import CollectionOwner, Store

DEFAULT_WORKSPACE = "default"
MAX_WORKSPACES = 100
"""Of one user, one role, or the tenant."""
_ROLE_PREFIX = "role:"
_TENANT_PREFIX = "tenant/"


class StatusDefinition(NamedTuple):
    """A status of a workspace."""

    name: str
    is_closed: bool


DEFAULT_STATUSES = (
    *(
        StatusDefinition(name, is_closed=False)
        for name in ("Open", "Specification", "Waiting", "Ready", "In Progress", "Review", "Testing", "Pending")
    ),
    *(StatusDefinition(name, is_closed=True) for name in ("Completed", "Closed", "Canceled")),
)

_COLUMNS: LiteralString = """w.tenant_id, pg_postmaster_start_time() AS server_start, w.id, w.number, w.name,
    w.owner, coalesce(r.name, '') AS role, w.generation, w.items, w.member_writes, w.is_indexed,
    w.owner = 'user' OR w.member_writes OR EXISTS (SELECT FROM core.users u
        WHERE u.tenant_id = $1 AND u.id = $2 AND u.system_role = 'admin') AS can_write"""
_FROM: LiteralString = """modules.item_workspaces w
    LEFT JOIN core.roles r ON r.tenant_id = w.tenant_id AND r.id = w.role_id"""
FIND_OWN = """
SELECT w.tenant_id, pg_postmaster_start_time() AS server_start, w.id, w.number, w.name, w.owner, '' AS role,
    w.generation, w.items, w.member_writes, w.is_indexed, true AS can_write
FROM modules.item_workspaces w
WHERE w.tenant_id = $1 AND w.owner = 'user' AND w.user_id = $2 AND w.role_id IS NULL AND w.name = $3
"""
FIND_NAMED: LiteralString = f"""SELECT {_COLUMNS} FROM {_FROM}
WHERE w.tenant_id = $1 AND (w.user_id IS NULL OR w.user_id = $2)
AND (w.id = $3::uuid OR w.name = $4 AND ($5 = '' OR w.owner = $5) AND ($6 = '' OR normalize(r.name) = normalize($6)))
ORDER BY w.owner = 'user' DESC LIMIT 3"""  # noqa: S608 the same
LIST: LiteralString = f"""SELECT {_COLUMNS} FROM {_FROM}
WHERE w.tenant_id = $1 AND (w.user_id IS NULL OR w.user_id = $2)
ORDER BY w.owner = 'user' DESC, w.owner, r.name NULLS FIRST, w.name"""  # noqa: S608 the same
# Where only administrators write, nobody else's search could index anything.
CREATE = """
INSERT INTO modules.item_workspaces (tenant_id, name, owner, user_id, role_id, member_writes, is_indexed)
SELECT $1, $3, $4, CASE $4 WHEN 'user' THEN $2::uuid END, $5::uuid, $6, $4 <> 'user' AND NOT $6
ON CONFLICT DO NOTHING
"""
ADD_STATUSES = """
INSERT INTO modules.item_statuses (tenant_id, workspace_id, name, is_closed, position)
SELECT $1, $3, s.name, s.is_closed, s.nth FROM unnest($4::text[], $5::boolean[]) WITH ORDINALITY
    AS s (name, is_closed, nth) WHERE $2::uuid IS NOT NULL
ON CONFLICT DO NOTHING
"""
LOCK = """
UPDATE modules.item_workspaces SET generation = generation + 1
WHERE tenant_id = $1 AND id = $3 AND (user_id IS NULL OR user_id = $2) RETURNING generation
"""
START_INDEX = """
UPDATE modules.item_workspaces SET is_indexed = true
WHERE tenant_id = $1 AND id = $3 AND (user_id IS NULL OR user_id = $2) AND NOT is_indexed
"""
REMOVE = """
DELETE FROM modules.item_workspaces WHERE tenant_id = $1 AND id = $3 AND (user_id IS NULL OR user_id = $2)
RETURNING items
"""
RENAME = """
UPDATE modules.item_workspaces w SET name = $4
WHERE w.tenant_id = $1 AND w.id = $3 AND (w.user_id = $2 OR w.user_id IS NULL AND EXISTS (
    SELECT FROM core.users u WHERE u.tenant_id = $1 AND u.id = $2 AND u.system_role = 'admin'))
"""
FIND_ROLE = """
SELECT r.id, EXISTS (SELECT FROM core.role_assignments a
    WHERE a.tenant_id = $1 AND a.user_id = $2 AND a.role_id = r.id) AS is_member
FROM core.roles r WHERE r.tenant_id = $1 AND normalize(r.name) = normalize($3)
"""
IS_ADMINISTRATOR = "SELECT FROM core.users WHERE tenant_id = $1 AND id = $2 AND system_role = 'admin'"
COUNT_OWNED = """
SELECT count(*) FROM modules.item_workspaces WHERE tenant_id = $1 AND owner = $3
AND (owner <> 'user' OR user_id = $2) AND role_id IS NOT DISTINCT FROM $4::uuid
"""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace that the caller may read. `number` stands before its tokens, and `generation` goes up with each
    transaction that writes in it; the database server that said so has run since `server_start`. `is_indexed`: what is
    written is indexed for searches by meaning."""

    tenant_id: UUID
    server_start: datetime
    id: UUID
    number: int
    name: str
    owner: CollectionOwner
    role: str
    generation: int
    items: int
    member_writes: bool
    is_indexed: bool
    can_write: bool

    @property
    def full_name(self) -> str:
        """The name by which every tool takes it: ``plans``, ``role:Support/board`` or ``tenant/board``."""
        if self.owner is CollectionOwner.ROLE:
            return f"{_ROLE_PREFIX}{self.role}/{self.name}"
        return f"{_TENANT_PREFIX}{self.name}" if self.owner is CollectionOwner.TENANT else self.name

    @property
    def is_shared(self) -> bool:
        """Check whether others may read it."""
        return self.owner is not CollectionOwner.USER


async def find_workspace(store: Store, named: str | None) -> Workspace | None:
    """Find a workspace by its name or id; the caller's own without one, None where they have none yet.

    Raises:
        DocumentedError: the caller may read no such workspace, or several of this name.
    """
    name = named or DEFAULT_WORKSPACE
    row = None
    if "/" not in name:
        row = await store.fetchrow(FIND_OWN, name)
    if row is not None:
        return _read_workspace(row)
    if name == DEFAULT_WORKSPACE:
        return None
    rows = await store.fetch(FIND_NAMED, *_parse_name(name))
    if len(rows) != 1:
        constraint = "names several workspaces; give the full name" if rows else "is no workspace that you may read"
        raise build_invalid("workspace", name, constraint)
    return _read_workspace(rows[0])


async def require_workspace(store: Store, named: str) -> Workspace:
    """Find a workspace that is named.

    Raises:
        DocumentedError: there is none that the caller may read.
    """
    found = await find_workspace(store, named)
    if found is None:
        raise build_invalid("workspace", named, "is no workspace that you may read")
    return found


async def lock_workspace(store: Store, named: str | None) -> Workspace:
    """Find a workspace to write in, raise its generation, and wait until nobody else writes in it. The caller's own
    default one is created where they have none yet.

    Raises:
        DocumentedError: the caller may read no such workspace, or not change it.
    """
    found = await find_workspace(store, named)
    if found is None:
        found = await create_workspace(store, DEFAULT_WORKSPACE)
    if not found.can_write or await store.fetchval(LOCK, found.id) is None:
        raise build_denied(found.full_name)
    return found


async def create_workspace(
    store: Store,
    name: str,
    owner: CollectionOwner = CollectionOwner.USER,
    role: str = "",
    *,
    member_writes: bool = True,
) -> Workspace:
    """Return the workspace of this name and owner, which is created where there is none.

    Raises:
        DocumentedError: the caller may not create it, the role does not exist for them, or there are too many.
    """
    _check_form(name, owner, role)
    known = await _find_owned(store, name, owner, role)
    if known is not None:
        return known
    role_id = await _check_rights(store, name, owner, role)
    is_new = await store.execute(CREATE, name, owner.value, role_id, member_writes) > 0
    created = await _find_owned(store, name, owner, role)
    assert created is not None, "whoever may create a workspace may read it"
    if is_new:
        if await store.fetchval(COUNT_OWNED, owner.value, role_id) > MAX_WORKSPACES:
            raise build_invalid("name", name, f"there may be at most {MAX_WORKSPACES} workspaces of one owner")
        names = [status.name for status in DEFAULT_STATUSES]
        await store.execute(ADD_STATUSES, created.id, names, [status.is_closed for status in DEFAULT_STATUSES])
    return created


async def list_workspaces(store: Store) -> Sequence[Workspace]:
    """List the workspaces that the caller may read, their own first."""
    return [_read_workspace(row) for row in await store.fetch(LIST)]


async def rename_workspace(store: Store, workspace: Workspace, name: str) -> Workspace:
    """Give a workspace another name; return it as it is then.

    Raises:
        DocumentedError: the name has a wrong form, is another one's of this owner, or that of everybody's own one; or
            the caller may not: only administrators rename shared ones.
    """
    _check_form(name, workspace.owner, workspace.role)
    if not workspace.is_shared and DEFAULT_WORKSPACE in (name, workspace.name):
        raise build_invalid("name", name, f"must leave the workspace {DEFAULT_WORKSPACE} as it is")
    if await store.fetchval(LOCK, workspace.id) is None:
        raise build_denied(workspace.full_name)
    known = await _find_owned(store, name, workspace.owner, workspace.role)
    if known is not None and known.id != workspace.id:
        raise build_invalid("name", name, "is the name of another workspace of this owner")
    if await store.execute(RENAME, workspace.id, name) == 0:
        raise build_denied(workspace.full_name, "only administrators rename it")
    return replace(workspace, name=name)


async def start_index(store: Store, workspace: Workspace) -> Workspace:
    """Have what is written in a workspace indexed from now on; return it as it is then."""
    await store.execute(START_INDEX, workspace.id)
    return replace(workspace, is_indexed=True)


async def remove_workspace(store: Store, workspace: Workspace) -> int:
    """Delete a workspace with all that is in it; return how many items there were.

    Raises:
        DocumentedError: the caller may not: only administrators delete shared ones.
    """
    items = await store.fetchval(REMOVE, workspace.id)
    if items is None:
        raise build_denied(workspace.full_name, "only administrators delete it")
    return items


def _check_form(name: str, owner: CollectionOwner, role: str) -> None:
    if "/" in name or ":" in name:
        raise build_invalid("name", name, "must have no slash and no colon")
    if (owner is CollectionOwner.ROLE) != bool(role):
        raise build_invalid("role", role, "must be given where a role owns the workspace, and only there")


async def _check_rights(store: Store, name: str, owner: CollectionOwner, role: str) -> UUID | None:
    """Check that the caller may create a workspace; return the id of its role."""
    if owner is CollectionOwner.USER:
        return None
    is_administrator = await store.fetchrow(IS_ADMINISTRATOR) is not None
    found = await store.fetchrow(FIND_ROLE, role) if role else None
    if role and (found is None or not found["is_member"]):
        raise build_invalid("role", role, "must be a role that you have")
    if not is_administrator:
        full_name = f"{_ROLE_PREFIX}{role}/{name}" if role else f"{_TENANT_PREFIX}{name}"
        raise build_denied(full_name, "only administrators create it")
    return None if found is None else found["id"]


async def _find_owned(store: Store, name: str, owner: CollectionOwner, role: str) -> Workspace | None:
    """Find the workspace of a name and an owner, None where the caller may read none."""
    if owner is CollectionOwner.USER:
        row = await store.fetchrow(FIND_OWN, name)
    else:
        row = await store.fetchrow(FIND_NAMED, None, name, owner.value, role)
    return None if row is None else _read_workspace(row)


def _parse_name(name: str) -> tuple[UUID | None, str, str, str]:
    """Return the id, the bare name, the owner and the role that a name means; "" where it does not say."""
    try:
        return UUID(name), "", "", ""
    except ValueError:
        pass
    if name.startswith(_ROLE_PREFIX):
        role, _, bare = name.removeprefix(_ROLE_PREFIX).rpartition("/")
        return None, bare, CollectionOwner.ROLE.value, role
    if name.startswith(_TENANT_PREFIX):
        return None, name.removeprefix(_TENANT_PREFIX), CollectionOwner.TENANT.value, ""
    return None, name, "", ""


def _read_workspace(row: Any) -> Workspace:
    return Workspace(
        row["tenant_id"],
        row["server_start"],
        row["id"],
        row["number"],
        row["name"],
        CollectionOwner(row["owner"]),
        row["role"],
        row["generation"],
        row["items"],
        row["member_writes"],
        row["is_indexed"],
        row["can_write"],
    )
