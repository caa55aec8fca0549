"""Record an administrative change in the change's own transaction: both happen, or neither does."""

from core.audit.bounds import pack
from core.audit.event import Event
from core.db import UnitOfWork


async def record(work: UnitOfWork, event: Event) -> None:
    """Append `event`, which belongs to the unit of work's tenant; durable when the transaction commits."""
    await work.execute("SELECT audit.append(ARRAY[$1::uuid], ARRAY[$2::bytea])", pack(event))
