"""Results of presenting a rejected credential to the vendor again, and their storage."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, StrEnum, auto

from broker.refresh import reauth
from broker.refresh.decision import REVOKED
from broker.rejections.rejected_credentials import RejectedCredential
from broker.rejections.report import RejectionTiming
from broker.vault.credential_store import BROKER_ACTOR, REJECTED, mark_broken, read_owner
from core.audit.event import AuditEventKind
from core.db import Row, UnitOfWork
from core.directory.audit_trail import audit_change


class CredentialVerdict(StrEnum):
    """The answer to one question."""

    ACCEPTED = "accepted"
    """Anything that is said to somebody who is known, a missing right included."""
    REJECTED = "rejected"
    BUSY = "busy"
    """The vendor asks to wait, which says nothing of the credential."""
    UNKNOWN = "unknown"
    """It cannot be asked now, or not in this way."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The verdict; `wait` is for how many seconds a busy vendor wants to be left alone."""

    verdict: CredentialVerdict
    retry_after: float = 0.0


log = logging.getLogger(__name__)


class RecheckOutcome(Enum):
    """Result of a recheck."""

    ACCEPTED = auto()
    POSTPONED = auto()
    BROKEN = auto()
    HELD_BACK = auto()
    """It would be broken, but so many others of this vendor are refused that nobody is blamed."""
    GONE = auto()
    """It was replaced, removed or mended while the vendor was asked."""


async def apply_verdict(
    work: UnitOfWork,
    suspect: RejectedCredential,
    probe: ProbeResult,
    timing: RejectionTiming,
    chance: Callable[[], float],
) -> RecheckOutcome:
    """Write down what the vendor has said."""
    match probe.verdict:
        case CredentialVerdict.ACCEPTED:
            return await _handle_accepted(work, suspect)
        case CredentialVerdict.REJECTED:
            return await _handle_rejected(work, suspect, timing, chance)
        case CredentialVerdict.BUSY:
            return await _postpone(work, suspect, max(probe.retry_after, timing.min_pause), held=not suspect.broken)
        case CredentialVerdict.UNKNOWN:  # whether calls get through is for them to find out
            pause = timing.broken_interval if suspect.broken else timing.max_pause
            return await _postpone(work, suspect, pause * (0.75 + 0.5 * chance()), held=False)


async def _handle_accepted(work: UnitOfWork, suspect: RejectedCredential) -> RecheckOutcome:
    row = await work.fetchrow(_WORKS, suspect.id, suspect.version)
    if row is None:
        return RecheckOutcome.GONE
    if suspect.broken:
        await _restore(work, suspect, row)
    return RecheckOutcome.ACCEPTED


async def _restore(work: UnitOfWork, suspect: RejectedCredential, row: Row) -> None:
    """Restore a credential that was marked broken."""
    if suspect.type == "A":
        mended = await work.execute(_MEND_KEY, suspect.id, suspect.version, REJECTED)
    else:
        mended = await work.execute(_MEND_ACCOUNT, suspect.account_id, suspect.version, REVOKED)
    if mended:
        detail = {"module": suspect.module, "credential": str(suspect.id), **read_owner(row).audit_details}
        await audit_change(work, BROKER_ACTOR, AuditEventKind.CREDENTIAL_RECOVERED, **detail)


async def _handle_rejected(
    work: UnitOfWork, suspect: RejectedCredential, timing: RejectionTiming, chance: Callable[[], float]
) -> RecheckOutcome:
    if suspect.broken:
        return await _record_rejection(
            work, suspect, timing.choose_broken_pause(suspect.seconds_rejected, chance), RecheckOutcome.BROKEN
        )
    is_certain = suspect.seconds_rejected >= timing.certain_after and suspect.rechecks + 1 >= timing.min_rechecks
    wave = (
        is_certain
        and suspect.seconds_rejected < timing.mass_hold_limit
        and await _is_mass_rejection(work, suspect, timing)
    )
    if wave or not is_certain:
        pause = timing.choose_pause(suspect.rechecks + 1, chance)
        return await _record_rejection(
            work, suspect, pause, RecheckOutcome.HELD_BACK if wave else RecheckOutcome.POSTPONED
        )
    settled = await _record_rejection(
        work, suspect, timing.choose_broken_pause(suspect.seconds_rejected, chance), RecheckOutcome.BROKEN
    )
    if settled is RecheckOutcome.BROKEN:
        await _break_credential(work, suspect)
    return settled


async def _break_credential(work: UnitOfWork, suspect: RejectedCredential) -> None:
    if suspect.type == "A":
        now = await work.fetchval("SELECT vault.clock() WHERE $1::uuid IS NOT NULL")
        await mark_broken(work, suspect.id, suspect.version, REJECTED, now)
    else:
        assert suspect.account_id is not None
        await reauth.mark_needs_reauth(work, suspect.account_id, suspect.version, REVOKED)


async def _record_rejection(
    work: UnitOfWork, suspect: RejectedCredential, pause: float | None, settled: RecheckOutcome
) -> RecheckOutcome:
    done = await work.execute(_REFUSED, suspect.id, suspect.version, pause, settled is not RecheckOutcome.BROKEN)
    return settled if done else RecheckOutcome.GONE


async def _postpone(work: UnitOfWork, suspect: RejectedCredential, pause: float, *, held: bool) -> RecheckOutcome:
    done = await work.execute(_WAITS, suspect.id, suspect.version, pause, held)
    return RecheckOutcome.POSTPONED if done else RecheckOutcome.GONE


async def _is_mass_rejection(work: UnitOfWork, suspect: RejectedCredential, timing: RejectionTiming) -> bool:
    """Check whether the vendor rejects so many credentials at once that the cause is the vendor's, in one tenant or in
    several.
    """
    window = timedelta(seconds=timing.mass_window)
    of_one = await work.fetchrow(_OWN_ANSWERS, suspect.endpoint, window)
    of_all = await work.fetchrow(_ANSWERS, suspect.endpoint, window, timing.mass_cap_per_tenant)
    return any(
        row is not None
        and row["refused"] >= timing.mass_minimum
        and row["refused"] > timing.mass_share * row["attempted"]
        for row in (of_one, of_all)
    )


_WORKS = """UPDATE vault.credentials SET rejected_version = NULL, rejected_at = NULL, rejected_last = NULL,
    recheck_at = NULL, rechecks = 0, held_back = false, accepted_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2 AND rejected_version = $3 RETURNING user_id, role_id"""
_MEND_KEY = """UPDATE vault.credentials SET state = 'ok', cause = '', updated_at = vault.clock()
    WHERE tenant_id = $1 AND id = $2 AND version = $3 AND state = 'broken' AND cause = $4"""
_MEND_ACCOUNT = """UPDATE vault.accounts SET status = 'active', reason = '', reauth_at = NULL,
    updated_at = vault.clock() WHERE tenant_id = $1 AND id = $2 AND version = $3 AND status = 'needs_reauth'
    AND reason = $4 AND access IS NOT NULL"""
_REFUSED = """UPDATE vault.credentials SET rejected_last = vault.clock(), rechecks = rechecks + 1, held_back = $5,
    recheck_at = vault.clock() + make_interval(secs => $4) WHERE tenant_id = $1 AND id = $2 AND rejected_version = $3"""
_WAITS = """UPDATE vault.credentials SET recheck_at = vault.clock() + make_interval(secs => $4), held_back = $5
    WHERE tenant_id = $1 AND id = $2 AND rejected_version = $3"""
_OWN_ANSWERS = """SELECT count(*) AS attempted,
    count(*) FILTER (WHERE rejected_last > vault.clock() - $3::interval) AS refused FROM vault.credentials
    WHERE tenant_id = $1 AND endpoint = $2
    AND (last_used_at > vault.clock() - $3::interval OR rejected_last > vault.clock() - $3::interval)"""
# This looks at all tenants of one vendor, by a function that tells numbers only; $1 is in every statement.
_ANSWERS = "SELECT attempted, refused FROM vault.key_answers($2, $3, $4) WHERE $1::uuid IS NOT NULL"
