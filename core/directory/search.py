"""Search in the people and roles of a tenant, and in the tenants of the deployment, sorted and a page at a time. Width,
case and kana do not count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, LiteralString
from uuid import UUID

from core.db import Database
from core.directory.roles import RoleRecord, fetch_roles
from core.directory.tenants import TENANT_FIELDS, Tenant
from core.directory.users import User, fetch_users
from core.word_search import build_word_filter, match_words

UserSortKey = Literal["email", "name", "created_at"]
RoleSortKey = Literal["priority", "name"]
TenantSortKey = Literal["slug", "name"]


@dataclass(frozen=True, slots=True)
class UserSearch:
    """All words of `text` stand in name or address; an empty `status` or `system_role` is any, and so is no role."""

    text: str = ""
    status: str = ""
    system_role: str = ""
    sort: UserSortKey = "email"
    descending: bool = False
    role_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class RoleSearch:
    """All words of `text` stand in the name."""

    text: str = ""
    sort: RoleSortKey = "priority"
    descending: bool = True


@dataclass(frozen=True, slots=True)
class TenantSearch:
    """All words of `text` stand in name or slug; an empty `status` is any."""

    text: str = ""
    status: str = ""
    sort: TenantSortKey = "slug"
    descending: bool = False


async def search_users(
    console: Database, tenant_id: UUID, search: UserSearch, after: tuple[str | datetime, str] | None, limit: int
) -> Sequence[User]:
    """Find users, after the one with that value of the sort key and that address."""
    statement = _USERS[search.sort, search.descending]
    filters = (*build_word_filter(search.text), search.status, search.system_role)
    async with console.tenant(tenant_id) as work:
        rows = await work.fetch(statement, *filters, *(after or (None, None)), limit, search.role_id)
        return await fetch_users(work, [row["id"] for row in rows])


async def search_roles(
    console: Database, tenant_id: UUID, search: RoleSearch, after: tuple[str | int, str] | None, limit: int
) -> Sequence[RoleRecord]:
    """Find roles, after the one with that value of the sort key and that name."""
    statement = _ROLES[search.sort, search.descending]
    async with console.tenant(tenant_id) as work:
        rows = await work.fetch(statement, *build_word_filter(search.text), *(after or (None, None)), limit)
        return await fetch_roles(work, [row["id"] for row in rows])


async def search_tenants(
    console: Database, search: TenantSearch, after: tuple[str, str] | None, limit: int
) -> Sequence[Tenant]:
    """Find tenants, after the one with that value of the sort key and that slug."""
    statement = _TENANTS[search.sort, search.descending]
    words = build_word_filter(search.text)
    rows = await console.lookup("deployment", "list", statement, search.status, *words, *(after or (None, None)), limit)
    return [Tenant(*row.values()) for row in rows]


def _build_user_statement(key: LiteralString, kind: LiteralString, descending: bool) -> LiteralString:
    beyond: LiteralString = "<" if descending else ">"
    direction: LiteralString = "DESC" if descending else "ASC"
    return f"""SELECT u.id FROM core.users u
        WHERE u.tenant_id = $1 AND {match_words("u.name || ' ' || u.email", "$2", "$3")}
          AND $4 IN ('', u.status) AND $5 IN ('', u.system_role)
          AND ($6::{kind} IS NULL OR (u.{key}, u.email) {beyond} ($6, $7))
          AND ($9::uuid IS NULL OR EXISTS (SELECT FROM core.role_assignments a
            WHERE a.tenant_id = $1 AND a.user_id = u.id AND a.role_id = $9))
        ORDER BY u.{key} {direction}, u.email {direction} LIMIT $8"""  # noqa: S608 our own words


def _build_role_statement(key: LiteralString, kind: LiteralString, descending: bool) -> LiteralString:
    """Roles of one priority are always by name."""
    beyond: LiteralString = "<" if descending else ">"
    direction: LiteralString = "DESC" if descending else "ASC"
    after: LiteralString = f"r.{key} {beyond} $4 OR (r.{key} = $4 AND r.name > $5)"
    return f"""SELECT r.id FROM core.roles r
        WHERE r.tenant_id = $1 AND {match_words("r.name", "$2", "$3")} AND ($4::{kind} IS NULL OR {after})
        ORDER BY r.{key} {direction}, r.name LIMIT $6"""  # noqa: S608 our own words


def _build_tenant_statement(key: LiteralString, descending: bool) -> LiteralString:
    beyond: LiteralString = "<" if descending else ">"
    direction: LiteralString = "DESC" if descending else "ASC"
    return f"""{TENANT_FIELDS} WHERE $1 IN ('', status) AND {match_words("name || ' ' || slug", "$2", "$3")}
          AND ($4::text IS NULL OR ({key}, slug) {beyond} ($4, $5))
        ORDER BY {key} {direction}, slug {direction} LIMIT $6"""


_USER_KEYS: Mapping[UserSortKey, LiteralString] = {"email": "text", "name": "text", "created_at": "timestamptz"}
_ROLE_KEYS: Mapping[RoleSortKey, LiteralString] = {"priority": "integer", "name": "text"}
_USERS: Mapping[tuple[UserSortKey, bool], LiteralString] = {
    (key, descending): _build_user_statement(key, kind, descending)
    for key, kind in _USER_KEYS.items()
    for descending in (False, True)
}
_ROLES: Mapping[tuple[RoleSortKey, bool], LiteralString] = {
    (key, descending): _build_role_statement(key, kind, descending)
    for key, kind in _ROLE_KEYS.items()
    for descending in (False, True)
}
_TENANT_KEYS: Sequence[TenantSortKey] = ("slug", "name")
_TENANTS: Mapping[tuple[TenantSortKey, bool], LiteralString] = {
    (key, descending): _build_tenant_statement(key, descending) for key in _TENANT_KEYS for descending in (False, True)
}
