"""``/jobs``: long work of the caller's, and of the tenant for administrators; cancelling it, and trying it again."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Path, Query, Request
from pydantic import Field

from admin_ui.api.admin_dependencies import AdminDeps, ConsoleDatabase
from broker.interface import JobToRetry, RefusalReason
from core.api.app import create_router
from core.api.dependencies import AllOwners, CurrentUserWrite, OwnerRead, OwnerWrite, UserFilter, resolve_owner_filter
from core.api.pagination import Cursor, PageLimit, decode_cursor, split_page
from core.api.principal import Principal
from core.api.schemas import PageOf, ResponseModel
from core.scopes import ADMIN_READ, ADMIN_WRITE
from jobs.directory import JobDirectory, hide_contents
from jobs.job import Job
from jobs.job import JobState as State

routes = create_router("jobs")

JobPath = Annotated[UUID, Path(description="Identifier of the job.")]
JobState = Literal["queued", "running", "succeeded", "failed", "cancelled", "unknown"]


class JobView(ResponseModel):
    """Work that goes on after the call that asked for it. Its arguments and its result are not shown here."""

    id: UUID = Field(description="Identifier of the job; as an MCP task it has the same.")
    user_id: UUID = Field(description="Identifier of the user whose job it is.")
    module: str = Field(description="Name of the module; empty for a batch.")
    tool: str = Field(description="Name of the tool.")
    title: str = Field(description="Title of the tool.")
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
    expires_at: datetime = Field(description="Time at which it is deleted with its result, once it has ended.")


@routes.get("/jobs")
async def list_jobs(
    caller: OwnerRead,
    console: ConsoleDatabase,
    user: UserFilter = None,
    all_owners: AllOwners = False,
    state: Annotated[JobState | None, Query(description="State of the jobs; default all.")] = None,
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[JobView]:
    """List jobs.

    Newest first. Returns the caller's own; administrators can name a `user`, or list all of the tenant with
    `all_owners`.
    """
    user_id = resolve_owner_filter(caller, user, all_owners)
    after = None if cursor is None else decode_cursor(cursor, UUID)
    wanted = None if state is None else State(state)
    found = await JobDirectory(console).list_jobs(caller.tenant_id, user_id, state=wanted, after=after, limit=limit + 1)
    page, next_cursor = split_page(found, limit, lambda job: job.id)
    return PageOf(items=[_build_view(caller, job) for job in page], next_cursor=next_cursor)


@routes.get("/jobs/{job_id}")
async def show_job(job_id: JobPath, caller: OwnerRead, console: ConsoleDatabase) -> JobView:
    """Get a job.

    Users find their own, administrators all of the tenant.
    """
    user_id = None if caller.is_administrator_with(ADMIN_READ) else caller.user_id
    return _build_view(caller, await JobDirectory(console).get_job(caller.tenant_id, user_id, job_id))


@routes.post("/jobs/{job_id}/cancellation")
async def cancel_job(job_id: JobPath, caller: OwnerWrite, console: ConsoleDatabase) -> JobView:
    """Cancel a job.

    One that waits is cancelled at once. One that runs is told to end; what it has brought about by then stays. One that
    has ended stays as it is. Users cancel their own, administrators all of the tenant.
    """
    user_id = None if caller.is_administrator_with(ADMIN_WRITE) else caller.user_id
    return _build_view(caller, await JobDirectory(console).cancel_job(caller.actor, caller.tenant_id, user_id, job_id))


@routes.post("/jobs/{job_id}/retry")
async def retry_job(job_id: JobPath, caller: CurrentUserWrite, parts: AdminDeps, request: Request) -> JobView:
    """Try a job of the caller's own again.

    It must have failed, been cancelled, or have an unknown outcome; of the last two it may have taken effect already.
    The caller has to be permitted all of its tools now, and the job gets a new mandate for them; that of a schedule has
    the schedule's mandate, which must not have ended. Where that is not so, the job stays as it was.
    """

    async def permit(job: JobToRetry) -> UUID | RefusalReason:
        return await parts.retries.permit_retry(request, job)

    directory = JobDirectory(parts.console)
    return _build_view(
        caller, await directory.retry_job(caller.actor, caller.tenant_id, caller.user_id, job_id, permit)
    )


def _build_view(caller: Principal, job: Job) -> JobView:
    return JobView.model_validate(job if job.user_id == caller.user_id else hide_contents(job))
