"""Accounts as a process keeps them: what was left in the spool stored first, refreshed ahead of time, drained last."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

from broker.accounts.accounts import Accounts
from broker.refresh.attempt import boottime
from broker.refresh.claim import Providers
from broker.refresh.refresher import Tools
from broker.refresh.settle import Settler
from broker.refresh.spool import Spool
from broker.refresh.sweeper import EVERY, Sweeper
from broker.refresh.timing import Timing
from broker.vault.vault import Vault
from broker.vendor_oauth.exchange import TokenEndpoint
from core.db import Database

log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def kept_fresh(
    database: Database,
    vault: Vault,
    providers: Providers,
    endpoint: TokenEndpoint,
    spool: Path,
    *,
    timing: Timing | None = None,
    every: float = EVERY,
) -> AsyncGenerator[Accounts]:
    """The accounts, until the block is left: then no refresh begins any more, and those under way get up to 15 s.

    `database` is in the broker's role, and `spool` a folder on a disk that outlives the process. The block has to be
    left on SIGTERM, and before `endpoint` and `database` are closed.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    timing, folder = timing or Timing(), Spool(spool)
    folder.open()
    settler = Settler(database, vault, folder, timing, boottime)
    accounts = Accounts(Tools(database, vault, providers, endpoint, settler, timing))
    await accounts.open()
    sweeping = asyncio.create_task(Sweeper(accounts, database, timing, every=every).run())
    try:
        yield accounts
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])
        if not await accounts.drain():
            log.error("a refresh did not end in time; its answer will be in the spool, if it comes")
