"""Background maintenance of an open vault."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator

import asyncpg

from broker.vault.deployment_guard import DeploymentGuard
from broker.vault.vault import Vault
from core.db import Database
from core.errors import Unavailable

CLEANUP_INTERVAL_SECONDS = 1.0
TENANTS_PER_SECOND = 500

log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def run_maintenance(vault: Vault, database: Database, guard: DeploymentGuard) -> AsyncGenerator[None]:
    """Forget the keys of tenants that are gone, within a second; notice that a copy was adopted."""
    tasks = [
        asyncio.create_task(guard.watch(), name="deployment guard"),
        asyncio.create_task(_run_cleanup(vault, database), name="data keys"),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _run_cleanup(vault: Vault, database: Database) -> None:
    while True:
        tenants = 0
        try:
            tenants = await vault.evict_expired(database)
        except (Unavailable, asyncpg.PostgresError) as error:
            log.debug(
                "expired data keys were not evicted",
                extra={"event": "dek_eviction_failed", "error": type(error).__name__},
            )
        await asyncio.sleep(max(CLEANUP_INTERVAL_SECONDS, tenants / TENANTS_PER_SECOND))
