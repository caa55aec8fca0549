"""Step `settle`: writes the vendor's response to the database and retries for as long as necessary.

The call is over and cannot be made again, so the write is repeated until the database is back. What was granted lies in
the spool meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import asyncpg

from broker.oauth_client.types import (
    ErrorClass,
    TokenEndpointClient,
    TokenResponse,
    TokenResult,
    TokenSet,
    VendorFailure,
)
from broker.refresh import reauth
from broker.refresh.circuit_breaker import close_breaker, release_after_failure
from broker.refresh.decision import RefreshTiming
from broker.refresh.outcome import Attempt, Boottime, RefreshOutcome, StoreResult, seal_outcome, store
from broker.refresh.spool import Spool
from broker.vault.vault import Vault
from core.db import Database, UnitOfWork
from core.errors import Unavailable
from core.failpoints import failpoint
from core.log_events import describe_error

log = logging.getLogger(__name__)

IDLE_MILLISECONDS = "3000"

T = TypeVar("T")


class OutcomeWriter:
    """Writer of outcomes to the spool and to the database."""

    def __init__(
        self, database: Database, vault: Vault, spool: Spool | None, timing: RefreshTiming, boottime: Boottime
    ) -> None:
        self._database = database
        self._vault = vault
        self._spool = spool
        self._timing = timing
        self._boottime = boottime

    async def settle(self, attempt: Attempt, answer: TokenResult) -> StoreResult | None:
        """Store the result of a response; return the store result of its tokens, if it has any.

        Raises nothing that a retry could solve.
        """
        if isinstance(answer, TokenResponse):
            return await self._write_granted(attempt, answer)
        await self._retry_until_written(attempt, lambda work: self._write_failure(work, attempt, answer))
        return None

    async def replay(self) -> int:
        """Store the outcomes that earlier processes left in the spool; return their number.

        Raises:
            core.errors.Unavailable: the database is away; what is not stored yet stays in the spool.
        """
        if self._spool is None:
            return 0
        count = 0
        for path, outcome in self._spool.iterate_pending():
            if await self._replay_outcome(outcome):
                self._spool.remove(path)
                count += 1
        return count

    async def _write_granted(self, attempt: Attempt, granted: TokenResponse) -> StoreResult:
        outcome = seal_outcome(attempt, granted.tokens, attempt.estimate_database_time(self._boottime()))
        spooled = None if self._spool is None else self._spool.write(outcome)
        await failpoint("spooled")
        stored = await self._retry_until_written(
            attempt, lambda work: self._store(work, attempt, outcome, granted), spooled
        )
        await failpoint("stored")
        if stored is not StoreResult.STORED:
            log.warning(
                "refresh response arrived too late to be stored as usual",
                extra={
                    "event": "refresh_outcome_late",
                    "account": str(attempt.ref.id),
                    "result": stored.name.lower(),
                },
            )
        if spooled is not None and self._spool is not None:
            self._spool.remove(spooled)
        return stored

    async def _store(
        self, work: UnitOfWork, attempt: Attempt, outcome: RefreshOutcome, granted: TokenResponse
    ) -> StoreResult:
        await work.fetchval(_IDLE_LIMIT, IDLE_MILLISECONDS)
        await close_breaker(work, attempt)
        return await store(work, outcome, granted.exchange)

    async def _write_failure(self, work: UnitOfWork, attempt: Attempt, failed: VendorFailure) -> None:
        if failed.error_class is ErrorClass.PERMANENT:
            await close_breaker(work, attempt)
            await reauth.handle_refusal(work, self._vault, attempt, failed, self._timing)
        else:
            await release_after_failure(work, attempt, failed, self._timing)

    async def _retry_until_written(
        self, attempt: Attempt, write: Callable[[UnitOfWork], Awaitable[T]], spooled: Path | None = None
    ) -> T:
        """Repeat a transaction until the database has taken it. A server that is up and refuses it is asked until the
        lease is over: a standby that just became the primary is no longer read-only then, a wrong statement stays
        wrong."""
        synced = False
        while True:
            try:
                async with self._database.tenant(attempt.ref.tenant_id) as work:
                    return await write(work)
            except Unavailable:
                pass
            except asyncpg.PostgresError as error:
                log.error(
                    "database rejected a refresh outcome",
                    extra={
                        "event": "refresh_outcome_write_failed",
                        "account": str(attempt.ref.id),
                        **describe_error(error),
                    },
                )
                if self._boottime() > attempt.claim_boottime + self._timing.lease:
                    raise
            if spooled is not None and self._spool is not None and not synced:
                synced = await asyncio.to_thread(self._spool.sync, spooled) is None
            await asyncio.sleep(self._timing.poll_interval)

    async def _replay_outcome(self, outcome: RefreshOutcome) -> bool:
        try:
            async with self._database.tenant(outcome.ref.tenant_id) as work:
                await store(work, outcome)
        except asyncpg.PostgresError as error:
            log.error(
                "database rejected a spooled refresh outcome",
                extra={
                    "event": "spooled_outcome_write_failed",
                    "account": str(outcome.ref.id),
                    **describe_error(error),
                },
            )
            return False
        return True


# A process that is stopped in the middle of its transaction would keep the account's row from everybody else.
_IDLE_LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', $2, true) WHERE $1::uuid IS NOT NULL"


async def revoke_orphaned_grant(
    database: Database, endpoint: TokenEndpointClient, attempt: Attempt, tokens: TokenSet
) -> None:
    """Tell the vendor that these tokens are not wanted: whoever disconnected the account could tell it of older ones
    only. Not where another account, or this one connected anew, may stand on the same grant."""
    prepared, snapshot = attempt.prepared, attempt.prepared.snapshot
    try:
        async with database.tenant(attempt.ref.tenant_id) as work:
            owner = snapshot.user_id or snapshot.role_id
            if await work.fetchval(_STILL_USED, snapshot.client_row_id, snapshot.vendor_account_id, owner):
                return
        refresh = tokens.refresh_token or prepared.refresh_token
        revocation = await endpoint.revoke(
            prepared.provider, prepared.client, access=tokens.access_token, refresh=refresh
        )
    except Exception as error:  # noqa: BLE001 whoever waits for the account gets their answer all the same
        log.error(
            "grant of a deleted account was not revoked",
            extra={"event": "orphaned_grant_revocation_failed", "provider": snapshot.provider, **describe_error(error)},
        )
        return
    log.warning(
        "account was deleted during its refresh",
        extra={"event": "account_deleted_during_refresh", "provider": snapshot.provider, "revoked": revocation.done},
    )


# Where the vendor has not told whose one of them is, the owner's others count.
_STILL_USED = """SELECT EXISTS (SELECT FROM vault.accounts a WHERE a.tenant_id = $1 AND a.oauth_client_id = $2
    AND CASE WHEN a.vendor_account_id = '' OR $3 = '' THEN coalesce(a.user_id, a.role_id) = $4
        ELSE a.vendor_account_id = $3 END)"""
