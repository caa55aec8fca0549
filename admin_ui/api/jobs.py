"""``/jobs``: long work of the caller's, and of the tenant for administrators; cancelling it, and trying it again."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from fastapi import Path, Query, Request
from pydantic import Field

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps
from admin_ui.api.tool_catalogue import find_titles
from admin_ui.api.tools import LocalizedTextView, ModuleFilter
from broker.interface import JobToRetry, RefusalReason
from core.api.app import create_router
from core.api.dependencies import AllOwners, CurrentUserWrite, OwnerRead, OwnerWrite, UserFilter, resolve_owner_filter
from core.api.pagination import Cursor, PageLimit, decode_cursor, split_page
from core.api.principal import Principal
from core.api.schemas import PageOf, RequestModel, ResponseModel
from core.scopes import ADMIN_READ, ADMIN_WRITE
from jobs.directory import JobDirectory, JobFilter, ListedJob, hide_contents
from jobs.job import JobState as State
from jobs.job import Notify

routes = create_router("jobs")

JobPath = Annotated[UUID, Path(description="Identifier of the job.")]
NotifyChoice = Literal["never", "failure", "always"]
JobState = Literal["queued", "running", "succeeded", "failed", "cancelled", "unknown"]
JobSort = Literal["created_at", "-created_at"]
_PlaceKey = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class JobView(ResponseModel):
    """Work that goes on after the call that asked for it. Its arguments and its result are not shown here."""

    id: UUID = Field(description="Identifier of the job; as an MCP task it has the same.")
    user_id: UUID = Field(description="Identifier of the user whose job it is.")
    user_email: str = Field(description="E-mail address of the user whose job it is.")
    module: str = Field(description="Name of the module; empty for a batch.")
    tool: str = Field(description="Name of the tool.")
    module_title: LocalizedTextView = Field(description="Display name of the module; empty for a batch.")
    tool_title: LocalizedTextView = Field(description="Display name of the tool; `Batch` for a batch.")
    title: str = Field(
        description="Title, in English: module and tool, or that of the schedule that made it; the latter is "
        "empty in another user's job."
    )
    schedule_id: UUID | None = Field(description="Identifier of the schedule that made it; null without one.")
    client: str = Field(description="Client that asked for it; empty in another user's job.")
    state: JobState = Field(
        description="State: `queued`, `running`, `succeeded`, `failed`, `cancelled`, or `unknown` where its worker was "
        "lost and nobody knows whether it took effect."
    )
    attempt: int = Field(description="Number of times that it has been started.")
    is_repeatable: bool = Field(description="True if it may run twice, and is tried again when its worker is lost.")
    is_cancel_requested: bool = Field(description="True if it was told to end.")
    progress: float | None = Field(description="How far it has come; null where it does not say.")
    total: float | None = Field(description="Value that `progress` will have at the end; null where it does not say.")
    message: str = Field(description="Text by which it says how far it is; empty in another user's job.")
    error: str = Field(description="Reason of a failure as one word; empty otherwise.")
    created_at: datetime = Field(description="Time at which it was asked for.")
    started_at: datetime | None = Field(description="Time at which it was first started.")
    updated_at: datetime = Field(description="Time of its last change.")
    finished_at: datetime | None = Field(description="Time of its end.")
    notify: NotifyChoice = Field(description="After which ends of it the user gets a mail.")
    expires_at: datetime = Field(description="Time at which it is deleted with its result, once it has ended.")


class JobUpdate(RequestModel):
    """Changes to a job."""

    notify: NotifyChoice = Field(
        description="After which ends of it the user gets a mail: `never`, `failure` (it failed, or its outcome is "
        "unknown), or `always`."
    )


@routes.get("/jobs")
async def list_jobs(
    caller: OwnerRead,
    dependencies: AdminDeps,
    user: UserFilter = None,
    all_owners: AllOwners = False,
    state: Annotated[JobState | None, Query(description="State of the jobs; default all.")] = None,
    module: ModuleFilter = None,
    sort: Annotated[JobSort, Query(description="Field to order by; with `-` the other way round.")] = "-created_at",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[JobView]:
    """List jobs.

    Newest first unless `sort` says otherwise. Returns the caller's own; administrators can name a `user`, or list all
    of the tenant with `all_owners`.
    """
    found = await JobDirectory(dependencies.console).list_jobs(
        caller.tenant_id,
        JobFilter(resolve_owner_filter(caller, user, all_owners), None if state is None else State(state), module),
        oldest_first=sort == "created_at",
        after=None if cursor is None else decode_cursor(cursor, _PlaceKey),
        limit=limit + 1,
    )
    page, next_cursor = split_page(found, limit, lambda listed: listed.number)
    return PageOf(items=[_build_view(caller, dependencies, listed) for listed in page], next_cursor=next_cursor)


@routes.get("/jobs/{job_id}")
async def show_job(job_id: JobPath, caller: OwnerRead, dependencies: AdminDeps) -> JobView:
    """Get a job.

    Users find their own, administrators all of the tenant.
    """
    user_id = None if caller.is_administrator_with(ADMIN_READ) else caller.user_id
    found = await JobDirectory(dependencies.console).get_job(caller.tenant_id, user_id, job_id)
    return _build_view(caller, dependencies, found)


@routes.patch("/jobs/{job_id}")
async def change_job(job_id: JobPath, update: JobUpdate, caller: CurrentUserWrite, dependencies: AdminDeps) -> JobView:
    """Change whether the caller is told of the end of a job of theirs.

    It must not have ended. The mail has its title, its state and its times, and nothing of its arguments and its
    result; the deployment's webhook gets the same.
    """
    directory = JobDirectory(dependencies.console)
    changed = await directory.set_notify(caller.tenant_id, caller.user_id, job_id, Notify(update.notify))
    return _build_view(caller, dependencies, changed)


@routes.post("/jobs/{job_id}/cancellation")
async def cancel_job(job_id: JobPath, caller: OwnerWrite, dependencies: AdminDeps) -> JobView:
    """Cancel a job.

    One that waits is cancelled at once. One that runs is told to end; what it has brought about by then stays. One that
    has ended stays as it is. Users cancel their own, administrators all of the tenant.
    """
    user_id = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    directory = JobDirectory(dependencies.console)
    cancelled = await directory.cancel_job(caller.actor, caller.tenant_id, user_id, job_id)
    return _build_view(caller, dependencies, cancelled)


@routes.post("/jobs/{job_id}/retry")
async def retry_job(job_id: JobPath, caller: CurrentUserWrite, dependencies: AdminDeps, request: Request) -> JobView:
    """Try a job of the caller's own again.

    It must have failed, been cancelled, or have an unknown outcome; of the last two it may have taken effect already.
    The caller has to be permitted all of its tools now, and the job gets a new mandate for them; that of a schedule has
    the schedule's mandate, which must not have ended. Where that is not so, the job stays as it was.
    """

    async def permit(job: JobToRetry) -> UUID | RefusalReason:
        return await dependencies.retries.permit_retry(request, job)

    directory = JobDirectory(dependencies.console)
    retried = await directory.retry_job(caller.actor, caller.tenant_id, caller.user_id, job_id, permit)
    return _build_view(caller, dependencies, retried)


def _build_view(caller: Principal, dependencies: AdminDependencies, listed: ListedJob) -> JobView:
    job = listed.job if listed.job.user_id == caller.user_id else hide_contents(listed.job)
    module_title, tool_title = find_titles(dependencies.catalogue, job.module, job.tool)
    shown = {name: getattr(job, name) for name in JobView.model_fields if hasattr(job, name)}
    return JobView(
        **shown,
        user_email=listed.user_email,
        module_title=LocalizedTextView.model_validate(module_title),
        tool_title=LocalizedTextView.model_validate(tool_title),
    )
