"""Which streams have something to deliver, who delivers it, and how far the collector has come.

A process claims a stream for as long as one request may take, and says so again before the next: one that is killed
blocks its stream for that time. The position moves by what the collector has taken, under the claim: records may come
twice, and none is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from broker.audit_streams.collector import CollectorTarget
from broker.audit_streams.stream_settings import open_stream_secret
from broker.notifications.settings import WebhookSettings
from broker.vault.vault import Vault
from core.db import Database, UnitOfWork

CLAIMED_FOR = timedelta(seconds=20)
"""Longer than a request may take (broker/oauth_client/vendor_http.py)."""
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=5)
MAX_LISTED = 500


@dataclass(frozen=True, slots=True)
class DueStream:
    """A tenant whose collector lacks sealed records; `fails` where it has not taken the latest."""

    tenant_id: UUID
    fails: bool


@dataclass(frozen=True, slots=True)
class ClaimedStream:
    """A stream that this process delivers. `failures` is how many attempts have failed since the last that has not."""

    claim: UUID
    id: UUID
    position: int
    failures: int
    target: CollectorTarget


async def list_due_streams(database: Database, now: datetime, *, failing: bool) -> Sequence[DueStream]:
    """List the streams that are to deliver now, those that have waited longest first: either those whose collector
    fails, or the others."""
    rows = await database.lookup("deployment", "list", _DUE, now, failing, MAX_LISTED)
    return [DueStream(row["tenant_id"], row["failures"] > 0) for row in rows]


async def has_enabled_stream(database: Database) -> bool:
    """Check whether any tenant streams its log."""
    return bool(await database.lookup("deployment", "list", _ANY))


async def claim_stream(work: UnitOfWork, vault: Vault, now: datetime) -> ClaimedStream | None:
    """Claim the tenant's stream; None where there is nothing to do, or another process does it.

    Raises:
        broker.vault.envelope.DecryptionError: its secret was changed in the database.
    """
    claim = uuid4()
    row = await work.fetchrow(_CLAIM, claim, now, now + CLAIMED_FOR)
    if row is None:
        return None
    secret = await open_stream_secret(vault, work, row)
    target = WebhookSettings.model_validate({"url": row["url"], "secret": secret.reveal()})
    return ClaimedStream(claim, row["id"], row["position"], row["failures"], target)


async def advance_stream(work: UnitOfWork, claim: UUID, before: int, taken: int, now: datetime) -> bool:
    """Record that the collector has taken what stands after `before` until `taken`, and keep the claim; False where it
    is lost: the stream was changed, or another process has it."""
    return await work.execute(_ADVANCE, claim, before, taken, now, now + CLAIMED_FOR) == 1


async def release_stream(work: UnitOfWork, claim: UUID) -> None:
    """Give a claim back."""
    await work.execute(_RELEASE, claim)


async def record_failure(work: UnitOfWork, claim: UUID, error: str, now: datetime, next_attempt_at: datetime) -> None:
    """Record that the collector has not taken records, and give the claim back."""
    await work.execute(_FAIL, claim, error, now, next_attempt_at)


async def record_unreadable(work: UnitOfWork, error: str, now: datetime) -> None:
    """Record that the tenant's stream cannot be claimed, and when that is tried again."""
    await work.execute(_FAIL_UNCLAIMED, error, now, now + LONGEST_PAUSE)


def compute_pause(failures: int, chance: float) -> timedelta:
    """How long to wait after so many failures in a row: twice as long each time, up to five minutes, and by `chance`
    (0 to 1) between half of that and all."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(failures - 1, 10))
    return longest * (0.5 + chance / 2)


_DUE = """SELECT s.tenant_id, s.failures FROM vault.audit_streams s
    JOIN audit.anchors(ARRAY(SELECT tenant_id FROM vault.audit_streams WHERE enabled)) a ON a.tenant = s.tenant_id
    WHERE s.enabled AND a.newest > s.position AND s.next_attempt_at <= $1 AND s.claimed_until <= $1
        AND (s.failures > 0) = $2
    ORDER BY greatest(s.next_attempt_at, coalesce(s.delivered_at, '-infinity')), s.tenant_id LIMIT $3"""
_ANY = "SELECT 1 FROM vault.audit_streams WHERE enabled LIMIT 1"
_CLAIM = """UPDATE vault.audit_streams SET claim = $2, claimed_until = $4
    WHERE tenant_id = $1 AND enabled AND next_attempt_at <= $3 AND claimed_until <= $3
    RETURNING id, url, secret, secret_version, position, failures"""
_ADVANCE = """UPDATE vault.audit_streams SET position = $4, delivered_at = $5, claimed_until = $6, failures = 0,
    failing_since = NULL, last_error = '' WHERE tenant_id = $1 AND claim = $2 AND position = $3"""
_RELEASE = """UPDATE vault.audit_streams SET claim = NULL, claimed_until = '-infinity'
    WHERE tenant_id = $1 AND claim = $2"""
_FAIL = """UPDATE vault.audit_streams SET claim = NULL, claimed_until = '-infinity', failures = failures + 1,
    failing_since = coalesce(failing_since, $4), last_error = $3, next_attempt_at = $5
    WHERE tenant_id = $1 AND claim = $2"""
_FAIL_UNCLAIMED = """UPDATE vault.audit_streams SET failures = failures + 1,
    failing_since = coalesce(failing_since, $3), last_error = $2, next_attempt_at = $4
    WHERE tenant_id = $1 AND claimed_until <= $3"""
