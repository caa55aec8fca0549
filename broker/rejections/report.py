"""A gateway tells that a vendor has refused a credential that cannot be renewed: it is held back, and asked about."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from broker.providers.catalogue import get_api_endpoint_key
from core.db import Row, UnitOfWork


@dataclass(frozen=True, slots=True)
class RejectionTiming:
    """The times of docs/decisions/0030."""

    min_pause: float = 60.0
    """From a call's 401 to the next question; it doubles each time, up to `max_pause`."""
    max_pause: float = 300.0

    certain_after: float = 1000.0
    min_rechecks: int = 2
    """A credential that was rejected for `certain_after` seconds, and in `min_rechecks` rechecks, is broken. That
    is decided at the next recheck, so after 24 minutes at the latest, and notified five minutes later."""

    broken_interval: float = 3600.0
    give_up_after: float = 172_800.0
    """A broken credential is rechecked at each `broken_interval` until `give_up_after`, and restored if accepted."""

    acceptance_grace: float = 600.0
    """For so long after the vendor has taken a credential, the 401 of a call is the tool's own affair: some vendors
    answer so where a right is missing."""

    claim_timeout: float = 30.0
    """How long a process that asks keeps the others from asking: longer than the question may take."""

    overdue_after: float = 300.0
    """Delay of a due recheck after which no broker process is taken to run rechecks, and calls are sent again."""

    mass_window: float = 600.0
    mass_minimum: int = 5
    mass_share: float = 0.2
    mass_cap_per_tenant: int = 3
    mass_hold_limit: float = 86_400.0
    """As for refreshes (broker/refresh/decision.py): above `mass_share` of what was used at a vendor within
    `mass_window`, and at least `mass_least`, nobody is blamed, for `mass_held` at the longest. Of one tenant's,
    `mass_of_one` count for the others."""

    def choose_pause(self, rechecks: int, chance: Callable[[], float] = random.random) -> float:
        """Before the question after number `rechecks` (from 0), spread so that what failed together is asked apart."""
        return min(self.max_pause, self.min_pause * 2 ** min(rechecks, 20)) * (0.75 + 0.5 * chance())

    def choose_broken_pause(self, since: float, chance: Callable[[], float] = random.random) -> float | None:
        """Before the next question about one that is broken, refused `since` so long; None to leave it."""
        return self.broken_interval * (0.75 + 0.5 * chance()) if since < self.give_up_after else None


IN_DOUBT = "in_doubt"
"""The cause of a credential that the vendor has refused and that is asked about: it passes, or becomes broken."""


def get_hold_seconds(row: Row, version: int, timing: RejectionTiming) -> float | None:
    """For how many seconds nothing is sent with this version; None where calls may try. The row has `held_back`,
    `rejected_version`, and `recheck_in` as seconds."""
    left = row["recheck_in"]
    if not row["held_back"] or row["rejected_version"] != version or left is None or left < -timing.overdue_after:
        return None
    return max(1.0, left)


async def report_rejection(
    work: UnitOfWork, credential_id: UUID, version: int, origin: str, timing: RejectionTiming
) -> float | None:
    """Note that the vendor at `origin` has refused this version; for how many seconds nothing is sent with it. None
    where the vendor has taken it a short time ago: then the refusal is about what was asked.

    However many calls and gateways tell it, it is asked about once.
    """
    times = timing.choose_pause(0), timing.certain_after, timing.acceptance_grace
    endpoint = get_api_endpoint_key(work.tenant_id, origin)
    return await work.fetchval(_REPORT, credential_id, version, endpoint, *times)


# What is refused now and was refused lately was so in between, unless somebody has found otherwise.
_REPORT = """UPDATE vault.credentials c SET endpoint = $4, rejected_version = $3, held_back = true,
    rejected_last = k.now, rejected_at = CASE WHEN k.goes_on THEN c.rejected_at ELSE k.now END,
    rechecks = CASE WHEN k.goes_on THEN c.rechecks ELSE 0 END,
    recheck_at = CASE WHEN k.goes_on AND c.held_back THEN coalesce(c.recheck_at, k.next) ELSE k.next END
    FROM (SELECT o.id, n.now, n.now + make_interval(secs => $5) AS next,
        coalesce(o.rejected_version = $3 AND o.rejected_last > n.now - make_interval(secs => $6), false) AS goes_on
        FROM vault.credentials o, (SELECT vault.clock() AS now) n WHERE o.tenant_id = $1 AND o.id = $2) k
    WHERE c.tenant_id = $1 AND c.id = k.id
    AND (c.accepted_at IS NULL OR c.accepted_at < k.now - make_interval(secs => $7))
    RETURNING greatest(1, extract(epoch FROM c.recheck_at - k.now))::float8"""
