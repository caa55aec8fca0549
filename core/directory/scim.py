"""People and groups as an identity provider provisions them (SCIM 2.0, RFC 7643): what is stored of them in a tenant.

A person is a user of the directory like any other; `core.scim_users` adds what the provider calls them. Members of a
group have the roles that mappings of the provider ``scim`` give to the group's name.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory import users
from core.directory.account_revocation import AccountRevoker, RevocationResult
from core.directory.allow_list import insert_entry
from core.directory.audit_trail import Actor, audit_change
from core.directory.role_mappings import refresh_provisioned_roles
from core.email_address import normalize_address
from core.errors import Conflict, Invalid, NotFound

MAX_GROUPS = 5_000
MAX_MEMBERS = 20_000
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class ScimCaller:
    """Whom a token speaks for: the identity provider of one tenant."""

    tenant_id: UUID
    token_id: UUID
    name: str

    @property
    def actor(self) -> Actor:
        """As the audit log names it."""
        return Actor(f"scim {self.name}", credential_id=str(self.token_id))


class NotUnique(Conflict):
    """Another user or group has the name already."""


@dataclass(frozen=True, slots=True)
class ProvisionedUser:
    """A user as a provider sees them; `external_id` is empty for one that no provider has named."""

    id: UUID
    email: str
    name: str
    active: bool
    user_name: str
    external_id: str
    given_name: str
    family_name: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class UserAttributes:
    """What a provider says of a person."""

    user_name: str
    email: str
    name: str = ""
    given_name: str = ""
    family_name: str = ""
    external_id: str = ""
    active: bool = True


@dataclass(frozen=True, slots=True)
class ProvisionedGroup:
    """A group; `members` are the ids and addresses of its users, None where they were not asked for."""

    id: UUID
    display_name: str
    external_id: str
    created_at: datetime
    updated_at: datetime
    members: Sequence[tuple[UUID, str]] | None = None


@dataclass(frozen=True, slots=True)
class MemberChange:
    """A change of a group. None leaves a name as it is; `replace` takes every other member out."""

    display_name: str | None = None
    external_id: str | None = None
    add: Collection[UUID] = ()
    remove: Collection[UUID] = ()
    replace: Collection[UUID] | None = None


class ScimDirectory:
    """The people and groups of all tenants, behind the control plane's database role."""

    def __init__(self, console: Database, revoke_accounts: AccountRevoker) -> None:
        self._console = console
        self._revoke_accounts = revoke_accounts

    async def list_users(
        self, tenant_id: UUID, attribute: str, value: str, offset: int, limit: int
    ) -> tuple[int, list[ProvisionedUser]]:
        """How many users there are, and some of them by address; with an `attribute` those whose `value` it is."""
        async with self._console.tenant(tenant_id) as work:
            total = await work.fetchval(_COUNT_USERS, attribute, value)
            rows = await work.fetch(_LIST_USERS, attribute, value, offset, limit)
        return total, [ProvisionedUser(*row.values()) for row in rows]

    async def get_user(self, tenant_id: UUID, user_id: UUID) -> ProvisionedUser:
        """One user.

        Raises:
            NotFound: the tenant has none of this id.
        """
        async with self._console.tenant(tenant_id) as work:
            return await _fetch_user(work, user_id)

    async def create_user(self, actor: Actor, tenant_id: UUID, wanted: UserAttributes) -> ProvisionedUser:
        """Make a user, whom the allow list lets in.

        Raises:
            Invalid: the address or a name has the wrong form.
            Conflict: the tenant has a user of this address or user name.
        """
        _check_names(wanted)
        async with self._console.tenant(tenant_id) as work:
            if await work.fetchval(_COUNT_USERS, "user_name", wanted.user_name.lower()):
                raise NotUnique("there is a user of this userName already")
        try:
            user_id = await users.create_user(self._console, actor, tenant_id, wanted.email, name=wanted.name)
        except Conflict as error:
            raise NotUnique(str(error)) from None
        return await self._store(actor, tenant_id, user_id, wanted)

    async def change_user(
        self, actor: Actor, tenant_id: UUID, user_id: UUID, wanted: UserAttributes
    ) -> ProvisionedUser:
        """Make a user what the provider says. Whoever is not active is suspended, and loses all access within a second.

        Raises:
            NotFound: the tenant has none of this id.
            Invalid: the address or a name has the wrong form.
            Conflict: another user has the address or the user name; an administrator's address would change; or the
                tenant would be left without an active administrator.
        """
        _check_names(wanted)
        before = await self.get_user(tenant_id, user_id)
        await self._change_email(actor, tenant_id, before, normalize_address(wanted.email))
        return await self._store(actor, tenant_id, user_id, wanted)

    async def remove_user(self, actor: Actor, tenant_id: UUID, user_id: UUID) -> Sequence[RevocationResult]:
        """Delete a user and all that is theirs.

        Raises:
            NotFound: the tenant has none of this id.
            Conflict: they are the tenant's last active administrator.
        """
        return await users.remove_user(self._console, actor, tenant_id, user_id, self._revoke_accounts)

    async def _change_email(self, actor: Actor, tenant_id: UUID, before: ProvisionedUser, email: str) -> None:
        if email == before.email:
            return
        try:
            async with self._console.tenant(tenant_id) as work:
                if not await work.execute(_CHANGE_EMAIL, before.id, email):
                    # Whoever has a leaked token must not make an administrator of their own address.
                    raise Conflict("the address of an administrator is not changed by provisioning")
                await insert_entry(work, email)
                await work.execute("DELETE FROM core.allow_list WHERE tenant_id = $1 AND entry = $2", before.email)
                detail = {"email": before.email, "new_email": email}
                await audit_change(work, actor, AuditEventKind.USER_CHANGED, **detail)
        except asyncpg.UniqueViolationError:
            raise NotUnique("there is a user of this address already") from None

    async def _store(self, actor: Actor, tenant_id: UUID, user_id: UUID, wanted: UserAttributes) -> ProvisionedUser:
        status = "active" if wanted.active else "suspended"
        await users.change_user(self._console, actor, tenant_id, user_id, name=wanted.name or None, status=status)
        try:
            async with self._console.tenant(tenant_id) as work:
                names = wanted.user_name.lower(), wanted.user_name, wanted.external_id
                await work.execute(_PUT_USER, user_id, *names, wanted.given_name, wanted.family_name)
                return await _fetch_user(work, user_id)
        except asyncpg.UniqueViolationError:
            raise NotUnique("there is a user of this userName already") from None

    async def list_groups(
        self, tenant_id: UUID, attribute: str, value: str, offset: int, limit: int, *, with_members: bool
    ) -> tuple[int, list[ProvisionedGroup]]:
        """How many groups there are, and some of them by name; with an `attribute` those whose `value` it is."""
        async with self._console.tenant(tenant_id) as work:
            total = await work.fetchval(_COUNT_GROUPS, attribute, value)
            rows = await work.fetch(_LIST_GROUPS, attribute, value, offset, limit)
            return total, [await _build_group(work, row, with_members=with_members) for row in rows]

    async def get_group(self, tenant_id: UUID, group_id: UUID, *, with_members: bool = True) -> ProvisionedGroup:
        """One group.

        Raises:
            NotFound: the tenant has none of this id.
        """
        async with self._console.tenant(tenant_id) as work:
            return await _fetch_group(work, group_id, with_members=with_members)

    async def create_group(
        self, actor: Actor, tenant_id: UUID, display_name: str, external_id: str, members: Collection[UUID]
    ) -> ProvisionedGroup:
        """Make a group with members, who get the roles of its name.

        Raises:
            Invalid: the name has the wrong form, or a member is no user of the tenant.
            Conflict: there is a group of this name, or too many groups or members.
        """
        _check_name("displayName", display_name, required=True)
        try:
            async with self._console.tenant(tenant_id) as work:
                if await work.fetchval(_COUNT_GROUPS, "", "") >= MAX_GROUPS:
                    raise Conflict(f"there are {MAX_GROUPS} groups already: provision fewer of them")
                group_id: UUID = await work.fetchval(_ADD_GROUP, display_name, external_id)
                await audit_change(work, actor, AuditEventKind.GROUP_CREATED, group=display_name)
                await _change_members(work, actor, group_id, display_name, MemberChange(add=members))
                return await _fetch_group(work, group_id, with_members=True)
        except asyncpg.UniqueViolationError:
            raise NotUnique("there is a group of this displayName already") from None

    async def change_group(
        self, actor: Actor, tenant_id: UUID, group_id: UUID, changes: Sequence[MemberChange]
    ) -> ProvisionedGroup:
        """Make all changes of a group's names and members, or none; who joins or leaves gains or loses the roles of its
        name.

        Raises:
            NotFound: the tenant has none of this id.
            Invalid, Conflict: as for a new one.
        """
        try:
            async with self._console.tenant(tenant_id) as work:
                if await work.fetchval(_LOCK_GROUP, group_id) is None:
                    raise NotFound("there is no group of this id")
                for change in changes:
                    await _change_group(work, actor, group_id, change)
                return await _fetch_group(work, group_id, with_members=True)
        except asyncpg.UniqueViolationError:
            raise NotUnique("there is a group of this displayName already") from None

    async def remove_group(self, actor: Actor, tenant_id: UUID, group_id: UUID) -> None:
        """Delete a group; its members lose the roles that nothing else gives them.

        Raises:
            NotFound: the tenant has none of this id.
        """
        async with self._console.tenant(tenant_id) as work:
            group = await _fetch_group(work, group_id, with_members=True)
            await work.execute("DELETE FROM core.scim_groups WHERE tenant_id = $1 AND id = $2", group_id)
            await audit_change(work, actor, AuditEventKind.GROUP_REMOVED, group=group.display_name)
            await refresh_provisioned_roles(work, actor, [user_id for user_id, _ in group.members or ()])


async def _change_group(work: UnitOfWork, actor: Actor, group_id: UUID, change: MemberChange) -> None:
    before = await _fetch_group(work, group_id, with_members=False)
    name = before.display_name if change.display_name is None else change.display_name
    _check_name("displayName", name, required=True)
    await work.execute(_CHANGE_GROUP, group_id, name, change.external_id)
    await _change_members(work, actor, group_id, name, change)
    if name != before.display_name:
        await audit_change(work, actor, AuditEventKind.GROUP_CHANGED, group=name, was=before.display_name)
        members = await work.fetch(_MEMBERS, group_id, MAX_MEMBERS)
        await refresh_provisioned_roles(work, actor, [row["id"] for row in members])


async def _change_members(work: UnitOfWork, actor: Actor, group_id: UUID, name: str, change: MemberChange) -> None:
    before = {row["id"] for row in await work.fetch(_MEMBERS, group_id, MAX_MEMBERS + 1)}
    after = (before if change.replace is None else set(change.replace)) | set(change.add)
    after -= set(change.remove)
    joining, leaving = after - before, before - after
    if len(after) > MAX_MEMBERS:
        raise Conflict(f"a group has at most {MAX_MEMBERS} members")
    if joining and await work.execute(_JOIN, group_id, sorted(joining)) != len(joining):
        raise Invalid("members: one of these is no user of this tenant")
    if leaving:
        await work.execute(_LEAVE, group_id, sorted(leaving))
    if joining or leaving:
        counts = {"joined": len(joining), "left": len(leaving)}
        await audit_change(work, actor, AuditEventKind.GROUP_CHANGED, group=name, **counts)
        await refresh_provisioned_roles(work, actor, joining | leaving)


def _check_names(wanted: UserAttributes) -> None:
    _check_name("userName", wanted.user_name, required=True)
    for attribute, text in (
        ("displayName", wanted.name), ("name.givenName", wanted.given_name), ("name.familyName", wanted.family_name),
        ("externalId", wanted.external_id),
    ):  # fmt: skip
        _check_name(attribute, text)


def _check_name(attribute: str, text: str, *, required: bool = False) -> None:
    if len(text) > (320 if attribute == "userName" else MAX_NAME) or not text.isprintable() or (required and not text):
        raise Invalid(f"{attribute}: give one line of 1 to {MAX_NAME} characters")


async def _fetch_user(work: UnitOfWork, user_id: UUID) -> ProvisionedUser:
    row = await work.fetchrow(_GET_USER, user_id)
    if row is None:
        raise NotFound("there is no user of this id")
    return ProvisionedUser(*row.values())


async def _fetch_group(work: UnitOfWork, group_id: UUID, *, with_members: bool) -> ProvisionedGroup:
    row = await work.fetchrow(_GET_GROUP, group_id)
    if row is None:
        raise NotFound("there is no group of this id")
    return await _build_group(work, row, with_members=with_members)


async def _build_group(work: UnitOfWork, row: Row, *, with_members: bool) -> ProvisionedGroup:
    members = None
    if with_members:
        found = await work.fetch(_MEMBERS, row["id"], MAX_MEMBERS)
        members = [(member["id"], member["email"]) for member in found]
    return ProvisionedGroup(*row.values(), members=members)


_USER_COLUMNS = """SELECT u.id, u.email, u.name, u.status = 'active' AS active,
    coalesce(s.user_name, u.email) AS user_name, coalesce(s.external_id, '') AS external_id,
    coalesce(s.given_name, '') AS given_name, coalesce(s.family_name, '') AS family_name, u.created_at,
    coalesce(s.updated_at, u.created_at) AS updated_at
    FROM core.users u LEFT JOIN core.scim_users s ON s.tenant_id = u.tenant_id AND s.user_id = u.id
    WHERE u.tenant_id = $1 """
_MATCHES = """AND CASE $2 WHEN 'user_name' THEN coalesce(s.folded_name, u.email) = $3
    WHEN 'external_id' THEN s.external_id = $3 WHEN 'email' THEN u.email = $3 ELSE true END """
_LIST_USERS = _USER_COLUMNS + _MATCHES + "ORDER BY u.email OFFSET $4 LIMIT $5"
_COUNTED_USERS = """SELECT count(*) FROM core.users u
    LEFT JOIN core.scim_users s ON s.tenant_id = u.tenant_id AND s.user_id = u.id WHERE u.tenant_id = $1 """
_COUNT_USERS = _COUNTED_USERS + _MATCHES
_GET_USER = _USER_COLUMNS + "AND u.id = $2"
_PUT_USER = """INSERT INTO core.scim_users
    (tenant_id, user_id, folded_name, user_name, external_id, given_name, family_name)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (tenant_id, user_id) DO UPDATE SET folded_name = excluded.folded_name, user_name = excluded.user_name,
    external_id = excluded.external_id, given_name = excluded.given_name, family_name = excluded.family_name,
    updated_at = now()"""
_CHANGE_EMAIL = "UPDATE core.users SET email = $3 WHERE tenant_id = $1 AND id = $2 AND system_role = 'user'"
_GROUP_COLUMNS = """SELECT g.id, g.display_name, g.external_id, g.created_at, g.updated_at FROM core.scim_groups g
    WHERE g.tenant_id = $1 """
_GROUP_MATCHES = """AND CASE $2 WHEN 'display_name' THEN lower(g.display_name) = lower($3)
    WHEN 'external_id' THEN g.external_id = $3 ELSE $3::text IS NOT NULL END """
_LIST_GROUPS = _GROUP_COLUMNS + _GROUP_MATCHES + "ORDER BY g.display_name, g.id OFFSET $4 LIMIT $5"
_COUNTED_GROUPS = "SELECT count(*) FROM core.scim_groups g WHERE g.tenant_id = $1 "
_COUNT_GROUPS = _COUNTED_GROUPS + _GROUP_MATCHES
_GET_GROUP = _GROUP_COLUMNS + "AND g.id = $2"
_LOCK_GROUP = "SELECT id FROM core.scim_groups WHERE tenant_id = $1 AND id = $2 FOR UPDATE"
_ADD_GROUP = """INSERT INTO core.scim_groups (tenant_id, display_name, external_id) VALUES ($1, $2, $3) RETURNING id"""
_CHANGE_GROUP = """UPDATE core.scim_groups SET display_name = $3, external_id = coalesce($4, external_id),
    updated_at = now() WHERE tenant_id = $1 AND id = $2"""
_MEMBERS = """SELECT u.id, u.email FROM core.scim_members m
    JOIN core.users u ON u.tenant_id = m.tenant_id AND u.id = m.user_id
    WHERE m.tenant_id = $1 AND m.group_id = $2 ORDER BY u.email LIMIT $3"""
_JOIN = """INSERT INTO core.scim_members (tenant_id, group_id, user_id)
    SELECT u.tenant_id, $2, u.id FROM core.users u WHERE u.tenant_id = $1 AND u.id = ANY ($3::uuid[])"""
_LEAVE = "DELETE FROM core.scim_members WHERE tenant_id = $1 AND group_id = $2 AND user_id = ANY ($3::uuid[])"
