"""Background maintenance of an open vault."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator

from broker.vault.deployment_guard import DeploymentGuard
from broker.vault.vault import Vault
from core.concurrency.background import report_turn, run_in_background
from core.db import Database
from core.log_events import describe_error

CLEANUP_INTERVAL_SECONDS = 1.0
TENANTS_PER_SECOND = 500

log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def run_maintenance(vault: Vault, database: Database, guard: DeploymentGuard) -> AsyncGenerator[None]:
    """Forget the keys of tenants that are gone, within a second; notice that a copy was adopted."""
    async with (
        run_in_background("watching for an adoption", guard.watch()),
        run_in_background("evicting data keys", _run_cleanup(vault, database)),
    ):
        yield


async def _run_cleanup(vault: Vault, database: Database) -> None:
    while True:
        await vault.wait_until_cached()
        tenants = 0
        try:
            tenants = await vault.evict_expired(database)
        except Exception as error:  # noqa: BLE001 keys of deleted tenants must go: what fails is tried again
            report_turn(failed=True)
            log.debug(
                "expired data keys were not evicted", extra={"event": "dek_eviction_failed", **describe_error(error)}
            )
        else:
            report_turn(failed=False)
        await asyncio.sleep(max(CLEANUP_INTERVAL_SECONDS, tenants / TENANTS_PER_SECOND))
