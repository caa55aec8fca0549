"""The rows of mandates: made, found, used, ended and listed, each within its caller's transaction.

A suspension, the revocation of the credential that made it, a disconnection (migration 0033) and the end of its job
(0037) end a mandate by triggers; :class:`broker.mandates.mandates.Mandates` records those ends.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from broker.interface import Mandate, MandatePurpose, MandateReference, MandateTerms, RefusalReason
from core.audit.event import AuditEventKind
from core.caller import Credential
from core.db import Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change, audit_list_change

CREDENTIAL_KIND = "mandate"
COMPLETED, EXPIRED, REVOKED, PERMISSION_LOST = "completed", "expired", "revoked", "permission_lost"
"""Reasons of an end; those of the triggers are `user_suspended`, `credential_revoked` and `disconnected`."""

USE_STEP = timedelta(minutes=1)
BROKER_NAME = "broker"
Tool = tuple[str, str]
"""Module and name of a tool."""


@dataclass(frozen=True, slots=True)
class StoredMandate:
    """A mandate as it is now: whom it speaks for, and for which tools. `refusal` says why it does not count."""

    id: UUID
    credential: Credential
    tools: frozenset[Tool]
    last_used_at: datetime | None
    refusal: RefusalReason | None


@dataclass(frozen=True, slots=True)
class MandateEntry:
    """A live mandate in a list. `tools` are written as in permissions; `consented_at` is None until the person has
    agreed."""

    id: UUID
    user_email: str
    purpose: str
    title: str
    tools: tuple[str, ...]
    client: str
    created_at: datetime
    consented_at: datetime | None
    expires_at: datetime
    last_used_at: datetime | None


async def insert_mandate(
    work: UnitOfWork, caller: Credential, terms: MandateTerms, title: str, expires_at: datetime, now: datetime
) -> Mandate | None:
    """Make a mandate, or find the one that was made by the same terms. None where somebody else or other terms have
    the purpose, or where the caller has lost the right to make one in this moment."""
    tools = sorted(f"{module}.{name}" for module, name in set(terms.tools))
    consented_at = now if terms.purpose is MandatePurpose.JOB else None
    values = (
        *(caller.user_id, terms.purpose.value, terms.purpose_id, title, tools),
        *(caller.kind, caller.id, caller.client, sorted(caller.scopes), caller.read_only, caller.tool_result_format),
        *(now, consented_at, expires_at),
    )
    row = await work.fetchrow(_INSERT, *values)
    if row is None and await _end_overdue(work, terms, now):
        row = await work.fetchrow(_INSERT, *values)
    if row is None:
        row = await work.fetchrow(_SAME, caller.user_id, terms.purpose.value, terms.purpose_id, tools)
        return None if row is None else _build_mandate(work.tenant_id, row)
    actor = Actor(await work.fetchval(_EMAIL, caller.user_id), caller.user_id, caller.id)
    detail = {"mandate": str(row["id"]), "purpose": row["purpose"], "purpose_id": str(row["purpose_id"])}
    await audit_list_change(work, actor, AuditEventKind.MANDATE_CREATED, "tool", tools, **detail)
    return _build_mandate(work.tenant_id, row)


async def _end_overdue(work: UnitOfWork, terms: MandateTerms, now: datetime) -> bool:
    """End the mandate of a purpose whose time is over, where that was not noticed yet."""
    row = await work.fetchrow(_END_OVERDUE, terms.purpose.value, terms.purpose_id, now, EXPIRED)
    if row is not None:
        await _audit_end(work, row, None)
    return row is not None


async def count_live_mandates(work: UnitOfWork, user_id: UUID, now: datetime) -> int:
    """Count the live mandates of a person."""
    return await work.fetchval(_COUNT, user_id, now)


async def find_mandate(work: UnitOfWork, reference: MandateReference, now: datetime) -> StoredMandate | None:
    """Find a mandate, whatever its state; None where there is none for the purpose that the reference names."""
    # One statement, so one snapshot: the generation is never newer than what stands beside it.
    row = await work.fetchrow(_FIND, reference.mandate_id, reference.purpose_id)
    if row is None:
        return None
    tools = frozenset((module, name) for module, _, name in (tool.partition(".") for tool in row["tools"]))
    credential = _build_credential(work.tenant_id, row)
    return StoredMandate(row["id"], credential, tools, row["last_used_at"], _find_refusal(row, now))


async def record_use(work: UnitOfWork, mandate: StoredMandate, now: datetime) -> None:
    """Note a use, to the minute. The first one is an event of its own."""
    last = mandate.last_used_at
    if last is not None and now - last < USE_STEP:
        return
    if await work.execute(_USED, mandate.id, now, last) and last is None:
        actor = Actor(BROKER_NAME, mandate.credential.user_id, mandate.credential.id)
        await audit_change(work, actor, AuditEventKind.MANDATE_USED, mandate=str(mandate.id))


async def consent_to_mandate(work: UnitOfWork, actor: Actor, mandate_id: UUID, user_id: UUID, now: datetime) -> bool:
    """Let a mandate count that waits for its person's consent; False where none does under that id."""
    if not await work.execute(_CONSENT, mandate_id, user_id, now):
        return False
    await audit_change(work, actor, AuditEventKind.MANDATE_CONSENTED, mandate=str(mandate_id))
    return True


async def end_mandate(
    work: UnitOfWork,
    mandate_id: UUID,
    reason: str,
    now: datetime,
    *,
    actor: Actor | None = None,
    user_id: UUID | None = None,
    purpose_id: UUID | None = None,
) -> bool:
    """End a mandate if it is live, and if it is that user's and for that purpose; False otherwise. With a purpose, also
    record the end that its job's end was (migration 0037)."""
    row = await work.fetchrow(_END, mandate_id, now, reason, user_id, purpose_id)
    if row is not None:
        await _audit_end(work, row, actor)
    return row is not None


async def record_end(work: UnitOfWork, mandate_id: UUID, now: datetime) -> bool:
    """Record an end that came with time or was made by a trigger; False where another process has."""
    row = await work.fetchrow(_RECORD, mandate_id, now, EXPIRED)
    if row is not None:
        await _audit_end(work, row, None)
    return row is not None


async def list_mandates(
    work: UnitOfWork, user_id: UUID | None, now: datetime, after: tuple[datetime, UUID] | None, limit: int
) -> list[MandateEntry]:
    """The live mandates of a user, or of all, the newest first, after the one of that time and id."""
    rows = await work.fetch(_PAGE, user_id, now, *(after or (None, None)), limit)
    return [_build_entry(row) for row in rows]


async def _audit_end(work: UnitOfWork, row: Row, actor: Actor | None) -> None:
    kind = AuditEventKind.MANDATE_REVOKED if row["end_reason"] == REVOKED else AuditEventKind.MANDATE_ENDED
    detail = {"mandate": str(row["id"]), "user": str(row["user_id"]), "purpose": row["purpose"]}
    by = actor or Actor(BROKER_NAME)
    await audit_change(work, by, kind, purpose_id=str(row["purpose_id"]), cause=row["end_reason"], **detail)


def _find_refusal(row: Row, now: datetime) -> RefusalReason | None:
    if row["tenant_status"] != "active":
        return RefusalReason.TENANT_SUSPENDED
    if row["user_status"] != "active":
        return RefusalReason.USER_SUSPENDED
    if row["ended_at"] is not None:
        return RefusalReason.EXPIRED if row["end_reason"] == EXPIRED else RefusalReason.REVOKED
    if row["expires_at"] <= now:
        return RefusalReason.EXPIRED
    return RefusalReason.NO_CONSENT if row["consented_at"] is None else None


def _build_credential(tenant_id: UUID, row: Row) -> Credential:
    return Credential(
        id=f"{CREDENTIAL_KIND}:{row['id']}",
        kind=CREDENTIAL_KIND,
        tenant_id=tenant_id,
        user_id=row["user_id"],
        scopes=frozenset(row["scopes"]),
        read_only=row["read_only"],
        expires_at=row["expires_at"],
        client=row["client"],
        generation=row["generation"],
        tool_result_format=row["result_text"],
    )


def _build_mandate(tenant_id: UUID, row: Row) -> Mandate:
    purpose, needs_consent = MandatePurpose(row["purpose"]), row["consented_at"] is None
    return Mandate(
        row["id"], tenant_id, row["user_id"], purpose, row["purpose_id"], row["expires_at"], needs_consent=needs_consent
    )


def _build_entry(row: Row) -> MandateEntry:
    mandate_id, email, purpose, title, tools, *others = row.values()
    return MandateEntry(mandate_id, email, purpose, title, tuple(tools), *others)


_INSERT = """INSERT INTO auth.mandates (tenant_id, user_id, purpose, purpose_id, title, tools, credential_kind,
    credential_id, client, scopes, read_only, result_text, created_at, consented_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
    ON CONFLICT (tenant_id, purpose, purpose_id) WHERE ended_at IS NULL DO NOTHING
    RETURNING id, user_id, purpose, purpose_id, consented_at, expires_at"""
_SAME = """SELECT id, user_id, purpose, purpose_id, consented_at, expires_at FROM auth.mandates
    WHERE tenant_id = $1 AND user_id = $2 AND purpose = $3 AND purpose_id = $4 AND tools = $5 AND ended_at IS NULL"""
_EMAIL = "SELECT email FROM core.users WHERE tenant_id = $1 AND id = $2"
_COUNT = """SELECT count(*) FROM auth.mandates
    WHERE tenant_id = $1 AND user_id = $2 AND ended_at IS NULL AND expires_at > $3"""
_FIND = """SELECT m.id, m.user_id, m.tools, m.scopes, m.read_only, m.client, m.result_text, m.consented_at,
    m.expires_at, m.last_used_at, m.ended_at, m.end_reason, u.status AS user_status, t.status AS tenant_status,
    g.value AS generation
    FROM auth.mandates m
    JOIN core.users u ON u.tenant_id = m.tenant_id AND u.id = m.user_id
    JOIN core.tenants t ON t.tenant_id = m.tenant_id
    JOIN core.generations g ON g.tenant_id = m.tenant_id
    WHERE m.tenant_id = $1 AND m.id = $2 AND m.purpose_id = $3"""
_USED = """UPDATE auth.mandates SET last_used_at = $3
    WHERE tenant_id = $1 AND id = $2 AND last_used_at IS NOT DISTINCT FROM $4"""
_CONSENT = """UPDATE auth.mandates SET consented_at = $4
    WHERE tenant_id = $1 AND id = $2 AND user_id = $3 AND ended_at IS NULL AND expires_at > $4
    AND consented_at IS NULL"""
_END = """UPDATE auth.mandates SET ended_at = coalesce(ended_at, $3),
    end_reason = CASE WHEN ended_at IS NULL THEN $4 ELSE end_reason END, end_recorded = true
    WHERE tenant_id = $1 AND id = $2 AND (ended_at IS NULL OR $6::uuid IS NOT NULL AND NOT end_recorded)
    AND ($5::uuid IS NULL OR user_id = $5) AND ($6::uuid IS NULL OR purpose_id = $6)
    RETURNING id, user_id, purpose, purpose_id, end_reason"""
_END_OVERDUE = """UPDATE auth.mandates SET ended_at = $4, end_reason = $5, end_recorded = true
    WHERE tenant_id = $1 AND purpose = $2 AND purpose_id = $3 AND ended_at IS NULL AND expires_at <= $4
    RETURNING id, user_id, purpose, purpose_id, end_reason"""
_RECORD = """UPDATE auth.mandates SET ended_at = coalesce(ended_at, $3),
    end_reason = CASE WHEN ended_at IS NULL THEN $4 ELSE end_reason END, end_recorded = true
    WHERE tenant_id = $1 AND id = $2 AND NOT end_recorded RETURNING id, user_id, purpose, purpose_id, end_reason"""
_PAGE = """SELECT m.id, u.email, m.purpose, m.title, m.tools, m.client, m.created_at, m.consented_at, m.expires_at,
    m.last_used_at FROM auth.mandates m JOIN core.users u ON u.tenant_id = m.tenant_id AND u.id = m.user_id
    WHERE m.tenant_id = $1 AND ($2::uuid IS NULL OR m.user_id = $2) AND m.ended_at IS NULL AND m.expires_at > $3
    AND ($4::timestamptz IS NULL OR (m.created_at, m.id) < ($4, $5::uuid))
    ORDER BY m.created_at DESC, m.id DESC LIMIT $6"""
