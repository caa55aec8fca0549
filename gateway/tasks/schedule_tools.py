"""Tools of the built-in module ``jobs`` for schedules: calls that are made at times, in the person's absence."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from gateway.tasks.own_schedules import OwnSchedules, WantedSchedule
from gateway.tool_context import get_request
from jobs.job import MAX_TITLE, Notify
from jobs.schedule_times import MAX_CRON_LENGTH, MAX_ZONE_LENGTH
from jobs.schedules import Overlap, Schedule, ScheduleState
from modules.kit import Context, Hints, SensitiveParameter, Tool, tool
from modules.kit.results import Missable

LOOKS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
CREATES = Hints(read_only=False, destructive=False, idempotent=False, open_world=False)
CHANGES = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)
DELETES = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)
CONSENT_NOTE = "Nothing runs before the user has agreed: ask them to open this page and to allow the schedule there."

KEY_PATTERN = "^[!-~]{0,100}$"

ScheduleId = Annotated[str, Field(max_length=100, description="Id of the schedule")]


class ScheduleSummary(BaseModel):
    """A schedule as it stands: waiting_for_consent, active, paused, or ended with the reason. The user agrees at
    `consent_url`. A batch has no module and tool."""

    schedule_id: str
    title: str
    module: Missable[str] = None
    tool_name: Missable[str] = None
    state: str
    consent_url: Missable[str] = None
    end_reason: Missable[str] = None
    cron: Missable[str] = None
    every_seconds: Missable[int] = None
    at: Missable[str] = None
    time_zone: str
    overlap: str
    notify: str
    next_run_at: Missable[str] = None
    last_run_at: Missable[str] = None
    last_job_id: Missable[str] = None
    skipped_runs: Missable[int] = None
    permitted_until: Missable[str] = None


class CreatedSchedule(ScheduleSummary):
    """A schedule that was asked for. `was_there`: the same idempotency_key has made it before."""

    was_there: Missable[bool] = None
    note: Missable[str] = None


class ScheduleList(BaseModel):
    """The caller's schedules, the newest first; one that has ended is kept for 30 days."""

    schedules: list[ScheduleSummary]


def build_schedule_tools(schedules: OwnSchedules, scope: str, consent_url: str) -> tuple[Tool, ...]:
    """Build the tools over the schedules of a gateway's callers."""

    def describe(schedule: Schedule) -> dict[str, Any]:
        url = consent_url if schedule.is_waiting_for_consent else None
        return {**_describe(schedule), "consent_url": url}

    @tool(hints=CREATES, scopes=[scope])
    async def create_schedule(
        context: Context,
        title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE, description="What it is for")],
        module: Annotated[str, Field(max_length=63, description="Module of the tool to call")] = "",
        tool_name: Annotated[str, Field(max_length=128, description="Tool to call")] = "",
        params: Annotated[
            dict[str, Any] | None, Field(description="As the tool's schema says"), SensitiveParameter()
        ] = None,
        commands: Annotated[
            str | list[dict[str, Any]] | None,
            Field(description="Instead of a tool: steps as batch takes them"),
            SensitiveParameter(),  # what a tool in it does not want recorded is not recorded here either
        ] = None,
        cron: Annotated[
            str, Field(max_length=MAX_CRON_LENGTH, description="Five fields, such as 30 9 * * MON-FRI")
        ] = "",
        every_seconds: Annotated[int | None, Field(description="Instead of cron: 60 or more")] = None,
        at: Annotated[str, Field(max_length=40, description="Instead of cron, once: 2026-12-31T09:00")] = "",
        time_zone: Annotated[
            str, Field(max_length=MAX_ZONE_LENGTH, description="IANA name, such as Asia/Tokyo")
        ] = "UTC",
        overlap: Annotated[Overlap, Field(description="Where the last run has not ended: skip this one, or wait")] = (
            Overlap.SKIP
        ),
        idempotency_key: Annotated[
            str, Field(pattern=KEY_PATTERN, description="The same one again makes no second schedule")
        ] = "",
        notify: Annotated[
            Notify, Field(description="After which runs to tell the user by mail: failures, always, or never")
        ] = Notify.NEVER,
    ) -> CreatedSchedule:
        """Have a tool or a batch called at times, also while the user is away. They have to agree on a page first."""
        wanted = WantedSchedule(
            title,
            module,
            tool_name,
            params or {},
            commands,
            cron,
            every_seconds,
            at,
            time_zone,
            overlap,
            idempotency_key,
            notify,
        )
        schedule, is_new = await schedules.create(get_request(context), wanted)
        note = CONSENT_NOTE if schedule.is_waiting_for_consent else None
        return CreatedSchedule(**describe(schedule), was_there=not is_new or None, note=note)

    @tool(hints=LOOKS, scopes=[scope])
    async def list_schedules(context: Context) -> ScheduleList:
        """Your schedules, the newest first."""
        found = await schedules.list_schedules(get_request(context).caller)
        return ScheduleList(schedules=[ScheduleSummary(**describe(schedule)) for schedule in found])

    @tool(hints=CHANGES, scopes=[scope])
    async def pause_schedule(context: Context, schedule_id: ScheduleId) -> ScheduleSummary:
        """Let a schedule rest until resume_schedule."""
        return ScheduleSummary(**describe(await schedules.pause(get_request(context).caller, schedule_id)))

    @tool(hints=CHANGES, scopes=[scope])
    async def resume_schedule(context: Context, schedule_id: ScheduleId) -> ScheduleSummary:
        """Go on with a schedule that rests; what was due meanwhile is not made up for."""
        return ScheduleSummary(**describe(await schedules.resume(get_request(context).caller, schedule_id)))

    @tool(hints=DELETES, scopes=[scope])
    async def delete_schedule(context: Context, schedule_id: ScheduleId) -> ScheduleSummary:
        """Delete a schedule; what it has run stays."""
        return ScheduleSummary(**describe(await schedules.delete(get_request(context).caller, schedule_id)))

    return create_schedule, list_schedules, pause_schedule, resume_schedule, delete_schedule


def _describe(schedule: Schedule) -> dict[str, Any]:
    interval = schedule.rule.interval
    return {
        "schedule_id": str(schedule.id),
        "title": schedule.title,
        "module": schedule.module or None,
        "tool_name": schedule.tool or None,
        "state": schedule.shown_state,
        "end_reason": schedule.end_reason if schedule.state is ScheduleState.ENDED else None,
        "cron": schedule.rule.cron or None,
        "every_seconds": None if interval is None else round(interval.total_seconds()),
        "at": _format_time(schedule.rule.at),
        "time_zone": schedule.rule.time_zone,
        "overlap": schedule.overlap.value,
        "notify": schedule.notify.value,
        "next_run_at": _format_time(schedule.next_run_at),
        "last_run_at": _format_time(schedule.last_run_at),
        "last_job_id": None if schedule.last_job_id is None else str(schedule.last_job_id),
        "skipped_runs": schedule.skipped or None,
        "permitted_until": _format_time(schedule.mandate_expires_at),
    }


def _format_time(time: datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%SZ}"
