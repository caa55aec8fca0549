"""``/schedules``: calls that are made at times, of the caller's and of the tenant for administrators."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Depends, Header, Path, Query
from pydantic import Field, JsonValue, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps
from admin_ui.api.tool_catalogue import find_titles
from admin_ui.api.tools import LocalizedTextView, ModuleFilter
from core.api.app import create_router, describe_existing_response
from core.api.authorization import allow
from core.api.dependencies import AllOwners, CurrentUserWrite, OwnerRead, OwnerWrite, UserFilter, resolve_owner_filter
from core.api.pagination import Cursor, PageLimit, TimestampKey, decode_cursor, split_page
from core.api.principal import Principal
from core.api.schemas import NO_CONTROL_CHARACTERS, NotEmptyName, PageOf, RequestModel, ResponseModel
from core.api.security import get_security
from core.errors import Conflict
from core.scopes import ADMIN_READ, ADMIN_WRITE, WRITE
from core.secret import Secret
from jobs.job import Notify
from jobs.schedule_directory import ListedSchedule, ScheduleChange, ScheduleDirectory, ScheduleFilter, hide_title
from jobs.schedule_times import MAX_CRON_LENGTH, MAX_ZONE_LENGTH, parse_time
from jobs.schedules import Overlap

routes = create_router("schedules")

CONSENT_PATH = "/account#mandates"
MAX_STEPS = 50
BY_A_BROWSER = (
    "a schedule is made with a bearer credential: a page takes one from POST /api/v1/sessions/current/access-token"
)

ScheduleCreatorCaller = Annotated[Principal, Depends(allow("user", scope=WRITE))]
"""A person whose credential may use tools."""
SchedulePath = Annotated[UUID, Path(description="Identifier of the schedule.")]
ScheduleSort = Literal["created_at", "-created_at"]
ScheduleState = Literal["waiting_for_consent", "active", "paused", "ended"]
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern="^[!-~]{1,100}$",
        description="Key chosen by the caller; repeated with it, the request returns the existing schedule.",
    ),
]
ModuleName = Annotated[str, StringConstraints(max_length=63, pattern=NO_CONTROL_CHARACTERS)]
ToolName = Annotated[str, StringConstraints(max_length=128, pattern=NO_CONTROL_CHARACTERS)]


class ScheduleCreate(RequestModel):
    """A call or batch, and when it is made."""

    title: NotEmptyName = Field(description="Title: what it is for.")
    module: ModuleName = Field(default="", description="Name of the module; empty for a batch.")
    tool: ToolName = Field(default="", description="Name of the tool; empty for a batch.")
    params: dict[str, JsonValue] = Field(default={}, description="Parameters of the tool.")
    commands: list[dict[str, JsonValue]] | None = Field(
        default=None, max_length=MAX_STEPS, description="Steps of a batch, as the tool `batch` takes them."
    )
    cron: str = Field(
        default="",
        max_length=MAX_CRON_LENGTH,
        description="Cron expression of five fields, such as `30 9 * * MON-FRI`.",
    )
    every_seconds: int | None = Field(
        default=None, ge=60, le=31_622_400, description="Interval in seconds, instead of `cron`."
    )
    at: str = Field(
        default="", max_length=40, description="Time of a single run, such as `2026-12-31T09:00`, instead of `cron`."
    )
    time_zone: str = Field(
        default="UTC",
        min_length=1,
        max_length=MAX_ZONE_LENGTH,
        description="IANA time zone of `cron`, and of `at` where that has no offset.",
    )
    overlap: Overlap = Field(
        default=Overlap.SKIP,
        description="Rule for a run that is due while the last one works: `skip` or `wait`.",
    )
    notify: Notify = Field(
        default=Notify.NEVER, description="After which runs the user gets a mail: `never`, `failure` or `always`."
    )


class ScheduleUpdate(RequestModel):
    """Changes to a schedule. What is left out stays."""

    title: NotEmptyName | None = Field(default=None, description="Title: what it is for.")
    cron: str = Field(
        default="", max_length=MAX_CRON_LENGTH, description="Cron expression of five fields, instead of its times."
    )
    every_seconds: int | None = Field(
        default=None, ge=60, le=31_622_400, description="Interval in seconds, instead of its times."
    )
    at: str = Field(
        default="",
        max_length=40,
        description="Another time of a single run, before its mandate ends, such as `2026-12-31T09:00`.",
    )
    time_zone: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_ZONE_LENGTH,
        description="IANA time zone of the cron expression, and of `at` where that has no offset.",
    )
    overlap: Overlap | None = Field(
        default=None, description="Rule for a run that is due while the last one works: `skip` or `wait`."
    )
    notify: Notify | None = Field(
        default=None, description="After which runs the user gets a mail: `never`, `failure` or `always`."
    )


class ScheduleView(ResponseModel):
    """A call or batch that is made at times. Its parameters are not shown here."""

    id: UUID = Field(description="Identifier of the schedule.")
    user_id: UUID = Field(description="Identifier of the user whose schedule it is.")
    user_email: str = Field(description="E-mail address of the user whose schedule it is.")
    mandate_id: UUID = Field(description="Identifier of the mandate by which it runs.")
    title: str = Field(description="Title: what it is for; empty in another user's schedule.")
    kind: Literal["call", "batch"] = Field(description="Kind of its work: `call` or `batch`.")
    module: str = Field(description="Name of the module; empty for a batch.")
    tool: str = Field(description="Name of the tool; empty for a batch.")
    module_title: LocalizedTextView = Field(description="Display name of the module; empty for a batch.")
    tool_title: LocalizedTextView = Field(description="Display name of the tool, or what a batch is called.")
    state: ScheduleState = Field(
        description="State: `waiting_for_consent` until its user has agreed, `active`, `paused` or `ended`."
    )
    consent_url: str | None = Field(
        description="Page on which the caller agrees; null in another user's schedule, and unless it waits for that."
    )
    consented_at: datetime | None = Field(description="Time of the user's consent; null if there is none.")
    mandate_expires_at: datetime | None = Field(description="Time at which the mandate ends at the latest.")
    cron: str = Field(description="Cron expression; empty if it has none.")
    every_seconds: int | None = Field(description="Interval in seconds; null if it has none.")
    at: datetime | None = Field(description="Time of its single run; null if it runs again and again.")
    time_zone: str = Field(description="IANA time zone of the cron expression.")
    overlap: Overlap = Field(description="Rule for a run that is due while the last one works.")
    notify: Notify = Field(description="After which runs the user gets a mail.")
    next_run_at: datetime | None = Field(description="Time of the next run; null if there is none.")
    last_run_at: datetime | None = Field(description="Time of the last run; null if there was none.")
    last_job_id: UUID | None = Field(description="Identifier of the job of the last run; null if there was none.")
    skipped_runs: int = Field(description="Number of runs that were skipped.")
    end_reason: str = Field(description="Reason of its end as one word; empty until then.")
    created_at: datetime = Field(description="Time of creation.")
    updated_at: datetime = Field(description="Time of its last change or run.")


@routes.get("/schedules")
async def list_schedules(
    caller: OwnerRead,
    dependencies: AdminDeps,
    request: Request,
    user: UserFilter = None,
    all_owners: AllOwners = False,
    state: Annotated[ScheduleState | None, Query(description="State of the schedules; default all.")] = None,
    module: ModuleFilter = None,
    sort: Annotated[
        ScheduleSort, Query(description="Field to order by; with `-` the other way round.")
    ] = "-created_at",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[ScheduleView]:
    """List schedules.

    Newest first unless `sort` says otherwise; one that has ended is kept for 30 days. Returns the caller's own;
    administrators can name a `user`, or list all of the tenant with `all_owners`.
    """
    wanted = ScheduleFilter(resolve_owner_filter(caller, user, all_owners), state, module)
    after: tuple[datetime, UUID] | None = None if cursor is None else decode_cursor(cursor, TimestampKey)
    found = await ScheduleDirectory(dependencies.console).list_schedules(
        caller.tenant_id, wanted, oldest_first=sort == "created_at", after=after, limit=limit + 1
    )
    page, next_cursor = split_page(found, limit, lambda listed: (listed.schedule.created_at, listed.schedule.id))
    return PageOf(
        items=[_build_view(caller, dependencies, request, schedule) for schedule in page], next_cursor=next_cursor
    )


@routes.post("/schedules", status_code=201, responses=describe_existing_response(ScheduleView))
async def create_schedule(
    body: ScheduleCreate,
    caller: ScheduleCreatorCaller,
    dependencies: AdminDeps,
    request: Request,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> ScheduleView:
    """Create a schedule.

    It needs a bearer credential that may use the tools, and runs nothing before the caller has agreed in a browser, at
    `consent_url`, within a day. Repeated with the same `Idempotency-Key`, the request returns the existing schedule.
    """
    if caller.authentication_method not in ("token", "oauth"):
        raise Conflict(BY_A_BROWSER)
    credential = Secret(request.headers["authorization"].partition(" ")[2].strip())
    wanted = body.model_dump(mode="json", exclude={"tool"}) | {"tool_name": body.tool}
    created = await dependencies.create_schedule(
        credential,
        get_security(request).client_address(request),
        wanted | {"idempotency_key": idempotency_key or ""},
    )
    response.status_code = 201 if created.is_new else 200
    schedule = await ScheduleDirectory(dependencies.console).get_schedule(caller.tenant_id, caller.user_id, created.id)
    return _build_view(caller, dependencies, request, schedule)


@routes.get("/schedules/{schedule_id}")
async def show_schedule(
    schedule_id: SchedulePath, caller: OwnerRead, dependencies: AdminDeps, request: Request
) -> ScheduleView:
    """Get a schedule.

    Users find their own, administrators all of the tenant.
    """
    user_id = None if caller.is_administrator_with(ADMIN_READ) else caller.user_id
    schedule = await ScheduleDirectory(dependencies.console).get_schedule(caller.tenant_id, user_id, schedule_id)
    return _build_view(caller, dependencies, request, schedule)


@routes.patch("/schedules/{schedule_id}")
async def change_schedule(
    schedule_id: SchedulePath,
    update: ScheduleUpdate,
    caller: CurrentUserWrite,
    dependencies: AdminDeps,
    request: Request,
) -> ScheduleView:
    """Change the title, the times or the rules of a schedule of the caller's own.

    The consent to it stays. Its tool and parameters cannot be changed: another call needs a consent of its own, so a
    new schedule. A single run stays one. With other times the next run is counted from now.
    """
    change = ScheduleChange(
        update.title,
        update.cron,
        update.every_seconds,
        parse_time(update.at),
        update.time_zone,
        update.overlap,
        update.notify,
    )
    schedule = await ScheduleDirectory(dependencies.console).change(
        caller.actor, caller.tenant_id, caller.user_id, schedule_id, change, get_security(request).clock()
    )
    return _build_view(caller, dependencies, request, schedule)


@routes.post("/schedules/{schedule_id}/pause")
async def pause_schedule(
    schedule_id: SchedulePath, caller: OwnerWrite, dependencies: AdminDeps, request: Request
) -> ScheduleView:
    """Pause a schedule.

    No run begins until its user resumes it. Users pause their own, administrators all of the tenant.
    """
    user_id = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    schedule = await ScheduleDirectory(dependencies.console).pause(caller.actor, caller.tenant_id, user_id, schedule_id)
    return _build_view(caller, dependencies, request, schedule)


@routes.post("/schedules/{schedule_id}/resumption")
async def resume_schedule(
    schedule_id: SchedulePath, caller: CurrentUserWrite, dependencies: AdminDeps, request: Request
) -> ScheduleView:
    """Resume a schedule of the caller's own.

    What was due meanwhile is not made up for.
    """
    now = get_security(request).clock()
    schedule = await ScheduleDirectory(dependencies.console).resume(
        caller.actor, caller.tenant_id, caller.user_id, schedule_id, now
    )
    return _build_view(caller, dependencies, request, schedule)


@routes.post("/schedules/{schedule_id}/run")
async def run_schedule(
    schedule_id: SchedulePath, caller: CurrentUserWrite, dependencies: AdminDeps, request: Request
) -> ScheduleView:
    """Run a schedule of the caller's own now.

    Its next run is due at once, with its mandate and by its rule for runs that overlap. An interval counts from then; a
    single run is this one.
    """
    schedule = await ScheduleDirectory(dependencies.console).run_now(
        caller.actor, caller.tenant_id, caller.user_id, schedule_id
    )
    return _build_view(caller, dependencies, request, schedule)


@routes.delete("/schedules/{schedule_id}", status_code=204)
async def delete_schedule(schedule_id: SchedulePath, caller: OwnerWrite, dependencies: AdminDeps) -> None:
    """Delete a schedule.

    Its mandate ends, and its jobs stay. Users delete their own, administrators all of the tenant.
    """
    user_id = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    await ScheduleDirectory(dependencies.console).delete(caller.actor, caller.tenant_id, user_id, schedule_id)


def _build_view(
    caller: Principal, dependencies: AdminDependencies, request: Request, listed: ListedSchedule
) -> ScheduleView:
    is_own = listed.schedule.user_id == caller.user_id
    schedule = listed.schedule if is_own else hide_title(listed.schedule)
    module_title, tool_title = find_titles(dependencies.catalogue, schedule.module, schedule.tool)
    shown: dict[str, Any] = {
        name: getattr(schedule, name) for name in ScheduleView.model_fields if hasattr(schedule, name)
    }
    rule, waits = schedule.rule, is_own and schedule.is_waiting_for_consent
    shown.update(
        {
            "user_email": listed.user_email,
            "module_title": LocalizedTextView.model_validate(module_title),
            "tool_title": LocalizedTextView.model_validate(tool_title),
            "state": schedule.shown_state,
            "consent_url": get_security(request).public_url + CONSENT_PATH if waits else None,
            "cron": rule.cron,
            "every_seconds": None if rule.interval is None else round(rule.interval.total_seconds()),
            "at": rule.at,
            "time_zone": rule.time_zone,
            "skipped_runs": schedule.skipped,
        }
    )
    return ScheduleView(**shown)
