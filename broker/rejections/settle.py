"""What becomes of a refused credential once the vendor was asked again."""

import logging
from collections.abc import Callable
from datetime import timedelta
from enum import Enum, auto

from broker.refresh import marks
from broker.refresh.recovery import REVOKED
from broker.rejections.suspects import Suspect
from broker.rejections.timing import RejectionTiming
from broker.rejections.verdicts import Asked, Verdict
from broker.vault.credentials import BROKER, REJECTED, mark_broken
from broker.vault.owners import owner_of
from core.audit.event import Kind
from core.db import Row, UnitOfWork
from core.directory.actor import recorded

log = logging.getLogger(__name__)


class Settled(Enum):
    """What became of it."""

    WORKS = auto()
    WAITS = auto()
    BROKEN = auto()
    HELD = auto()
    """It would be broken, but so many others of this vendor are refused that nobody is blamed."""
    GONE = auto()
    """It was replaced, removed or mended while the vendor was asked."""


async def settle(
    work: UnitOfWork, suspect: Suspect, asked: Asked, timing: RejectionTiming, chance: Callable[[], float]
) -> Settled:
    """Write down what the vendor has said."""
    match asked.verdict:
        case Verdict.ACCEPTED:
            return await _works(work, suspect)
        case Verdict.REJECTED:
            return await _refused_again(work, suspect, timing, chance)
        case Verdict.BUSY:
            return await _waits(work, suspect, max(asked.wait, timing.pause), held=not suspect.broken)
        case Verdict.UNKNOWN:  # whether calls get through is for them to find out
            pause = timing.later if suspect.broken else timing.most_pause
            return await _waits(work, suspect, pause * (0.75 + 0.5 * chance()), held=False)


async def _works(work: UnitOfWork, suspect: Suspect) -> Settled:
    row = await work.fetchrow(_WORKS, suspect.id, suspect.version)
    if row is None:
        return Settled.GONE
    if suspect.broken:
        await _mend(work, suspect, row)
    return Settled.WORKS


async def _mend(work: UnitOfWork, suspect: Suspect, row: Row) -> None:
    """What was found broken is used again."""
    if suspect.type == "A":
        mended = await work.execute(_MEND_KEY, suspect.id, suspect.version, REJECTED)
    else:
        mended = await work.execute(_MEND_ACCOUNT, suspect.account_id, suspect.version, REVOKED)
    if mended:
        detail = {"module": suspect.module, "credential": str(suspect.id), **owner_of(row).recorded}
        await recorded(work, BROKER, Kind.CREDENTIAL_RECOVERED, **detail)


async def _refused_again(
    work: UnitOfWork, suspect: Suspect, timing: RejectionTiming, chance: Callable[[], float]
) -> Settled:
    if suspect.broken:
        return await _noted(work, suspect, timing.next_look(suspect.since, chance), Settled.BROKEN)
    is_certain = suspect.since >= timing.certain and suspect.rechecks + 1 >= timing.least_rechecks
    wave = is_certain and suspect.since < timing.mass_held and await _wave(work, suspect, timing)
    if wave or not is_certain:
        pause = timing.next_pause(suspect.rechecks + 1, chance)
        return await _noted(work, suspect, pause, Settled.HELD if wave else Settled.WAITS)
    settled = await _noted(work, suspect, timing.next_look(suspect.since, chance), Settled.BROKEN)
    if settled is Settled.BROKEN:
        await _break(work, suspect)
    return settled


async def _break(work: UnitOfWork, suspect: Suspect) -> None:
    if suspect.type == "A":
        now = await work.fetchval("SELECT vault.clock() WHERE $1::uuid IS NOT NULL")
        await mark_broken(work, suspect.id, suspect.version, REJECTED, now)
    else:
        assert suspect.account_id is not None
        await marks.mark(work, suspect.account_id, suspect.version, REVOKED)


async def _noted(work: UnitOfWork, suspect: Suspect, pause: float | None, settled: Settled) -> Settled:
    done = await work.execute(_REFUSED, suspect.id, suspect.version, pause, settled is not Settled.BROKEN)
    return settled if done else Settled.GONE


async def _waits(work: UnitOfWork, suspect: Suspect, pause: float, *, held: bool) -> Settled:
    done = await work.execute(_WAITS, suspect.id, suspect.version, pause, held)
    return Settled.WAITS if done else Settled.GONE


async def _wave(work: UnitOfWork, suspect: Suspect, timing: RejectionTiming) -> bool:
    """Whether the vendor refuses so much at once that it is the vendor's doing: of this tenant, or of several."""
    window = timedelta(seconds=timing.mass_window)
    of_one = await work.fetchrow(_OWN_ANSWERS, suspect.endpoint, window)
    of_all = await work.fetchrow(_ANSWERS, suspect.endpoint, window, timing.mass_of_one)
    return any(
        row is not None
        and row["refused"] >= timing.mass_least
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
