"""Accounts at identity providers, and the users that they are tied to. An account is known by issuer and subject."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from broker.identity.providers.identity_provider import VerifiedAccount
from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, LimitReached, NotFound

MAX_IDENTITIES = 20


@dataclass(frozen=True, slots=True)
class Identity:
    """An account that is tied to a user. `email` is the address that it had when it was last used."""

    id: UUID
    issuer: str
    subject: str
    email: str
    created_at: datetime
    last_sign_in_at: datetime


class Identities:
    """The accounts of all tenants' users, behind the broker's own database role."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def list(self, tenant_id: UUID, user_id: UUID) -> list[Identity]:
        """A user's accounts, the one used last first."""
        async with self._database.tenant(tenant_id) as work:
            return [Identity(*row.values()) for row in await work.fetch(_LIST, user_id)]

    async def link(self, actor: Actor, tenant_id: UUID, user_id: UUID, account: VerifiedAccount) -> None:
        """Tie an account to a user; one that is theirs already stays.

        Raises:
            Conflict: the account is tied to somebody else in this tenant.
            LimitReached: the user has 20 accounts.
            NotFound: there is no such user.
        """
        async with self._database.tenant(tenant_id) as work:
            await self.link_in_transaction(work, actor, user_id, account)

    async def link_in_transaction(
        self, work: UnitOfWork, actor: Actor, user_id: UUID, account: VerifiedAccount
    ) -> None:
        """Like :meth:`tie`, in a transaction that does something else too."""
        email = await work.fetchval(_USER, user_id)
        if email is None:
            raise NotFound("there is no such user")
        owner = await work.fetchval(_TIE, account.issuer, account.subject, user_id, account.email, self._clock())
        if owner is None:
            owner = await work.fetchval(_OWNER, account.issuer, account.subject)
            if owner != user_id:
                raise Conflict("this account is linked to another user; an administrator can unlink it")
            return
        if await work.fetchval(_COUNT, user_id) > MAX_IDENTITIES:
            raise LimitReached(f"limit of {MAX_IDENTITIES} linked accounts per user reached; unlink some first")
        await audit_change(
            work, actor, AuditEventKind.IDENTITY_LINKED, user=str(user_id), email=email, issuer=account.issuer
        )

    async def list_page(
        self, tenant_id: UUID, user_id: UUID, after: tuple[datetime, UUID] | None, limit: int
    ) -> "list[Identity]":
        """A user's accounts, the newest first, after the one of that time and id."""
        async with self._database.tenant(tenant_id) as work:
            rows = await work.fetch(_PAGE, user_id, *(after or (None, None)), limit)
            return [Identity(*row.values()) for row in rows]

    async def unlink(self, actor: Actor, tenant_id: UUID, identity_id: UUID, *, user_id: UUID | None = None) -> None:
        """Have an account sign its user in no more; with `user_id`, only one of that user's.

        Nobody takes their own last account away: they would be out until an administrator lets them in. Where an
        administrator takes somebody's last one, the next sign-in by the user's verified address ties a new one.

        Raises:
            NotFound: there is no such account.
            Conflict: it is the last one of whoever asks.
        """
        async with self._database.tenant(tenant_id) as work:
            owner: UUID | None = await work.fetchval(_BY_ID, identity_id)
            if owner is None or user_id not in (None, owner):
                raise NotFound("there is no such account")
            # Locked first: of two that go at the same time, one has to find that it is the last.
            there = {row["id"]: row["issuer"] for row in await work.fetch(_LOCK, owner)}
            if identity_id not in there:
                raise NotFound("this account is no longer linked")
            if len(there) == 1 and owner == actor.user_id:
                raise Conflict("this is your only linked account; link another one first")
            await work.execute(_UNTIE, identity_id)
            await audit_change(
                work, actor, AuditEventKind.IDENTITY_UNLINKED, user=str(owner), issuer=there[identity_id]
            )


_USER = "SELECT email FROM core.users WHERE tenant_id = $1 AND id = $2"
_TIE = """INSERT INTO auth.identities (tenant_id, issuer, subject, user_id, email, created_at, last_sign_in_at)
    VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT DO NOTHING RETURNING user_id"""
_OWNER = "SELECT user_id FROM auth.identities WHERE tenant_id = $1 AND issuer = $2 AND subject = $3"
_COUNT = "SELECT count(*) FROM auth.identities WHERE tenant_id = $1 AND user_id = $2"
_BY_ID = "SELECT user_id FROM auth.identities WHERE tenant_id = $1 AND id = $2"
_LOCK = "SELECT id, issuer FROM auth.identities WHERE tenant_id = $1 AND user_id = $2 ORDER BY id FOR UPDATE"
_UNTIE = "DELETE FROM auth.identities WHERE tenant_id = $1 AND id = $2"
_PAGE = """SELECT id, issuer, subject, email, created_at, last_sign_in_at FROM auth.identities
    WHERE tenant_id = $1 AND user_id = $2 AND ($3::timestamptz IS NULL OR (created_at, id) < ($3, $4::uuid))
    ORDER BY created_at DESC, id DESC LIMIT $5"""
_LIST = """SELECT id, issuer, subject, email, created_at, last_sign_in_at FROM auth.identities
    WHERE tenant_id = $1 AND user_id = $2 ORDER BY last_sign_in_at DESC, issuer, subject LIMIT 100"""
