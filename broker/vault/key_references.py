"""References from wrapped data keys and signing keys to each key-encryption key."""

from collections.abc import Mapping
from uuid import UUID

from core.audit.event import DEPLOYMENT_CHAIN
from core.db import Database


async def count_data_keys(database: Database, tenant_id: UUID) -> Mapping[str, int]:
    """Count the tenant's data keys by wrapping key; `database` is logged in as the broker."""
    async with database.tenant(tenant_id) as work:
        return {row["kek_id"]: row["count"] for row in await work.fetch(_COUNT)}


async def count_signing_keys(database: Database) -> Mapping[str, int]:
    """Count the keys that sign access tokens by wrapping key."""
    async with database.tenant(DEPLOYMENT_CHAIN) as work:
        return {row["kek_id"]: row["count"] for row in await work.fetch(_SIGNING)}


# Signing keys have no tenant; $1 is there because every statement has it.
_SIGNING = "SELECT kek_id, count(*) AS count FROM auth.signing_keys WHERE $1::uuid IS NOT NULL GROUP BY kek_id"
_COUNT = "SELECT kek_id, count(*) AS count FROM vault.deks WHERE tenant_id = $1 GROUP BY kek_id"
