"""A gateway tells that a vendor has refused a credential that cannot be renewed: it is held back, and asked about."""

from uuid import UUID

from broker.refresh.endpoint_key import get_api_endpoint_key
from broker.rejections.rejection_timing import RejectionTiming
from core.db import Row, UnitOfWork

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
