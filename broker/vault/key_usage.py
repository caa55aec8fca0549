"""What hangs on each key-encryption key."""

from collections.abc import Mapping
from uuid import UUID

from core.db import Database


async def data_keys(database: Database, tenant_id: UUID) -> Mapping[str, int]:
    """How many of a tenant's data keys each key-encryption key wraps, `database` being logged in as the broker."""
    async with database.tenant(tenant_id) as work:
        return {row["kek_id"]: row["count"] for row in await work.fetch(_COUNT)}


_COUNT = "SELECT kek_id, count(*) AS count FROM vault.deks WHERE tenant_id = $1 GROUP BY kek_id"
