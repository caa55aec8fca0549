"""Handling of refused grants: ask the owner to connect again, or avoid asking where that would be wrong."""

import logging
from datetime import timedelta
from uuid import UUID

from broker.connections.account_snapshot import (
    ACCESS_FIELD,
    REFRESH_FIELD,
    AccountEventKind,
    append_event,
    build_account_context,
    build_candidate_context,
)
from broker.oauth_client.types import VendorFailure
from broker.refresh.decision import EXPIRED, LOST_ROTATION, REVOKED, RefreshTiming
from broker.refresh.outcome import Attempt, PreparedRefresh
from broker.vault.vault import Vault
from core.audit.event import AuditEventKind
from core.db import Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change

log = logging.getLogger(__name__)

BROKER = Actor("broker")
GRANT_END_TOLERANCE = 300.0
"""Seconds. Nobody knows the end of a grant better than that: the vendor counts from its own moment."""


async def handle_refusal(
    work: UnitOfWork, vault: Vault, attempt: Attempt, failed: VendorFailure, timing: RefreshTiming
) -> None:
    """Handle the vendor's statement that the grant is revoked.

    It is ignored for a token that is no longer the account's, or that another process is presenting.
    """
    lost = attempt.uncertain and attempt.prepared.rules.profile != "non_rotating"
    cls = "" if lost else failed.error_class.value
    row = await work.fetchrow(
        _REFUSED, attempt.ref.id, attempt.version, attempt.lease_owner, cls, timing.mass_held, GRANT_END_TOLERANCE
    )
    if row is None:
        return
    await append_event(work, attempt.ref.id, AccountEventKind.FAILED, failed.error_class, failed.exchange.as_json())
    if await _adopt_candidate(work, vault, attempt):
        return
    if row["ended"] and failed.reason == REVOKED:
        await mark_needs_reauth(work, attempt.ref.id, attempt.version, EXPIRED)
        return
    if not row["long_refused"] and await _check_mass_refusal(work, attempt.prepared, timing):
        wait = timing.choose_backoff(attempt.number)
        await work.execute(_HELD_BACK, attempt.ref.id, attempt.version, wait)
        await append_event(work, attempt.ref.id, AccountEventKind.HELD_BACK, failed.error_class)
        return
    await mark_needs_reauth(work, attempt.ref.id, attempt.version, LOST_ROTATION if lost else failed.reason)


async def mark_needs_reauth(work: UnitOfWork, account_id: UUID, version: int, reason: str) -> bool:
    """Ask the owner to connect the account again; False if it has changed meanwhile. Its tokens are kept for a week."""
    row = await work.fetchrow(_MARK, account_id, version, reason)
    if row is None:
        return False
    await append_event(work, account_id, AccountEventKind.NEEDS_REAUTH, reason)
    whose = {"user": str(row["user_id"])} if row["user_id"] else {"role": str(row["role_id"])}
    detail = {"provider": row["provider"], "account": str(account_id), "cause": reason}
    await audit_change(work, BROKER, AuditEventKind.CREDENTIAL_BROKEN, **detail, **whose)
    return True


async def _adopt_candidate(work: UnitOfWork, vault: Vault, attempt: Attempt) -> bool:
    """Put the tokens of a late answer in the place of those that were refused, if there are any: the next attempt
    presents them. Not where showing a spent token would cost the person's other grants."""
    if attempt.prepared.rules.reuse_kills_siblings:
        return False
    row = await work.fetchrow(_NEWEST, attempt.ref.id)
    if row is None or row["access"] is None:
        return False
    blobs = [await _reseal(work, vault, attempt, row, field) for field in (ACCESS_FIELD, REFRESH_FIELD)]
    await work.execute(_ADOPT, attempt.ref.id, attempt.version, *blobs, row["expires_at"])
    await work.execute(_DROP, row["id"])
    await append_event(
        work, attempt.ref.id, AccountEventKind.CANDIDATE_ADOPTED, detail={"version": attempt.version + 1}
    )
    return True


async def _reseal(work: UnitOfWork, vault: Vault, attempt: Attempt, row: Row, field: str) -> bytes:
    plain = await vault.open(work, build_candidate_context(row["id"], field, row["presented_version"]), row[field])
    return attempt.prepared.sealer.seal(build_account_context(attempt.ref.id, field, attempt.version + 1), plain)


async def _check_mass_refusal(work: UnitOfWork, prepared: PreparedRefresh, timing: RefreshTiming) -> bool:
    """Check whether the vendor refuses so many accounts at once that the cause is the vendor's, in one tenant or in
    several.

    Accounts marked as revoked in the minutes before it was detected are restored.
    """
    window = timedelta(seconds=timing.mass_window)
    if _is_mass_refusal(of_one := await work.fetchrow(_OWN_ANSWERS, prepared.endpoint, window), timing):
        counts = of_one, await work.fetchval(_UNDO, prepared.endpoint, window, work.tenant_id)
    elif _is_mass_refusal(
        of_all := await work.fetchrow(_ANSWERS, prepared.endpoint, window, timing.mass_of_one), timing
    ):
        counts = of_all, await work.fetchval(_UNDO, prepared.endpoint, window, None)
    else:
        return False
    row, undone = counts
    detail = {"provider": prepared.provider.id, **dict(row or {}), "undone": undone}
    log.error(
        "vendor refuses many accounts at once; treated as a vendor outage, no user is asked to reconnect",
        extra={"event": "vendor_mass_refusal", **detail},
    )
    return True


def _is_mass_refusal(row: Row | None, timing: RefreshTiming) -> bool:
    assert row is not None
    return row["refused"] >= timing.mass_least and row["refused"] > timing.mass_share * row["attempted"]


# One whose time was over is nobody's fault and no sign of an outage.
_REFUSED = """UPDATE vault.accounts a SET refused_at = coalesce(refused_at, c.now),
    last_error_class = CASE WHEN least(ends_at, refresh_ends_at) < c.around THEN '' ELSE $5 END
    FROM (SELECT now, now + make_interval(secs => $7) AS around FROM vault.clock() AS now) c
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND status = 'active'
    AND (lease_owner = $4 OR lease_owner IS NULL OR lease_until < c.now)
    RETURNING refused_at < c.now - make_interval(secs => $6) AS long_refused,
    coalesce(least(ends_at, refresh_ends_at) < c.around, false) AS ended"""
_HELD_BACK = """UPDATE vault.accounts SET lease_owner = NULL, lease_until = NULL,
    next_try_at = vault.clock() + make_interval(secs => $4)
    WHERE tenant_id = $1 AND id = $2 AND version = $3"""
_MARK = """UPDATE vault.accounts SET status = 'needs_reauth', reason = left($4, 40), reauth_at = vault.clock(),
    lease_owner = NULL, lease_until = NULL, next_try_at = NULL, updated_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND status = 'active' RETURNING user_id, role_id, provider"""
_NEWEST = """SELECT id, presented_version, refresh, access, expires_at FROM vault.candidates
    WHERE tenant_id = $1 AND account_id = $2 ORDER BY presented_version DESC, created_at DESC LIMIT 1"""
_DROP = "DELETE FROM vault.candidates WHERE tenant_id = $1 AND id = $2"
_ADOPT = """UPDATE vault.accounts SET version = version + 1, access = $4, refresh = $5, expires_at = $6,
    refresh_at = $6, lease_owner = NULL, lease_until = NULL, uncertain = true, next_try_at = NULL,
    presented_at = NULL, refused_at = NULL, updated_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2 AND version = $3"""
_OWN_ANSWERS = """SELECT count(*) AS attempted, count(*) FILTER (WHERE last_error_class = 'permanent') AS refused
    FROM vault.accounts WHERE tenant_id = $1 AND endpoint = $2 AND attempted_at > vault.clock() - $3::interval"""
# These two look at all tenants of one endpoint, by functions that tell numbers only; $1 is in every statement.
_ANSWERS = "SELECT attempted, refused FROM vault.vendor_answers($2, $3, $4) WHERE $1::uuid IS NOT NULL"
_UNDO = "SELECT vault.undo_marks($2, $3, $4) WHERE $1::uuid IS NOT NULL"
