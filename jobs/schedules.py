"""Schedules, as a gateway keeps them for their person. Workers have jobs/schedule_runner.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import LiteralString
from uuid import UUID

import asyncpg

from core.concurrency.cooperative_steps import wait_for_turn
from core.db import Database, Row
from core.errors import Invalid, LimitReached
from core.sealed_records import RecordSealer
from jobs.job import MAX_ARGUMENT_BYTES, MAX_TITLE, Notify
from jobs.schedule_times import ScheduleRule

ARGUMENTS_KIND = "schedule arguments"
MAX_SCHEDULES = 100
"""Of one person, without those that have ended."""
WAITING_FOR_CONSENT = "waiting_for_consent"


class ScheduleState(StrEnum):
    """State of a schedule. One that has ended stays so."""

    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"


class Overlap(StrEnum):
    """Rule for a run that is due while the one before still works."""

    SKIP = "skip"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """A schedule to add; the fields of its jobs are those of :class:`jobs.job.NewJob`."""

    tenant_id: UUID
    user_id: UUID
    id: UUID
    title: str
    kind: str
    module: str
    tool: str
    client: str
    mandate_id: UUID
    arguments: bytes
    max_attempts: int
    lifetime: timedelta
    rule: ScheduleRule
    overlap: Overlap
    next_run_at: datetime
    notify: Notify = Notify.NEVER


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule without its arguments."""

    tenant_id: UUID
    user_id: UUID
    id: UUID
    title: str
    kind: str
    module: str
    tool: str
    mandate_id: UUID
    rule: ScheduleRule
    overlap: Overlap
    state: ScheduleState
    end_reason: str
    """Empty, `completed` (its only run), `skipped` (its only run was), `no_consent`, or why its mandate counts no
    more."""
    next_run_at: datetime | None
    last_run_at: datetime | None
    last_job_id: UUID | None
    skipped: int
    consented_at: datetime | None
    mandate_expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    notify: Notify = Notify.NEVER
    """After which ends of its jobs its person is told."""

    @property
    def is_waiting_for_consent(self) -> bool:
        """Check whether nothing runs because its person has not agreed yet."""
        return self.state is not ScheduleState.ENDED and self.consented_at is None

    @property
    def shown_state(self) -> str:
        """State as people see it: one that waits for consent is neither active nor paused to them."""
        return WAITING_FOR_CONSENT if self.is_waiting_for_consent else self.state.value


class Schedules:
    """Schedules of callers. Every method sees the rows of the person that it names, and no others."""

    def __init__(self, database: Database, sealer: RecordSealer) -> None:
        self._database = database
        self._sealer = sealer

    async def create(self, new: NewSchedule) -> Schedule | None:
        """Add a schedule; None where the person has one of that id.

        Raises:
            Invalid: a limit of its parts is exceeded.
            LimitReached: the person has as many as one may have.
            core.errors.Unavailable: the database is away.
        """
        if len(new.arguments) > MAX_ARGUMENT_BYTES:
            raise Invalid(f"the arguments of a schedule have at most {MAX_ARGUMENT_BYTES} bytes")
        if not 0 < len(new.title) <= MAX_TITLE or not new.title.isprintable():
            raise Invalid(f"the title of a schedule has 1 to {MAX_TITLE} printable characters")
        await wait_for_turn(len(new.arguments))
        sealed = self._sealer.seal(new.tenant_id, ARGUMENTS_KIND, new.id, new.arguments)
        rule = new.rule
        values = (new.id, new.title, new.kind, new.module, new.tool, new.client, new.mandate_id, sealed)
        times = (rule.cron, rule.interval, rule.at, rule.time_zone, new.overlap, new.next_run_at)
        try:
            async with self._database.personal(new.tenant_id, new.user_id) as work:
                row = await work.fetchrow(_INSERT, *values, new.max_attempts - 1, new.lifetime, *times, new.notify)
        except asyncpg.ProgramLimitExceededError:
            raise LimitReached(f"you have {MAX_SCHEDULES} schedules already; delete one first", 60) from None
        return None if row is None else read_schedule(row)

    async def list_schedules(self, tenant_id: UUID, user_id: UUID) -> Sequence[Schedule]:
        """List the person's schedules, the newest first: at most 100, and 100 that have ended."""
        async with self._database.personal(tenant_id, user_id) as work:
            return [read_schedule(row) for row in await work.fetch(_LIST)]

    async def find(self, tenant_id: UUID, user_id: UUID, schedule_id: UUID) -> Schedule | None:
        """Find one of the person's schedules."""
        async with self._database.personal(tenant_id, user_id) as work:
            row = await work.fetchrow(_FIND, schedule_id)
        return None if row is None else read_schedule(row)

    async def load_arguments(self, schedule: Schedule) -> bytes:
        """Load the arguments of a schedule; empty where it is gone.

        Raises:
            core.sealed_records.UnreadableRecord: another key has sealed them.
        """
        async with self._database.personal(schedule.tenant_id, schedule.user_id) as work:
            sealed = await work.fetchval(_ARGUMENTS, schedule.id)
        if sealed is None:
            return b""
        await wait_for_turn(len(sealed))
        return self._sealer.open(schedule.tenant_id, ARGUMENTS_KIND, schedule.id, sealed)

    async def pause(self, schedule: Schedule) -> None:
        """Let no run begin until :meth:`resume`. One that has ended, or has a single run, stays as it is."""
        async with self._database.personal(schedule.tenant_id, schedule.user_id) as work:
            await work.execute(_PAUSE, schedule.id)

    async def resume(self, schedule: Schedule, next_run_at: datetime) -> None:
        """Go on with a schedule that is paused; what was due meanwhile is not made up for."""
        async with self._database.personal(schedule.tenant_id, schedule.user_id) as work:
            await work.execute(_RESUME, schedule.id, next_run_at)

    async def delete(self, schedule: Schedule) -> None:
        """Delete a schedule; its jobs stay."""
        async with self._database.personal(schedule.tenant_id, schedule.user_id) as work:
            await work.execute(_DELETE, schedule.id)


def read_schedule(row: Row) -> Schedule:
    """Read a row of ``COLUMNS``."""
    return Schedule(
        tenant_id=row["tenant_id"],
        user_id=row["user_id"],
        id=row["id"],
        title=row["title"],
        kind=row["kind"],
        module=row["module"],
        tool=row["tool"],
        mandate_id=row["mandate_id"],
        rule=ScheduleRule(row["cron"], row["every"], row["at"], row["time_zone"]),
        overlap=Overlap(row["overlap"]),
        state=ScheduleState(row["state"]),
        end_reason=row["end_reason"],
        next_run_at=row["next_run_at"],
        last_run_at=row["last_run_at"],
        last_job_id=row["last_job_id"],
        skipped=row["skipped"],
        consented_at=row["consented_at"],
        mandate_expires_at=row["mandate_expires_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        notify=Notify(row["notify"]),
    )


COLUMNS: LiteralString = """tenant_id, user_id, id, title, kind, module, tool, mandate_id, cron, every, at, time_zone,
    overlap, state, end_reason, next_run_at, last_run_at, last_job_id, skipped, consented_at, mandate_expires_at,
    created_at, updated_at, notify"""
_INSERT: LiteralString = f"""INSERT INTO jobs.schedules (tenant_id, user_id, id, title, kind, module, tool, client,
        mandate_id, arguments, retries, lifetime, cron, every, at, time_zone, overlap, next_run_at, notify)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
    ON CONFLICT (tenant_id, id) DO NOTHING RETURNING {COLUMNS}"""  # noqa: S608 our own words
_LIST: LiteralString = f"""SELECT {COLUMNS} FROM jobs.schedules WHERE tenant_id = $1 AND user_id = $2
    ORDER BY created_at DESC, id"""  # noqa: S608 our own words
_FIND: LiteralString = f"""SELECT {COLUMNS} FROM jobs.schedules
    WHERE tenant_id = $1 AND user_id = $2 AND id = $3"""  # noqa: S608 our own words
_ARGUMENTS = "SELECT arguments FROM jobs.schedules WHERE tenant_id = $1 AND user_id = $2 AND id = $3"
_PAUSE = """UPDATE jobs.schedules SET state = 'paused', next_run_at = NULL, updated_at = jobs.clock()
    WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND state = 'active' AND (cron <> '' OR every IS NOT NULL)"""
_RESUME = """UPDATE jobs.schedules SET state = 'active', next_run_at = $4, updated_at = jobs.clock()
    WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND state = 'paused'"""
_DELETE = "DELETE FROM jobs.schedules WHERE tenant_id = $1 AND user_id = $2 AND id = $3"
