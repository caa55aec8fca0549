"""Makes jobs of schedules that are due. Every worker does; of several, one makes each job."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from broker.interface import CredentialRefusal, MandateReference, RefusalReason
from core.concurrency.background import report_turn
from core.db import Database
from core.errors import Unavailable
from core.log_events import describe_error
from core.sealed_records import RecordSealer, UnreadableRecord
from jobs import queue, schedules
from jobs.schedule_times import ScheduleRule

LOOK_SECONDS = 60.0
"""The longest pause between two looks. A schedule that is made meanwhile ends it, if its announcement is not lost."""
RETRY_SECONDS = 5.0
SHORTEST_PAUSE_SECONDS = 1.0
PRUNE_SECONDS = 3600.0
"""Seconds between two looks for schedules that ended 30 days ago."""
MAX_PRUNED = 1_000
MOST_AT_ONCE = 50
INTERNAL = "internal"

_DUE = "SELECT * FROM jobs.due_schedules($1)"
_NEXT = "SELECT jobs.seconds_until_schedule()"
_RUN = "SELECT jobs.run_schedule($1, $2, $3, $4, $5, $6)"
_SKIP = "SELECT jobs.skip_schedule($1, $2, $3, $4)"
_END = "SELECT jobs.end_schedule($1, $2, $3)"
_PRUNE = "SELECT jobs.prune_schedules($1)"
_OF_A_WHILE = frozenset({RefusalReason.NO_CONSENT, RefusalReason.TENANT_SUSPENDED})
"""Why a mandate does not count though it may again: such a run is skipped."""

VerifyMandate = Callable[[MandateReference], Awaitable[object]]
"""Asks the broker whether a mandate counts. Raises core.errors.Unavailable."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule that is due since `due_at`; `at` is the database's time. `is_running`: the job before has not ended,
    and this run is skipped for it."""

    tenant_id: UUID
    id: UUID
    mandate_id: UUID
    sealed_arguments: bytes
    rule: ScheduleRule
    due_at: datetime
    is_running: bool
    at: datetime

    def find_next_run(self) -> datetime | None:
        """Find when it is due again. What was due while nothing ran is not made up for: this run stands for all. An
        interval keeps its beat where that is still to come."""
        interval = self.rule.interval
        if interval is not None and self.due_at + interval > self.at:
            return self.due_at + interval
        return self.rule.find_next_run(self.at)


class ScheduleRunner:
    """Runs what is due until cancelled."""

    def __init__(self, database: Database, sealer: RecordSealer, verify: VerifyMandate) -> None:
        self._database = database
        self._sealer = sealer
        self._verify = verify
        self._is_changed = asyncio.Event()
        self._prune_at = 0.0

    def wake(self) -> None:
        """Look at once: a schedule was made or resumed."""
        self._is_changed.set()

    async def run(self) -> None:
        """Look for schedules that are due, again and again."""
        while True:
            self._is_changed.clear()
            try:
                pause = await self.take_turn()
                await self._prune_sometimes()
                report_turn(failed=False)
            except (Unavailable, asyncpg.PostgresError) as error:
                report_turn(failed=True)
                log.warning("schedules wait", extra={"event": "schedules_wait", "error": type(error).__name__})
                pause = RETRY_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._is_changed.wait()

    async def take_turn(self) -> float:
        """Make a job of each schedule that is due; return the seconds until the next look.

        Raises:
            Unavailable, asyncpg.PostgresError: the database or the broker is away.
        """
        due = [_read_due(row) for row in await self._database.fetch(_DUE, MOST_AT_ONCE)]
        for schedule in due:
            try:
                await self._run_due(schedule)
            except (Unavailable, asyncpg.PostgresError):
                raise
            except Exception as error:  # noqa: BLE001 a fault of ours, or a time zone that is gone, stops no other one
                fields = {"schedule": str(schedule.id), **describe_error(error)}
                log.error("a schedule cannot be run", extra={"event": "schedule_failed", **fields})
                await self._database.call(_END, schedule.tenant_id, schedule.id, INTERNAL)
        if len(due) == MOST_AT_ONCE:
            return 0
        seconds = await self._database.call(_NEXT)
        return LOOK_SECONDS if seconds is None else min(max(seconds, SHORTEST_PAUSE_SECONDS), LOOK_SECONDS)

    async def prune(self) -> int:
        """Delete schedules that ended 30 days ago, 1,000 at most; return how many.

        Raises:
            Unavailable, asyncpg.PostgresError: the database is away.
        """
        return await self._database.call(_PRUNE, MAX_PRUNED)

    async def _prune_sometimes(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._prune_at:
            self._prune_at = now + PRUNE_SECONDS * (await self.prune() < MAX_PRUNED)

    async def _run_due(self, schedule: DueSchedule) -> None:
        refusal = await self._verify(MandateReference(schedule.mandate_id, schedule.id))
        if isinstance(refusal, CredentialRefusal) and refusal.reason not in _OF_A_WHILE:
            await self._database.call(_END, schedule.tenant_id, schedule.id, refusal.reason.value)
            return
        if schedule.is_running or isinstance(refusal, CredentialRefusal):
            await self._skip(schedule)
        else:
            await self._start_job(schedule)

    async def _start_job(self, schedule: DueSchedule) -> None:
        job_id = uuid4()
        try:
            arguments = self._sealer.open(
                schedule.tenant_id, schedules.ARGUMENTS_KIND, schedule.id, schedule.sealed_arguments
            )
        except UnreadableRecord:
            await self._database.call(_END, schedule.tenant_id, schedule.id, "unreadable")
            return
        sealed = self._sealer.seal(schedule.tenant_id, queue.ARGUMENTS_KIND, job_id, arguments)
        fence = schedule.tenant_id, schedule.id, schedule.due_at, schedule.find_next_run()
        try:
            await self._database.call(_RUN, *fence, job_id, sealed)
        except asyncpg.ProgramLimitExceededError:  # too many jobs of the person or tenant wait
            await self._skip(schedule)

    async def _skip(self, schedule: DueSchedule) -> None:
        fence = schedule.tenant_id, schedule.id, schedule.due_at, schedule.find_next_run()
        if await self._database.call(_SKIP, *fence):
            log.info("a schedule's run was skipped", extra={"event": "schedule_skipped", "schedule": str(schedule.id)})


def _read_due(row: Any) -> DueSchedule:
    due_at: datetime = row["due_at"]
    every: timedelta | None = row["every"]
    once = due_at if not row["cron"] and every is None else None
    return DueSchedule(
        row["tenant_id"],
        row["id"],
        row["mandate_id"],
        row["arguments"],
        ScheduleRule(row["cron"], every, once, row["time_zone"]),
        due_at,
        row["is_running"],
        row["at"],
    )
