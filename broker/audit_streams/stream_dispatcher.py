"""Delivers the sealed audit log of each tenant to its log collector, in order, until the process ends.

Streams run side by side, each with one request at a time. Those whose collector fails have places of their own, so that
dead collectors, however many, take none from the others.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from broker.audit_streams.collector import SECRET_ERROR, TOO_LARGE_ERROR, Collector
from broker.audit_streams.deliveries import (
    ClaimedStream,
    advance_stream,
    claim_stream,
    compute_pause,
    has_enabled_stream,
    list_due_streams,
    record_failure,
    record_unreadable,
    release_stream,
)
from broker.audit_streams.record_batches import MAX_RECORDS, RecordBatch, fetch_batch
from broker.vault.envelope import DecryptionError
from broker.vault.vault import Vault
from core.concurrency.periodic import PeriodicTask
from core.db import Database
from core.errors import MCPistError
from core.log_events import describe_error

POLL_SECONDS = 3.0
UNUSED_SECONDS = 10.0
"""How long nobody looks where no tenant streams."""
MAX_HEALTHY, MAX_FAILING = 12, 4
"""Streams at the same time; each holds one batch (broker/audit_streams/record_batches.py)."""
TURN_SECONDS = 10.0
"""How long one tenant begins further requests; then others have a turn, who wait for a slow collector no longer."""

log = logging.getLogger(__name__)


class AuditStreamDispatcher:
    """`database` is in the broker's role. For tests: `chance` and `monotonic`."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        collector: Collector,
        *,
        clock: Callable[[], datetime],
        chance: Callable[[], float] = random.random,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._vault = vault
        self._collector = collector
        self._clock = clock
        self._chance = chance
        self._monotonic = monotonic
        self._unused_until = float("-inf")
        self._running: dict[bool, dict[UUID, asyncio.Task[None]]] = {False: {}, True: {}}

    async def run(self) -> None:
        """Look every few seconds, until cancelled; what is under way is cut off then, and goes on elsewhere."""
        try:
            await PeriodicTask("delivering the audit log", self.start_due, POLL_SECONDS, runs_at_start=True).run()
        finally:
            tasks = [task for lane in self._running.values() for task in lane.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def start_due(self) -> None:
        """Begin to deliver what is due, as far as there is room.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        if self._monotonic() < self._unused_until or not self._vault.outbound_allowed:
            return
        if not await has_enabled_stream(self._database):
            self._unused_until = self._monotonic() + UNUSED_SECONDS
            return
        for failing, most in ((False, MAX_HEALTHY), (True, MAX_FAILING)):
            lane = self._running[failing]
            if len(lane) >= most:
                continue
            for due in await list_due_streams(self._database, self._clock(), failing=failing):
                if len(lane) < most and not any(due.tenant_id in running for running in self._running.values()):
                    lane[due.tenant_id] = asyncio.create_task(self._deliver_in_lane(due.tenant_id, lane))

    async def wait_until_idle(self) -> None:
        """Wait until nothing that was begun is under way."""
        while tasks := [task for lane in self._running.values() for task in lane.values()]:
            await asyncio.gather(*tasks)

    async def _deliver_in_lane(self, tenant_id: UUID, lane: dict[UUID, asyncio.Task[None]]) -> None:
        try:
            await self.deliver(tenant_id)
        except Exception as error:  # noqa: BLE001 what fails now is tried again in the next turn
            log.warning(
                "delivering a tenant's audit log failed; it is tried again",
                extra={"event": "audit_stream_interrupted", "tenant": str(tenant_id), **describe_error(error)},
            )
        finally:
            lane.pop(tenant_id, None)

    async def deliver(self, tenant_id: UUID) -> None:
        """Deliver what waits of one tenant, for at most some seconds, unless another process does.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        claimed = await self._claim(tenant_id)
        if claimed is None:
            return
        position, failures, max_records = claimed.position, claimed.failures, MAX_RECORDS
        until = self._monotonic() + TURN_SECONDS
        while self._monotonic() < until:
            async with self._database.tenant(tenant_id) as work:
                batch = await fetch_batch(work, position, max_records)
            if batch is None:
                break
            error = await self._collector.post_batch(claimed.target, claimed.id, batch, self._clock())
            if error == TOO_LARGE_ERROR and batch.records > 1:
                max_records = batch.records // 2
            elif error:
                await self._fail(tenant_id, claimed, error, failures + 1)
                return
            elif not await self._advance(tenant_id, claimed, position, batch):
                return
            else:
                position, failures = batch.last, 0
        async with self._database.tenant(tenant_id) as work:
            await release_stream(work, claimed.claim)

    async def _claim(self, tenant_id: UUID) -> ClaimedStream | None:
        try:
            async with self._database.tenant(tenant_id) as work:
                return await claim_stream(work, self._vault, self._clock())
        except DecryptionError:
            async with self._database.tenant(tenant_id) as work:
                await record_unreadable(work, SECRET_ERROR, self._clock())
            return None

    async def _advance(self, tenant_id: UUID, claimed: ClaimedStream, position: int, batch: RecordBatch) -> bool:
        try:
            async with self._database.tenant(tenant_id) as work:
                return await advance_stream(work, claimed.claim, position, batch.last, self._clock())
        except MCPistError:
            log.warning(
                "audit records were delivered but that is not recorded, and they may be sent twice",
                extra={"event": "audit_stream_unrecorded", "tenant": str(tenant_id)},
            )
            raise

    async def _fail(self, tenant_id: UUID, claimed: ClaimedStream, error: str, failures: int) -> None:
        now, pause = self._clock(), compute_pause(failures, self._chance())
        log.warning(
            "the log collector of a tenant has not taken its audit records",
            extra={"event": "audit_stream_failed", "tenant": str(tenant_id), "error": error},
        )
        async with self._database.tenant(tenant_id) as work:
            await record_failure(work, claimed.claim, error, now, now + pause)
