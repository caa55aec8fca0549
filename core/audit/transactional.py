"""Record an administrative change in the change's own transaction: both happen, or neither does."""

from core.audit.event import DEPLOYMENT_CHAIN, AuditEvent
from core.audit.truncation import pack
from core.db import UnitOfWork


async def append_in_transaction(work: UnitOfWork, event: AuditEvent) -> None:
    """Append `event`, which belongs to the unit of work's tenant or to the deployment; durable when the transaction
    commits.
    """
    assert event.tenant_id in (work.tenant_id, DEPLOYMENT_CHAIN)
    await work.execute(_APPEND, pack(event), event.tenant_id)


_APPEND = "SELECT audit.append(ARRAY[$3::uuid], ARRAY[$2::bytea]) WHERE $1::uuid IS NOT NULL"
