"""Schedules at a server."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.users import resolve_owner_query

MISSING = "there is no schedule of this id; `mcpist schedule list` shows them"


class ScheduleEntry(msgspec.Struct, frozen=True):
    """A call or batch that is made at times."""

    id: UUID
    user_email: str
    mandate_id: UUID
    title: str
    kind: str
    module: str
    tool: str
    state: str
    consent_url: str | None
    consented_at: datetime | None
    mandate_expires_at: datetime | None
    cron: str
    every_seconds: int | None
    at: datetime | None
    time_zone: str
    overlap: str
    notify: str
    next_run_at: datetime | None
    last_run_at: datetime | None
    last_job_id: UUID | None
    skipped_runs: int
    end_reason: str
    created_at: datetime
    updated_at: datetime


def fetch_schedules(
    api: AdminApiClient, user: str | None, state: str | None, *, all_owners: bool
) -> list[ScheduleEntry]:
    """Fetch schedules, newest first: one's own, those of a user, or all of the tenant."""
    query = resolve_owner_query(api, user, all_owners=all_owners)
    return list(api.iterate("/schedules", ScheduleEntry, state=state, **query))


def fetch_schedule(api: AdminApiClient, schedule_id: UUID) -> ScheduleEntry:
    """Fetch one schedule."""
    return api.get("/schedules/{}", ScheduleEntry, str(schedule_id))


def create_schedule(
    api: AdminApiClient, wanted: Mapping[str, Any], idempotency_key: str | None
) -> tuple[ScheduleEntry, bool]:
    """Make a schedule of one's own; what came of it, and whether it is new."""
    keyed = api if idempotency_key is None else api.with_headers({"Idempotency-Key": idempotency_key})
    return keyed.create("/schedules", ScheduleEntry, wanted)


def change_schedule(api: AdminApiClient, schedule_id: UUID, changes: Mapping[str, Any]) -> ScheduleEntry:
    """Change a schedule of one's own."""
    response = api.change("PATCH", "/schedules/{}", changes, str(schedule_id), missing=MISSING)
    return msgspec.convert(response.json(), ScheduleEntry)


def pause_schedule(api: AdminApiClient, schedule_id: UUID) -> ScheduleEntry:
    """Let no run of a schedule begin."""
    response = api.change("POST", "/schedules/{}/pause", None, str(schedule_id), missing=MISSING)
    return msgspec.convert(response.json(), ScheduleEntry)


def resume_schedule(api: AdminApiClient, schedule_id: UUID) -> ScheduleEntry:
    """Go on with a schedule of one's own."""
    response = api.change("POST", "/schedules/{}/resumption", None, str(schedule_id), missing=MISSING)
    return msgspec.convert(response.json(), ScheduleEntry)


def run_schedule(api: AdminApiClient, schedule_id: UUID) -> ScheduleEntry:
    """Let a schedule of one's own be due at once."""
    response = api.change("POST", "/schedules/{}/run", None, str(schedule_id), missing=MISSING)
    return msgspec.convert(response.json(), ScheduleEntry)


def delete_schedule(api: AdminApiClient, schedule_id: UUID) -> None:
    """Delete a schedule."""
    api.delete("/schedules/{}", str(schedule_id), missing=MISSING)
