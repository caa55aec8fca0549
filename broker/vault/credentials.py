"""Stored credentials: of type A (long-lived tokens and keys) put, removed and found broken; of both types listed. Of
type B (OAuth) there is nothing here but the way to the account. No secret is ever shown."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid4

import asyncpg

from broker.vault.envelope import Place
from broker.vault.vault import Vault
from core.audit.event import Kind
from core.connection import CredentialKind
from core.db import Database, Row, UnitOfWork
from core.directory.actor import Actor, recorded
from core.directory.users import checked_email
from core.errors import Conflict, Invalid, NotFound
from core.secret import Secret

TABLE = "vault.credentials"
FIELD = "access"
MOST_SECRET = 16_384
MOST_ACCOUNT = 200
MOST_LISTED = 1000
BROKER = Actor("broker")


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a credential is: a user's (personal) or a role's (shared)."""

    kind: CredentialKind
    id: UUID

    @property
    def user_id(self) -> UUID | None:
        return self.id if self.kind == "personal" else None

    @property
    def role_id(self) -> UUID | None:
        return self.id if self.kind == "shared" else None


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """What may be shown of a credential: everything but the secret. `owner` is an e-mail address or a role's name, and
    `provider` whose OAuth server made it, "" for type A."""

    id: UUID
    module: str
    type: Literal["A", "B"]
    provider: str
    kind: CredentialKind
    owner: str
    account: str
    state: str
    cause: str
    version: int
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None


class Credentials:
    """The credentials of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, vault: Vault, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock

    async def owner(self, tenant_id: UUID, *, email: str = "", role: str = "") -> Owner:
        """The owner of that address, or else of that role's name.

        Raises:
            NotFound: the tenant has no such user or role.
            Invalid: the address is none.
        """
        async with self._database.tenant(tenant_id) as work:
            if email:
                user_id = await work.fetchval(_USER, checked_email(email))
                return _found("personal", user_id, f"there is no user {email}; `mcpist user list` shows them")
            role_id = await work.fetchval(_ROLE, role)
            return _found("shared", role_id, f"there is no role {role[:100]!r}; `mcpist role list` shows them")

    async def put(
        self,
        actor: Actor,
        tenant_id: UUID,
        module: str,
        owner: Owner,
        secret: Secret,
        account: str = "",
        *,
        over: int | None = None,
    ) -> UUID:
        """Store a credential, in the place of one that the owner has for the module; its id.

        An account that was connected by OAuth and that nothing leads to any more is shredded, without a word to the
        vendor. `over` is the only version that it may take the place of; without it, that is any or none.

        Raises:
            Invalid: the secret or the account's name has the wrong form.
            NotFound: the tenant has no such user or role.
            Conflict: somebody else changed it at the same moment.
        """
        plain, account = _checked(secret), account[:MOST_ACCOUNT]
        try:
            async with self._database.tenant(tenant_id) as work:
                found = await work.fetchrow(_FIND, module, owner.user_id, owner.role_id)
                if over is not None and (found is None or found["version"] != over):
                    raise _changed_meanwhile()
                if found is None:
                    return await self._insert(work, actor, module, owner, plain, account)
                return await self._replace(work, actor, module, owner, found, plain, account)
        except asyncpg.ForeignKeyViolationError:
            raise NotFound("there is no such user or role") from None
        except asyncpg.UniqueViolationError:
            raise _changed_meanwhile() from None

    async def list(
        self, tenant_id: UUID, module: str | None = None, owner: Owner | None = None
    ) -> list[StoredCredential]:
        """The tenant's credentials by module and owner, or those for one module, or of one owner; at most 1,000."""
        async with self._database.tenant(tenant_id) as work:
            rows = await work.fetch(_LIST, module, owner and owner.id, *(None,) * 4, MOST_LISTED)
            return [StoredCredential(*row.values()) for row in rows]

    async def page(
        self, tenant_id: UUID, user_id: UUID | None, *, after: tuple[str, str, str] | None = None, limit: int
    ) -> "Sequence[StoredCredential]":
        """Those that a user has or that their roles share, or of everybody: at most `limit`, in the order of module,
        kind and owner, beginning behind `after`."""
        async with self._database.tenant(tenant_id) as work:
            rows = await work.fetch(_LIST, None, None, user_id, *(after or (None, None, None)), limit)
            return [StoredCredential(*row.values()) for row in rows]

    async def find(self, tenant_id: UUID, credential_id: UUID) -> tuple[StoredCredential, Owner]:
        """One credential by its id, and whose it is.

        Raises:
            NotFound: the tenant has none of that id.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_WHOSE, credential_id)
            if row is not None:
                owner = Owner("personal", row["user_id"]) if row["user_id"] else Owner("shared", row["role_id"])
                for one in await work.fetch(_LIST, row["module"], owner.id, *(None,) * 4, 1):
                    return StoredCredential(*one.values()), owner
        raise NotFound("there is no such credential")

    async def secret(self, tenant_id: UUID, module: str, owner: Owner) -> Secret:
        """The secret itself, for a test against the vendor; no part of the Broker interface.

        Raises:
            NotFound: the owner has none for the module, or one that was connected by OAuth.
            broker.vault.envelope.Unreadable: it was changed in the database.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_FIND, module, owner.user_id, owner.role_id)
            if row is None or row["secret"] is None:
                raise _missing(module)
            return await opened(self._vault, work, row)

    async def remove(self, actor: Actor, tenant_id: UUID, module: str, owner: Owner) -> None:
        """Delete a credential; and, of type B, the account behind it where nothing else leads to it. The vendor is not
        told (:class:`broker.connect.disconnecting.Disconnecting` does that).

        Raises:
            NotFound: the owner has none for the module.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_REMOVE, module, owner.user_id, owner.role_id)
            if row is None:
                raise _missing(module)
            credential_id = row["id"]
            await work.execute(_SHRED, row["account_id"])
            await _recorded(work, actor, Kind.CREDENTIAL_REMOVED, module, owner, credential_id)

    async def mark_broken(self, tenant_id: UUID, credential_id: UUID, version: int, cause: str) -> bool:
        """Note that the vendor refuses this version; False if it was replaced, removed or marked meanwhile."""
        async with self._database.tenant(tenant_id) as work:
            return await mark_broken(work, credential_id, version, cause, self._clock())

    async def _insert(
        self, work: UnitOfWork, actor: Actor, module: str, owner: Owner, plain: bytes, account: str
    ) -> UUID:
        # Versions begin at random, so that one that a gateway remembers never means another credential.
        credential_id, version = uuid4(), 1 + secrets.randbits(48)
        blob = await self._vault.seal(work, place(credential_id, version), plain)
        now = self._clock()
        await work.execute(_INSERT, credential_id, module, owner.user_id, owner.role_id, version, blob, account, now)
        await _recorded(work, actor, Kind.CREDENTIAL_CREATED, module, owner, credential_id, account=account)
        return credential_id

    async def _replace(
        self, work: UnitOfWork, actor: Actor, module: str, owner: Owner, found: Row, plain: bytes, account: str
    ) -> UUID:
        credential_id, version = found["id"], found["version"]
        blob = await self._vault.seal(work, place(credential_id, version + 1), plain)
        if not await work.execute(_REPLACE, credential_id, version, blob, account, self._clock()):
            raise _changed_meanwhile()
        await work.execute(_SHRED, found["account_id"])
        await _recorded(work, actor, Kind.CREDENTIAL_REPLACED, module, owner, credential_id, account=account)
        return credential_id


def place(credential_id: UUID, version: int) -> Place:
    """What a credential's secret is bound to."""
    return Place(TABLE, credential_id, FIELD, version)


async def opened(vault: Vault, work: UnitOfWork, row: Row) -> Secret:
    """The secret of a row with `id`, `version` and `secret`.

    Raises:
        broker.vault.envelope.Unreadable: it was changed in the database.
    """
    return Secret((await vault.open(work, place(row["id"], row["version"]), row["secret"])).decode())


async def mark_broken(work: UnitOfWork, credential_id: UUID, version: int, cause: str, now: datetime) -> bool:
    """:meth:`Credentials.mark_broken` inside a transaction that has begun."""
    row = await work.fetchrow(_BREAK, credential_id, version, cause, now)
    if row is None:
        return False
    owner = Owner("personal", row["user_id"]) if row["user_id"] else Owner("shared", row["role_id"])
    await _recorded(work, BROKER, Kind.CREDENTIAL_BROKEN, row["module"], owner, credential_id, cause=cause)
    return True


async def _recorded(
    work: UnitOfWork, actor: Actor, kind: Kind, module: str, owner: Owner, credential_id: UUID, **more: str
) -> None:
    whose = {"user" if owner.kind == "personal" else "role": str(owner.id)}
    await recorded(work, actor, kind, module=module, credential=str(credential_id), **whose, **more)


def _checked(secret: Secret) -> bytes:
    text = secret.reveal()
    if not text or not text.isprintable() or text != text.strip() or len(text) > MOST_SECRET:
        raise Invalid(f"a credential is one line of 1 to {MOST_SECRET} printable characters")
    return text.encode()


def _found(kind: CredentialKind, owner_id: UUID | None, otherwise: str) -> Owner:
    if owner_id is None:
        raise NotFound(otherwise)
    return Owner(kind, owner_id)


def _missing(module: str) -> NotFound:
    return NotFound(f"there is no such credential for {module[:63]!r}; `mcpist credential list` shows them")


def _changed_meanwhile() -> Conflict:
    return Conflict("somebody else changed this credential at the same moment; look at it and try again")


_USER = "SELECT id FROM core.users WHERE tenant_id = $1 AND email = $2"
_ROLE = "SELECT id FROM core.roles WHERE tenant_id = $1 AND name = $2"
_FIND = """SELECT id, version, secret, account_id FROM vault.credentials
    WHERE tenant_id = $1 AND module = $2 AND (user_id = $3 OR role_id = $4)"""
_INSERT = """INSERT INTO vault.credentials
    (tenant_id, id, module, user_id, role_id, version, secret, account, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)"""
_REPLACE = """UPDATE vault.credentials SET version = version + 1, secret = $4, account = $5, updated_at = $6,
    state = 'ok', cause = '', type = 'A', account_id = NULL WHERE tenant_id = $1 AND id = $2 AND version = $3"""
_REMOVE = """DELETE FROM vault.credentials WHERE tenant_id = $1 AND module = $2 AND (user_id = $3 OR role_id = $4)
    RETURNING id, account_id"""
_SHRED = """DELETE FROM vault.accounts a WHERE a.tenant_id = $1 AND a.id = $2
    AND NOT EXISTS (SELECT FROM vault.credentials c WHERE c.tenant_id = $1 AND c.account_id = a.id)"""
_WHOSE = "SELECT module, user_id, role_id FROM vault.credentials WHERE tenant_id = $1 AND id = $2"
_BREAK = """UPDATE vault.credentials SET state = 'broken', cause = $4, updated_at = $5
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND state = 'ok' RETURNING module, user_id, role_id"""
_LIST = """SELECT c.id, c.module, c.type, coalesce(a.provider, '') AS provider, k.kind, k.owner,
    coalesce(a.account, c.account) AS account,
    CASE WHEN a.id IS NULL THEN c.state WHEN a.status = 'active' THEN 'ok' ELSE 'broken' END AS state,
    CASE WHEN a.id IS NULL THEN c.cause WHEN a.status = 'active' THEN '' ELSE coalesce(nullif(a.reason, ''), a.status)
        END AS cause,
    c.version, c.created_at, greatest(c.updated_at, a.updated_at) AS updated_at,
    greatest(c.last_used_at, a.last_used_at) AS last_used_at
    FROM vault.credentials c
    LEFT JOIN core.users u ON u.tenant_id = c.tenant_id AND u.id = c.user_id
    LEFT JOIN core.roles r ON r.tenant_id = c.tenant_id AND r.id = c.role_id
    LEFT JOIN vault.accounts a ON a.tenant_id = c.tenant_id AND a.id = c.account_id
    CROSS JOIN LATERAL (SELECT CASE WHEN c.user_id IS NULL THEN 'shared' ELSE 'personal' END AS kind,
        coalesce(u.email, r.name) AS owner) k
    WHERE c.tenant_id = $1 AND ($2::text IS NULL OR c.module = $2)
    AND ($3::uuid IS NULL OR c.user_id = $3 OR c.role_id = $3)
    AND ($4::uuid IS NULL OR c.user_id = $4 OR c.role_id IN (
        SELECT role_id FROM core.role_assignments WHERE tenant_id = $1 AND user_id = $4))
    AND ($5::text IS NULL OR (c.module, k.kind, k.owner) > ($5, $6::text, $7::text))
    ORDER BY c.module, k.kind, k.owner LIMIT $8"""
