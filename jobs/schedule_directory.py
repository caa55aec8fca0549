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
from jobs.job import Notify
from jobs.schedule_times import ScheduleRule, change_rule
from jobs.schedules import COLUMNS, Overlap, Schedule, ScheduleState, read_schedule


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


@dataclass(frozen=True, slots=True)
class ScheduleChange:
    """Changes to a schedule; what is None or empty stays. Its call is none of them: that is what its person has agreed
    to."""

    title: str | None = None
    cron: str = ""
    every_seconds: int | None = None
    at: datetime | None = None
    time_zone: str | None = None
    overlap: Overlap | None = None
    notify: Notify | None = None


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

    async def change(
        self, actor: Actor, tenant_id: UUID, user_id: UUID, schedule_id: UUID, change: ScheduleChange, now: datetime
    ) -> ListedSchedule:
        """Change a schedule of the person's. With other times its next run is counted from `now`.

        Raises:
            NotFound: the person has none of this id.
            Conflict: it has ended, or its permission ends before its time.
            Invalid: its times cannot be read, or a single run would repeat.
        """
        async with self._console.tenant(tenant_id) as work:
            if change.title is not None:  # the mandate first, as everything that ends one locks the two
                await work.fetchval(_RENAME_MANDATE, user_id, schedule_id, change.title)
            schedule = (await _find(work, user_id, schedule_id, query=_FIND_TO_CHANGE)).schedule
            if schedule.state is ScheduleState.ENDED:
                raise Conflict("this schedule is ended")
            changed = replace(
                schedule,
                title=schedule.title if change.title is None else change.title,
                rule=_change_rule(schedule, change, now),
                overlap=change.overlap or schedule.overlap,
                notify=change.notify or schedule.notify,
            )
            parts = [name for name in _CHANGED_PARTS if getattr(changed, name) != getattr(schedule, name)]
            if parts:
                first = changed.rule.find_next_run(now) if "rule" in parts else schedule.next_run_at
                rule = changed.rule
                await work.execute(
                    *(_CHANGE, schedule_id, changed.title, rule.cron, rule.interval, rule.at, rule.time_zone),
                    *(changed.overlap, changed.notify, first),
                )
                await audit_change(
                    work, actor, AuditEventKind.SCHEDULE_CHANGED, schedule=str(schedule_id), changed=" ".join(parts)
                )
            return await _find(work, user_id, schedule_id)

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


def _change_rule(schedule: Schedule, change: ScheduleChange, now: datetime) -> ScheduleRule:
    rule = change_rule(
        schedule.rule,
        cron=change.cron,
        every_seconds=change.every_seconds,
        at=change.at,
        time_zone=change.time_zone,
        now=now,
    )
    end = schedule.mandate_expires_at
    if rule != schedule.rule and rule.at is not None and end is not None and rule.at >= end:
        raise Conflict(f"the permission of this run ends at {end:%Y-%m-%dT%H:%M:%SZ}; create a new schedule instead")
    return rule


async def _find(
    work: UnitOfWork, user_id: UUID | None, schedule_id: UUID, *, query: LiteralString | None = None
) -> ListedSchedule:
    row = await work.fetchrow(query or _FIND, user_id, schedule_id)
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
_FIND_TO_CHANGE = _FIND + " FOR UPDATE OF s"
_CHANGED_PARTS = ("title", "rule", "overlap", "notify")
_CHANGE = """UPDATE jobs.schedules SET title = $3, cron = $4, every = $5, at = $6, time_zone = $7, overlap = $8,
        notify = $9, next_run_at = CASE state WHEN 'active' THEN $10::timestamptz END, updated_at = jobs.clock()
    WHERE tenant_id = $1 AND id = $2"""
_RENAME_MANDATE = "SELECT jobs.rename_mandate($2, $3, $4) WHERE $1 = core.current_tenant()"
_PAUSE = """UPDATE jobs.schedules SET state = 'paused', next_run_at = NULL, updated_at = jobs.clock()
    WHERE tenant_id = $1 AND id = $2 AND state = 'active'"""
_RESUME = """UPDATE jobs.schedules SET state = 'active', next_run_at = $3, updated_at = jobs.clock()
    WHERE tenant_id = $1 AND id = $2 AND state = 'paused'"""
_RUN_NOW = """UPDATE jobs.schedules SET next_run_at = jobs.clock(), updated_at = jobs.clock()
    WHERE tenant_id = $1 AND id = $2 AND state = 'active' AND next_run_at > jobs.clock()"""
_DELETE = "SELECT jobs.delete_schedule($2, $3) WHERE $1 = core.current_tenant()"
