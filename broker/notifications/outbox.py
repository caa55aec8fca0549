"""Notices that wait to be told, of all tenants. Each is taken by one process at a time, and closed once."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from core.db import Database, Row, UnitOfWork

MOST_AT_ONCE = 50
MOST_RECIPIENTS = 20
MOST_ATTEMPTS = 60
"""Two minutes apart and more: for about three days."""

DeliveryOutcome = Literal["told", "over", "given_up", "nobody"]
NotificationKey = tuple[UUID, UUID]
"""The tenant's id and the notice's."""


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job that has ended, at the time of its notification. `title` is its person's own words where a schedule made
    it."""

    id: UUID
    title: str
    module: str
    tool: str
    is_scheduled: bool
    began_at: datetime


@dataclass(frozen=True, slots=True)
class UserNotification:
    """Event to notify users about.

    Problems `about` an account or credential are for its owner to solve, those about an oauth_client for
    administrators; account_end announces that an account stops working at `ends_at`. `service` is a module (of a
    credential) or a provider; `module` is one that the link can name, if there is any. `role_id` is the role that
    shares the account. `told_by` names the channels that have sent it. `over`: the problem was solved meanwhile; if it
    has recurred, it has a new event, so that a flapping problem is sent once, after it has persisted for a while.
    That of a job tells its person alone that it has ended, with the state `cause`; nothing is to be repaired.
    `unwanted_channels` are those by which the tenant does not tell this; of the recipients, nobody is left who wants no
    mail of it.
    """

    tenant_id: UUID
    id: UUID
    tenant: str
    subject_type: Literal["account", "account_end", "credential", "oauth_client", "job"]
    service: str
    module: str
    account: str
    cause: str
    role_id: UUID | None
    is_resolved: bool
    ends_at: datetime | None
    created_at: datetime
    attempts: int
    delivered_channels: tuple[str, ...]
    recipients: tuple[str, ...]
    unwanted_channels: tuple[str, ...]
    job: "EndedJob | None" = None


async def take_due(database: Database) -> list[NotificationKey]:
    """Notices that are due. Whoever takes one tells it, or fails to, within two minutes."""
    rows = await database.fetch("SELECT tenant_id, id FROM vault.take_notices($1)", MOST_AT_ONCE)
    return [(row["tenant_id"], row["id"]) for row in rows]


async def read_notification(work: UnitOfWork, notice_id: UUID) -> UserNotification | None:
    """One notice, as things stand now; None if it is gone."""
    row = await work.fetchrow(_READ, notice_id)
    if row is None:
        return None
    rows = await work.fetch(_RECIPIENTS, row["user_id"], row["administrators"], row["about"], MOST_RECIPIENTS)
    people = tuple(recipient["email"] for recipient in rows)
    further = tuple(address for address in row["addresses"] if address not in people)
    return UserNotification(
        tenant_id=work.tenant_id,
        id=notice_id,
        tenant=row["tenant"],
        subject_type=row["about"],
        service=row["service"] or "",
        module=row["module"] or "",
        account=row["account"] or "",
        cause=row["cause"],
        role_id=row["role_id"],
        is_resolved=row["over"],
        ends_at=row["ends_at"],
        created_at=row["created_at"],
        attempts=row["attempts"],
        delivered_channels=tuple(row["told_by"]),
        recipients=(*people, *further),
        unwanted_channels=tuple(name for name in ("mail", "webhook") if not row[name]),
        job=_read_job(row) if row["about"] == "job" else None,
    )


def _read_job(row: Row) -> EndedJob:
    return EndedJob(
        row["subject_id"], row["title"], row["job_module"], row["tool"], row["is_scheduled"], row["began_at"]
    )


async def record_delivery(work: UnitOfWork, notice_id: UUID, channel: str) -> None:
    """One channel has told it: it will not again, whatever becomes of the others."""
    await work.execute(_TOLD, notice_id, channel)


async def close_notification(work: UnitOfWork, notice_id: UUID, outcome: DeliveryOutcome) -> None:
    """There is nothing more to do."""
    await work.execute(_CLOSE, notice_id, outcome)


_READ = """SELECT n.about, n.cause, n.created_at, n.attempts, n.told_by, t.name AS tenant,
    coalesce(a.provider, c.module, o.provider) AS service,
    coalesce(c.module, (SELECT min(b.module) FROM vault.credentials b
        WHERE b.tenant_id = $1 AND b.account_id = a.id)) AS module,
    coalesce(a.account, c.account, '') AS account, coalesce(a.user_id, c.user_id, n.user_id) AS user_id,
    n.subject_id, n.title, n.module AS job_module, n.tool, n.is_scheduled, n.began_at,
    coalesce(a.role_id, c.role_id) AS role_id,
    coalesce(s.mail, true) AS mail, coalesce(s.webhook, true) AS webhook,
    coalesce(s.administrators, false) AS administrators, coalesce(s.addresses, '{}') AS addresses,
    CASE WHEN n.about = 'account_end' THEN a.told_end END AS ends_at,
    CASE n.about WHEN 'account' THEN a.status IS DISTINCT FROM 'needs_reauth'
        WHEN 'account_end' THEN a.status IS DISTINCT FROM 'active' OR a.told_end IS NULL
            OR a.told_end <= vault.clock() OR least(a.ends_at, a.refresh_ends_at) > a.told_end
        WHEN 'credential' THEN c.state IS DISTINCT FROM 'broken'
        WHEN 'job' THEN false
        ELSE o.state IS DISTINCT FROM 'misconfigured' END
    OR EXISTS (SELECT FROM vault.notices m WHERE m.tenant_id = $1 AND m.about = n.about
        AND m.subject_id = n.subject_id AND (m.created_at, m.id) > (n.created_at, n.id)) AS over
    FROM vault.notices n
    JOIN core.tenants t ON t.tenant_id = n.tenant_id
    LEFT JOIN vault.accounts a ON n.about IN ('account', 'account_end') AND a.tenant_id = $1 AND a.id = n.subject_id
    LEFT JOIN vault.credentials c ON n.about = 'credential' AND c.tenant_id = $1 AND c.id = n.subject_id
    LEFT JOIN vault.oauth_clients o ON n.about = 'oauth_client' AND o.tenant_id = $1 AND o.id = n.subject_id
    LEFT JOIN vault.notification_settings s ON s.tenant_id = $1 AND s.alert = n.about
    WHERE n.tenant_id = $1 AND n.id = $2 AND n.closed_at IS NULL"""
# The owner first, if there is one; else, or as the tenant wants, its administrators.
_RECIPIENTS = """SELECT u.email FROM core.users u WHERE u.tenant_id = $1 AND u.status = 'active'
    AND (u.id = $2 OR u.system_role = 'admin' AND ($2::uuid IS NULL OR $3))
    AND NOT EXISTS (SELECT FROM vault.notification_preferences p
        WHERE p.tenant_id = $1 AND p.user_id = u.id AND p.alert = $4 AND NOT p.mail)
    ORDER BY u.id IS DISTINCT FROM $2, u.email LIMIT $5"""
_TOLD = "UPDATE vault.notices SET told_by = array_append(told_by, $3) WHERE tenant_id = $1 AND id = $2"
_CLOSE = """UPDATE vault.notices SET closed_at = vault.clock(), outcome = $3
    WHERE tenant_id = $1 AND id = $2 AND closed_at IS NULL"""
