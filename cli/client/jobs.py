"""Jobs at a server."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient

MISSING = "there is no job of this id"


@dataclass(frozen=True, slots=True)
class JobEntry:
    """Work that goes on after the call that asked for it."""

    id: UUID
    user_email: str
    module: str
    tool: str
    title: str
    state: str
    attempt: int
    progress: float | None
    total: float | None
    message: str
    error: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime
    notify: str


def fetch_jobs(api: AdminApiClient, state: str | None, *, all_owners: bool) -> list[JobEntry]:
    """Fetch jobs, newest first: one's own, or those of the whole tenant."""
    return list(api.iterate("/jobs", JobEntry, all_owners="true" if all_owners else None, state=state))


def fetch_job(api: AdminApiClient, job_id: UUID) -> JobEntry:
    """Fetch one job."""
    return api.get("/jobs/{}", JobEntry, str(job_id))


def cancel_job(api: AdminApiClient, job_id: UUID) -> JobEntry:
    """Ask for the end of a job."""
    response = api.change("POST", "/jobs/{}/cancellation", None, str(job_id), missing=MISSING)
    return msgspec.convert(response.json(), JobEntry)


def retry_job(api: AdminApiClient, job_id: UUID) -> JobEntry:
    """Queue a job of one's own again."""
    response = api.change("POST", "/jobs/{}/retry", None, str(job_id), missing=MISSING)
    return msgspec.convert(response.json(), JobEntry)


def set_notify(api: AdminApiClient, job_id: UUID, notify: str) -> JobEntry:
    """Choose after which ends of a job of one's own a mail is sent."""
    response = api.change("PATCH", "/jobs/{}", {"notify": notify}, str(job_id), missing=MISSING)
    return msgspec.convert(response.json(), JobEntry)
