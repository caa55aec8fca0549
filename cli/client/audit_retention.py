"""How long audit logs are kept: a tenant's own view of it, and the operator's setting for all of them."""

from datetime import date, datetime

import msgspec

from cli.client.admin_api import AdminApiClient

PATH = "/deployment/audit-retention"


class AuditRetentionEntry(msgspec.Struct, frozen=True):
    """How long the log is kept, in whole months (None: everything), and its oldest entry."""

    keep_months: int | None
    oldest_at: datetime | None


class DeploymentRetention(msgspec.Struct, frozen=True):
    """How long the logs of all tenants are kept, in whole months (None: everything), and where that is set."""

    keep_months: int | None
    stored_keep_months: int | None
    default_keep_months: int | None
    oldest_month: date | None
    updated_at: datetime | None


class RetentionLoss(msgspec.Struct, frozen=True):
    """What is deleted with a retention."""

    first_kept_day: date | None
    days: int


def fetch_retention(api: AdminApiClient) -> AuditRetentionEntry:
    """Fetch how long a tenant's log is kept."""
    return api.get("/audit/retention", AuditRetentionEntry)


def fetch_deployment_retention(api: AdminApiClient) -> DeploymentRetention:
    """Fetch how long the logs of all tenants are kept."""
    return api.get(PATH, DeploymentRetention)


def preview_retention(api: AdminApiClient, keep_months: int) -> RetentionLoss:
    """Fetch what would be deleted now."""
    return api.get(f"{PATH}/preview", RetentionLoss, keep_months=keep_months)


def put_retention(api: AdminApiClient, keep_months: int) -> DeploymentRetention:
    """Store how long the logs of all tenants are kept."""
    body = {"keep_months": keep_months}
    return msgspec.convert(api.change("PUT", PATH, body).json(), DeploymentRetention)


def reset_retention(api: AdminApiClient) -> DeploymentRetention:
    """Go back to the environment's number."""
    return msgspec.convert(api.change("DELETE", PATH, None).json(), DeploymentRetention)
