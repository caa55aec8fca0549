"""Lifecycle of refreshing in a process: replay the spool, refresh ahead of expiry, drain at the end."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

from broker.oauth_client.types import TokenEndpointClient
from broker.refresh.attempt import boottime
from broker.refresh.claim import ProviderLookup
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.refresher import RefreshDependencies
from broker.refresh.scheduler import SWEEP_INTERVAL, RefreshScheduler
from broker.refresh.spool import Spool
from broker.refresh.timing import RefreshTiming
from broker.refresh.token_service import AccountTokenService
from broker.vault.vault import Vault
from core.db import Database

log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def run_refresher(
    database: Database,
    vault: Vault,
    providers: ProviderLookup,
    endpoint: TokenEndpointClient,
    spool: Path,
    *,
    timing: RefreshTiming | None = None,
    every: float = SWEEP_INTERVAL,
) -> AsyncGenerator[AccountTokenService]:
    """Run the token service until the block is left; then start no refresh and wait up to 15 s for running ones.

    `database` is in the broker's role, and `spool` a folder on a disk that outlives the process. The block has to be
    left on SIGTERM, and before `endpoint` and `database` are closed.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    timing, folder = timing or RefreshTiming(), Spool(spool)
    folder.open()
    settler = OutcomeWriter(database, vault, folder, timing, boottime)
    accounts = AccountTokenService(RefreshDependencies(database, vault, providers, endpoint, settler, timing))
    await accounts.replay_spool()
    sweeping = asyncio.create_task(RefreshScheduler(accounts, database, timing, every=every).run())
    try:
        yield accounts
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])
        if not await accounts.drain():
            log.error(
                "refresh still running at shutdown; its response goes to the spool if it arrives",
                extra={"event": "refresh_shutdown_timeout"},
            )
