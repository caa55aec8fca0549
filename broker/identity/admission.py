"""Admission: the tenants and users that a verified external account may sign in to.

An account that is linked to a user is admitted as that user; any other is checked against the allow list. An account is
identified by issuer and subject. Its e-mail address is used once: to find or create the user that it is linked to from
then on. A user who has a linked account is never found by address, because addresses are reassigned to other people;
such a user links further accounts while signed in.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

import asyncpg

from broker.identity.browser_sessions import Sessions
from broker.identity.identities import Identities
from broker.identity.providers.identity_provider import VerifiedAccount
from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.allow_list import list_matching_entries
from core.directory.audit_trail import Actor, audit_change
from core.directory.role_mappings import apply_sign_in_mappings
from core.errors import Conflict
from core.secret import Secret

MAX_TENANTS = 50
DenialReason = Literal["not_listed", "unverified_email", "suspended", "other_account"]
_ORDER: tuple[DenialReason, ...] = ("suspended", "other_account")


@dataclass(frozen=True, slots=True)
class TenantChoice:
    """A tenant that the account gets into; without a user id, as a user to be made."""

    tenant_id: UUID
    name: str
    user_id: UUID | None


@dataclass(frozen=True, slots=True)
class AdmissionDenied:
    """No tenant lets the account in. `tenants` are those that know it or its address, and whose matter it is."""

    reason: DenialReason
    tenant_ids: tuple[UUID, ...] = ()


class Admission:
    """Decides, behind the broker's own database role."""

    def __init__(
        self, database: Database, identities: Identities, sessions: Sessions, *, clock: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._identities = identities
        self._sessions = sessions
        self._clock = clock

    async def list_choices(self, account: VerifiedAccount) -> tuple[TenantChoice, ...] | AdmissionDenied:
        """The tenants that let the account in, by name; or why there is none."""
        tenants = await self._find_tenants(account)
        choices: list[TenantChoice] = []
        reasons: set[DenialReason] = set()
        for tenant_id in tenants:
            judged = await self._judge_tenant(tenant_id, account)
            if isinstance(judged, TenantChoice):
                choices.append(judged)
            else:
                reasons.add(judged)
        if choices:
            return tuple(sorted(choices, key=lambda choice: (choice.name.casefold(), str(choice.tenant_id))))
        if not reasons and not account.email:
            return AdmissionDenied("unverified_email")
        return AdmissionDenied(_select_reason(reasons), tuple(tenants))

    async def start_session(
        self, tenant_id: UUID, account: VerifiedAccount, method: str, address: str = "", user_agent: str = ""
    ) -> Secret | AdmissionDenied:
        """Begin a session in one of the tenants; the user is made, and the account tied, where they are new.

        What was chosen from is looked up once more: it may have changed meanwhile.
        """
        try:
            return await self._start_session(tenant_id, account, method, address, user_agent)
        except asyncpg.UniqueViolationError:
            raise Conflict("this user was just created by an administrator; sign in again") from None

    async def admit(self, tenant_id: UUID, account: VerifiedAccount) -> UUID | AdmissionDenied:
        """The user that the account is in a tenant; made, and tied to it, where they are new. Nobody is signed in."""
        try:
            async with self._database.tenant(tenant_id) as work:
                return await self._admit_in_transaction(work, account)
        except asyncpg.UniqueViolationError:
            raise Conflict("this user was just created by an administrator; try again") from None

    async def _start_session(
        self, tenant_id: UUID, account: VerifiedAccount, method: str, address: str, user_agent: str
    ) -> Secret | AdmissionDenied:
        async with self._database.tenant(tenant_id) as work:
            user_id = await self._admit_in_transaction(work, account)
            if isinstance(user_id, AdmissionDenied):
                return user_id
            actor = Actor(account.email or account.subject, user_id)
            await apply_sign_in_mappings(work, actor, user_id, method, account.email, account.groups)
            return await self._sessions.begin_in_transaction(work, user_id, method, address, user_agent)

    async def _admit_in_transaction(self, work: UnitOfWork, account: VerifiedAccount) -> UUID | AdmissionDenied:
        # One at a time in a tenant, so that two accounts of one address cannot both be a user's first.
        await work.execute("SELECT pg_advisory_xact_lock(hashtextextended('sign-in ' || $1::uuid::text, 0))")
        judged = await self._judge(work, account)
        if not isinstance(judged, TenantChoice):
            return AdmissionDenied(judged, (work.tenant_id,))
        user_id = judged.user_id or await self._create_user(work, account)
        await self._identities.link_in_transaction(
            work, Actor(account.email or account.subject, user_id), user_id, account
        )
        await work.execute(_USED, account.issuer, account.subject, account.email, self._clock())
        return user_id

    async def _find_tenants(self, account: VerifiedAccount) -> list[UUID]:
        value = f"{account.issuer} {account.subject}"
        rows = list(await self._database.lookup("lookup_account", value, _BY_ACCOUNT, account.issuer, account.subject))
        if account.email:
            entries = list_matching_entries(account.email)
            rows += await self._database.lookup("lookup_allow_entries", " ".join(entries), _BY_ENTRY)
        return list(dict.fromkeys(row["tenant_id"] for row in rows))[:MAX_TENANTS]

    async def _judge_tenant(self, tenant_id: UUID, account: VerifiedAccount) -> TenantChoice | DenialReason:
        async with self._database.tenant(tenant_id) as work:
            return await self._judge(work, account)

    async def _judge(self, work: UnitOfWork, account: VerifiedAccount) -> TenantChoice | DenialReason:
        """Decide whether this tenant admits the account, and as which user."""
        entries = list_matching_entries(account.email) if account.email else ()
        row = await work.fetchrow(_JUDGE, account.issuer, account.subject, account.email, list(entries))
        if row is None or not row["listed"]:
            return "not_listed"
        if row["tenant_status"] != "active" or row["user_status"] not in (None, "active"):
            return "suspended"
        if row["user_id"] is not None and not row["tied"] and row["has_another"]:
            return "other_account"
        return TenantChoice(work.tenant_id, row["name"], row["user_id"])

    async def _create_user(self, work: UnitOfWork, account: VerifiedAccount) -> UUID:
        user_id: UUID = await work.fetchval(_MAKE, account.email, account.name)
        actor = Actor(account.email, user_id)
        await audit_change(work, actor, AuditEventKind.USER_CREATED, email=account.email, system_role="user", roles="")
        return user_id


def _select_reason(reasons: Collection[DenialReason]) -> DenialReason:
    """Select the reason to show where tenants refused for different reasons."""
    for reason in _ORDER:
        if reason in reasons:
            return reason
    return "not_listed"


_BY_ACCOUNT = "SELECT tenant_id FROM auth.identities WHERE issuer = $1 AND subject = $2 ORDER BY tenant_id LIMIT 100"
_BY_ENTRY = "SELECT DISTINCT tenant_id FROM core.allow_list ORDER BY tenant_id LIMIT 100"
# The user is the account's, else the one of its address. The list may name the address of either.
_JUDGE = """SELECT t.name, t.status AS tenant_status, u.id AS user_id, u.status AS user_status,
    i.user_id IS NOT NULL AS tied,
    EXISTS (SELECT FROM auth.identities o WHERE o.tenant_id = $1 AND o.user_id = u.id) AS has_another,
    EXISTS (SELECT FROM core.allow_list a WHERE a.tenant_id = $1 AND (a.entry = ANY ($5::text[])
        OR i.user_id IS NOT NULL AND a.entry IN (u.email, '@' || split_part(u.email, '@', 2)))) AS listed
    FROM core.tenants t
    LEFT JOIN auth.identities i ON i.tenant_id = t.tenant_id AND i.issuer = $2 AND i.subject = $3
    LEFT JOIN core.users u ON u.tenant_id = t.tenant_id
        AND (u.id = i.user_id OR i.user_id IS NULL AND $4 <> '' AND u.email = $4)
    WHERE t.tenant_id = $1"""
_MAKE = "INSERT INTO core.users (tenant_id, email, name) VALUES ($1, $2, $3) RETURNING id"
_USED = """UPDATE auth.identities SET last_sign_in_at = $5, email = CASE WHEN $4 = '' THEN email ELSE $4 END
    WHERE tenant_id = $1 AND issuer = $2 AND subject = $3"""
