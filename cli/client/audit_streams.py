"""The stream of a tenant's audit log to its log collector, at a server."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.identity_providers import TrialCheck

PATH = "/audit-stream"
MISSING = "this tenant's audit log goes to no collector; `mcpist audit stream set` stores one"


class AuditStreamEntry(msgspec.Struct, frozen=True):
    """The stream without its secret, and how it stands."""

    url: str
    format: str
    enabled: bool
    position: int
    pending: int
    oldest_pending_at: datetime | None
    delivered_at: datetime | None
    last_error: str
    failing_since: datetime | None
    next_attempt_at: datetime | None
    created_at: datetime
    updated_at: datetime


class StreamTrialResult(msgspec.Struct, frozen=True):
    """What a trial has found; nothing was stored."""

    passed: bool
    checks: list[TrialCheck]


class SavedStream(msgspec.Struct, frozen=True):
    """The stored stream, and the trial before."""

    stream: AuditStreamEntry
    checks: list[TrialCheck]


def fetch_audit_stream(api: AdminApiClient) -> AuditStreamEntry:
    """Fetch the tenant's stream."""
    return api.get(PATH, AuditStreamEntry)


def try_audit_stream(api: AdminApiClient, body: Mapping[str, Any]) -> StreamTrialResult:
    """Post a trial record; nothing is stored."""
    return api.create(f"{PATH}/test", StreamTrialResult, body)[0]


def put_audit_stream(api: AdminApiClient, body: Mapping[str, Any]) -> SavedStream:
    """Store the tenant's stream, after its trial."""
    return msgspec.convert(api.change("PUT", PATH, body).json(), SavedStream)


def remove_audit_stream(api: AdminApiClient) -> None:
    """Remove the tenant's stream."""
    api.delete(PATH, missing=MISSING)
