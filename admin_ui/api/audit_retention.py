"""``/audit/retention``: how long the audit log is kept. ``/deployment/audit-retention``: the setting of it for all
tenants.
"""

from collections.abc import Awaitable, Callable
from datetime import date, datetime
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps
from core.api.app import create_router
from core.api.dependencies import AdminRead, OperatorRead, OperatorWrite, RecentlySignedInOperator
from core.api.schemas import RequestModel, ResponseModel
from core.api.security import get_security
from core.api.versions import ExpectedVersion, describe_conflict, set_version
from core.audit.retention import MAX_MONTHS, fetch_oldest_month, fetch_oldest_time
from core.directory.audit_retention import AuditRetention

routes = create_router("audit")

Months = Annotated[int, Field(ge=1, le=MAX_MONTHS)]


class RetentionView(ResponseModel):
    """How long the audit log is kept."""

    keep_months: int | None = Field(
        description="Whole months that are kept before this one; older ones are deleted. Null where everything is kept."
    )
    oldest_at: datetime | None = Field(description="Time of the oldest entry that is kept; null for an empty log.")


class DeploymentRetentionView(ResponseModel):
    """How long the audit logs of all tenants are kept, and where that is set."""

    keep_months: int | None = Field(
        description="Whole months that are kept before this one; older ones are deleted. Null where everything is kept."
    )
    stored_keep_months: int | None = Field(
        description="Whole months that an operator has stored; null where the default counts."
    )
    default_keep_months: int | None = Field(
        description="Whole months of the environment (`MCPIST_AUDIT_KEEP_MONTHS`): the default, and the most that "
        "counts. Null where it keeps everything."
    )
    oldest_month: date | None = Field(
        description="First day of the oldest month that the logs have, in UTC; null before the first entry."
    )
    updated_at: datetime | None = Field(description="Time of the latest change; null before the first.")


class DeploymentRetentionUpdate(RequestModel):
    """How long the audit logs of all tenants are to be kept."""

    keep_months: Months = Field(description="Whole months to keep before this one.")


class RetentionPreview(ResponseModel):
    """Effect of a retention: what would be deleted now."""

    first_kept_day: date | None = Field(
        description="Day before which everything is deleted, in UTC; null where nothing is."
    )
    days: int = Field(description="Number of days of the log that are deleted, of all tenants.")


@routes.get("/audit/retention")
async def show_retention(caller: AdminRead, dependencies: AdminDeps) -> RetentionView:
    """Get how long the audit log is kept, and since when it is.

    It counts for all tenants; the operator sets it.
    """
    retention = await dependencies.audit_retention.fetch()
    async with dependencies.console.tenant(caller.tenant_id) as work:
        oldest = await fetch_oldest_time(work)
    return RetentionView(keep_months=retention.keep_months, oldest_at=oldest)


@routes.get("/deployment/audit-retention")
async def show_deployment_retention(
    caller: OperatorRead, dependencies: AdminDeps, response: Response
) -> DeploymentRetentionView:
    """Get how long the audit logs of all tenants are kept.

    The ETag is that of what is stored, `"v0"` before the first change.
    """
    return await _build_view(dependencies, await dependencies.audit_retention.fetch(), response)


@routes.get("/deployment/audit-retention/preview")
async def preview_deployment_retention(
    caller: OperatorRead,
    dependencies: AdminDeps,
    request: Request,
    keep_months: Annotated[
        Months | None, Query(description="Whole months to keep before this one; omit it for the default.")
    ] = None,
) -> RetentionPreview:
    """Get what would be deleted now if so many months were kept."""
    effect = await dependencies.audit_retention.preview(keep_months, get_security(request).clock())
    return RetentionPreview(first_kept_day=effect.first_kept_day, days=effect.days)


@routes.put("/deployment/audit-retention")
async def put_deployment_retention(
    body: DeploymentRetentionUpdate,
    caller: RecentlySignedInOperator,
    dependencies: AdminDeps,
    request: Request,
    response: Response,
    expected_version: ExpectedVersion,
) -> DeploymentRetentionView:
    """Store how long the audit logs of all tenants are kept.

    Older months are deleted for good within minutes, so a sign-in within the last ten minutes is required. More than
    the environment's number is refused.
    """
    store, now = dependencies.audit_retention, get_security(request).clock()
    change = store.put(caller.actor, body.keep_months, now, expected_version=expected_version)
    return await _build_view(dependencies, await describe_conflict(change, _load_state(dependencies)), response)


@routes.delete("/deployment/audit-retention")
async def reset_deployment_retention(
    caller: OperatorWrite,
    dependencies: AdminDeps,
    request: Request,
    response: Response,
    expected_version: ExpectedVersion,
) -> DeploymentRetentionView:
    """Go back to the default retention of the audit logs, that of the environment.

    It is never shorter than what is stored. Repeating the request changes nothing.
    """
    store, now = dependencies.audit_retention, get_security(request).clock()
    change = store.reset(caller.actor, now, expected_version=expected_version)
    return await _build_view(dependencies, await describe_conflict(change, _load_state(dependencies)), response)


def _load_state(dependencies: AdminDependencies) -> Callable[[], Awaitable[DeploymentRetentionView]]:
    async def load() -> DeploymentRetentionView:
        return await _build_view(dependencies, await dependencies.audit_retention.fetch())

    return load


async def _build_view(
    dependencies: AdminDependencies, retention: AuditRetention, response: Response | None = None
) -> DeploymentRetentionView:
    if response is not None:
        set_version(response, retention.version.version)
    return DeploymentRetentionView(
        keep_months=retention.keep_months,
        stored_keep_months=retention.stored,
        default_keep_months=retention.default,
        oldest_month=await fetch_oldest_month(dependencies.console),
        updated_at=retention.version.changed_at,
    )
