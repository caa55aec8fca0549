"""Schedules as the control plane shows them: a person's own, and to administrators those of their tenant, without
contents.

Its database role cannot read arguments. A schedule is made by a gateway, which checks its call.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, NotFound
from jobs.schedules import COLUMNS, Schedule, ScheduleState, read_schedule


@dataclass(frozen=True, slots=True)
class ListedSchedule:
    """A schedule with the address of its person."""

    schedule: Schedule
    user_email: str


@dataclass(frozen=True, slots=True)
class ScheduleFilter:
    """Which schedules are listed; None is any. `state` as :attr:`Schedule.shown_state`."""

    user_id: UUID | None = None
    state: str | None = None
    module: str | None = None


class ScheduleDirectory:
    """Reads and changes schedules in the control plane's role. `user_id` limits each to one person's; None means the
    tenant's."""

    def __init__(self, console: Database) -> None:
        self._console = console

    async def list_schedules(
        self,
        tenant_id: UUID,
        wanted: ScheduleFilter,
        *,
        oldest_first: bool = False,
        after: tuple[datetime, UUID] | None,
        limit: int,
    ) -> Sequence[ListedSchedule]:
        """List schedules, the newest or the oldest first, from the one after that of `after` on."""
        page = _OLDEST_PAGE if oldest_first else _NEWEST_PAGE
        place = after or (None, None)
        async with self._console.tenant(tenant_id) as work:
            rows = await work.fetch(page, wanted.user_id, wanted.state, wanted.module, *place, limit)
        return [_read_listed(row) for row in rows]

    async def get_schedule(self, tenant_id: UUID, user_id: UUID | None, schedule_id: UUID) -> ListedSchedule:
        """Return a schedule.

        Raises:
            NotFound: there is none for this person.
        """
        async with self._console.tenant(tenant_id) as work:
            return await _find(work, user_id, schedule_id)

    async def pause(self, actor: Actor, tenant_id: UUID, user_id: UUID | None, schedule_id: UUID) -> ListedSchedule:
        """Let no run begin until the schedule is resumed; one that is paused stays so.

        Raises:
            NotFound: there is none for this person.
            Conflict: it has ended, or has a single run.
        """
        async with self._console.tenant(tenant_id) as work:
            schedule = (await _find(work, user_id, schedule_id)).schedule
            if schedule.rule.at is not None:
                raise Conflict("a single run cannot be paused; delete it")
            if await work.execute(_PAUSE, schedule_id):
                whose = {"schedule": str(schedule_id), "user": str(schedule.user_id)}
                await audit_change(work, actor, AuditEventKind.SCHEDULE_PAUSED, **whose)
            return await _expect(work, user_id, schedule_id, ScheduleState.PAUSED)

    async def resume(
        self, actor: Actor, tenant_id: UUID, user_id: UUID, schedule_id: UUID, now: datetime
    ) -> ListedSchedule:
        """Go on with a schedule of the person's that is paused; what was due meanwhile is not made up for.

        Raises:
            NotFound: the person has none of this id.
            Conflict: it has ended.
        """
        async with self._console.tenant(tenant_id) as work:
            schedule = (await _find(work, user_id, schedule_id)).schedule
            first = schedule.rule.find_next_run(now)
            if first is not None and await work.execute(_RESUME, schedule_id, first):
                await audit_change(work, actor, AuditEventKind.SCHEDULE_RESUMED, schedule=str(schedule_id))
            return await _expect(work, user_id, schedule_id, ScheduleState.ACTIVE)

    async def run_now(self, actor: Actor, tenant_id: UUID, user_id: UUID, schedule_id: UUID) -> ListedSchedule:
        """Let a schedule of the person's be due at once. An interval counts from then; a single run is this one.

        Raises:
            NotFound: the person has none of this id.
            Conflict: it is not active, or waits for consent.
        """
        async with self._console.tenant(tenant_id) as work:
            schedule = (await _find(work, user_id, schedule_id)).schedule
            if schedule.is_waiting_for_consent:
                raise Conflict("this schedule waits for consent, which its person gives at /account")
            if await work.execute(_RUN_NOW, schedule_id):
                await audit_change(work, actor, AuditEventKind.SCHEDULE_RUN, schedule=str(schedule_id))
            return await _expect(work, user_id, schedule_id, ScheduleState.ACTIVE)

    async def delete(self, actor: Actor, tenant_id: UUID, user_id: UUID | None, schedule_id: UUID) -> None:
        """Delete a schedule and end its mandate; its jobs stay.

        Raises:
            NotFound: there is none for this person.
        """
        async with self._console.tenant(tenant_id) as work:
            schedule = (await _find(work, user_id, schedule_id)).schedule
            if not await work.fetchval(_DELETE, user_id, schedule_id):
                raise NotFound(NO_SCHEDULE)
            whose = {"schedule": str(schedule_id), "user": str(schedule.user_id)}
            await audit_change(work, actor, AuditEventKind.SCHEDULE_DELETED, **whose)


def hide_title(schedule: Schedule) -> Schedule:
    """Return the schedule as others than its person may see it: what they call it may tell contents."""
    return replace(schedule, title="")


async def _find(work: UnitOfWork, user_id: UUID | None, schedule_id: UUID) -> ListedSchedule:
    row = await work.fetchrow(_FIND, user_id, schedule_id)
    if row is None:
        raise NotFound(NO_SCHEDULE)
    return _read_listed(row)


async def _expect(work: UnitOfWork, user_id: UUID | None, schedule_id: UUID, state: ScheduleState) -> ListedSchedule:
    found = await _find(work, user_id, schedule_id)
    if found.schedule.state is not state:
        raise Conflict(f"this schedule is {found.schedule.state}")
    return found


def _read_listed(row: Row) -> ListedSchedule:
    return ListedSchedule(read_schedule(row), row["user_email"])


NO_SCHEDULE = "there is no schedule of this id"
_SELECT: LiteralString = f"""SELECT {COLUMNS},
        (SELECT u.email FROM core.users u WHERE u.tenant_id = s.tenant_id AND u.id = s.user_id) AS user_email
    FROM jobs.schedules s WHERE tenant_id = $1 AND ($2::uuid IS NULL OR user_id = $2)"""  # noqa: S608 our own words
_MATCHING: LiteralString = (
    _SELECT
    + """ AND ($3::text IS NULL OR $3 = CASE WHEN state <> 'ended' AND consented_at IS NULL
            THEN 'waiting_for_consent' ELSE state END)
        AND ($4::text IS NULL OR module = $4)"""
)
_NEWEST_PAGE = (
    _MATCHING
    + """ AND ($5::timestamptz IS NULL OR (created_at, id) < ($5, $6::uuid))
    ORDER BY created_at DESC, id DESC LIMIT $7"""
)
_OLDEST_PAGE = (
    _MATCHING
    + """ AND ($5::timestamptz IS NULL OR (created_at, id) > ($5, $6::uuid))
    ORDER BY created_at, id LIMIT $7"""
)
_FIND = _SELECT + " AND id = $3"
_PAUSE = """UPDATE jobs.schedules SET state = 'paused', next_run_at = NULL, updated_at = jobs.clock()
    WHERE tenant_id = $1 AND id = $2 AND state = 'active'"""
_RESUME = """UPDATE jobs.schedules SET state = 'active', next_run_at = $3, updated_at = jobs.clock()
    WHERE tenant_id = $1 AND id = $2 AND state = 'paused'"""
_RUN_NOW = """UPDATE jobs.schedules SET next_run_at = jobs.clock(), updated_at = jobs.clock()
    WHERE tenant_id = $1 AND id = $2 AND state = 'active' AND next_run_at > jobs.clock()"""
_DELETE = "SELECT jobs.delete_schedule($2, $3) WHERE $1 = core.current_tenant()"
