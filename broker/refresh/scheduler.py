"""Scheduler that refreshes tokens in use ahead of expiry and keeps unused grants alive, for all tenants.

Every broker process may run one: the lease decides who refreshes, and nobody waits for anybody: what one tenant's
vendor keeps waiting delays no other's, neither in a look nor from one look to the next.
"""

import asyncio
import contextlib
import logging
import random
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from broker.oauth_client.types import TokenEndpointClient
from broker.refresh.claim import ProviderLookup
from broker.refresh.decision import RefreshTiming
from broker.refresh.outcome import boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.refresher import RefreshDependencies, ignore_outcome
from broker.refresh.spool import Spool
from broker.refresh.token_service import AccountTokenService
from broker.vault.vault import Vault
from core.concurrency.background import report_turn, run_in_background
from core.concurrency.fair_semaphore import FairSemaphore
from core.db import Database
from core.log_events import describe_error

SWEEP_INTERVAL = 15.0
MIN_SWEEP_PAUSE = 1.0
"""Seconds until the next look where more was due than one look takes."""
CLEANUP_INTERVAL = 3600.0
MAX_PER_CLIENT = 50
"""Of one OAuth client, in one look."""
MAX_PER_SWEEP = 1000
PARALLEL_PER_CLIENT = 4
PARALLEL_PER_TENANT = 8
PARALLEL_TOTAL = 64

log = logging.getLogger(__name__)

_Client = tuple[UUID, UUID]
"""A tenant and one of its OAuth clients: one token endpoint."""


class RefreshScheduler:
    """Scheduler of due accounts. Looks every :data:`EVERY` seconds, with jitter between processes.

    In a copy of another's database that nobody has adopted it leaves all of them alone, and says so once.
    """

    def __init__(
        self,
        accounts: AccountTokenService,
        database: Database,
        timing: RefreshTiming,
        *,
        every: float = SWEEP_INTERVAL,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._accounts = accounts
        self._database = database
        self._timing = timing
        self._is_idle = False
        self._every = every
        self._chance = chance
        self._turns = FairSemaphore(per_key=PARALLEL_PER_CLIENT, tenant=PARALLEL_PER_TENANT, all=PARALLEL_TOTAL)
        self._under_way: dict[_Client, asyncio.Task[int]] = {}
        self._more = asyncio.Event()

    async def run(self) -> None:
        """Run until cancelled. Started refreshes continue: cancel this first, then drain the token service."""
        until_tidy = 0.0
        try:
            while True:
                pause = self._every * (0.5 + self._chance())
                await self._pause(pause)
                until_tidy -= pause
                try:
                    await self._begin()
                    if until_tidy <= 0:
                        await self._clean_up()
                        until_tidy = CLEANUP_INTERVAL
                except Exception as error:  # noqa: BLE001 tokens expire where nobody sweeps: what fails is tried again
                    report_turn(failed=True)
                    log.warning(
                        "refresh sweep failed", extra={"event": "refresh_sweep_failed", **describe_error(error)}
                    )
                else:
                    report_turn(failed=False)
        finally:
            for task in self._under_way.values():
                task.cancel()

    async def sweep(self) -> int:
        """Refresh all due accounts and wait for them; return how many are no longer due.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        return sum(await asyncio.gather(*(await self._begin())))

    async def _pause(self, seconds: float) -> None:
        self._more.clear()
        await asyncio.sleep(min(MIN_SWEEP_PAUSE, seconds))
        try:
            async with asyncio.timeout(max(0.0, seconds - MIN_SWEEP_PAUSE)):
                await self._more.wait()
        except TimeoutError:
            pass

    async def _clean_up(self) -> None:
        await self._database.call("SELECT vault.sweep()")
        await self._database.call("SELECT vault.announce_ends()")

    async def _begin(self) -> list["asyncio.Task[int]"]:
        """Start the due refreshes of each OAuth client that has none running."""
        if not self._is_awake():
            return []
        used_within = timedelta(seconds=self._timing.used_within)
        due: defaultdict[_Client, list[UUID]] = defaultdict(list)
        listed = self._accounts.read_boottime()
        for row in await self._database.fetch(_DUE, used_within, MAX_PER_CLIENT, MAX_PER_SWEEP):
            due[row["tenant_id"], row["client_id"]].append(row["account_id"])
        idle = {client: accounts for client, accounts in due.items() if client not in self._under_way}
        return [self._start(client, accounts, listed) for client, accounts in idle.items()]

    def _is_awake(self) -> bool:
        was_idle, self._is_idle = self._is_idle, not self._accounts.outbound_allowed
        if self._is_idle and not was_idle:
            log.warning(
                "background refresh is off: this deployment is a copy that was not adopted; see `mcpist adopt`",
                extra={"event": "background_refresh_paused"},
            )
        return not self._is_idle

    def _start(self, client: _Client, accounts: list[UUID], listed: float) -> "asyncio.Task[int]":
        task = self._under_way[client] = asyncio.create_task(self._run_batch(client, accounts, listed))
        task.add_done_callback(lambda _: self._under_way.pop(client, None))
        return task

    async def _run_batch(self, client: _Client, accounts: list[UUID], listed: float) -> int:
        count = sum(await asyncio.gather(*(self._refresh_account(client, account, listed) for account in accounts)))
        if count == len(accounts) == MAX_PER_CLIENT:
            self._more.set()
        return count

    async def _refresh_account(self, client: _Client, account_id: UUID, listed: float) -> bool:
        """Refresh one account; return whether it got an outcome, good or bad.

        An account without an outcome stays due and is tried at the next run. A refresh by another process since the
        listing is an outcome as well.
        """
        tenant_id, client_id = client
        async with self._turns.slot(tenant_id, client_id):
            try:
                await self._accounts.refresh(tenant_id, account_id, listed=listed)
                return True
            except Exception as error:  # noqa: BLE001 what is wrong with one account ends no other's turn
                log.warning(
                    "account refresh failed",
                    extra={"event": "account_refresh_failed", "account": str(account_id), **describe_error(error)},
                )
                return False


_DUE = "SELECT tenant_id, account_id, client_id FROM vault.due_accounts($1, $2, $3)"


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
    schedules: bool = True,
    count_refresh: Callable[[str], None] = ignore_outcome,
) -> AsyncGenerator[AccountTokenService]:
    """Run the token service until the block is left; then start no refresh and wait up to 15 s for running ones.
    Without `schedules` it refreshes only what is asked for.

    `database` is in the broker's role, and `spool` a folder on a disk that outlives the process. The block has to be
    left on SIGTERM, and before `endpoint` and `database` are closed.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    timing, folder = timing or RefreshTiming(), Spool(spool)
    folder.open()
    settler = OutcomeWriter(database, vault, folder, timing, boottime)
    dependencies = RefreshDependencies(
        database, vault, providers, endpoint, settler, timing, count_refresh=count_refresh
    )
    accounts = AccountTokenService(dependencies)
    await accounts.replay_spool()
    try:
        async with contextlib.AsyncExitStack() as stack:
            if schedules:
                scheduler = RefreshScheduler(accounts, database, timing, every=every)
                await stack.enter_async_context(run_in_background("refreshing tokens", scheduler.run()))
            yield accounts
    finally:
        if not await accounts.drain():
            log.error(
                "refresh still running at shutdown; its response goes to the spool if it arrives",
                extra={"event": "refresh_shutdown_timeout"},
            )
