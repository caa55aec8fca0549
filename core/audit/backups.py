"""When `mcpist backup` wrote its newest backup, as the audit log has it."""

from datetime import datetime

from core.audit.event import DEPLOYMENT_CHAIN
from core.db import Database

# As the index has it: kinds are compared by their bytes.
_NEWEST = """SELECT max(at) FROM audit.events WHERE tenant_id = $1 AND kind COLLATE "C" = 'operator.backup'
    AND kind <> 'call.intent' AND kind <> 'call.outcome'"""


async def fetch_newest_backup(console: Database) -> datetime | None:
    """Fetch when the newest backup was written; None where the log, as far as it is kept, has none.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    async with console.tenant(DEPLOYMENT_CHAIN) as work:
        return await work.fetchval(_NEWEST)
