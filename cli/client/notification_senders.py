"""Senders of notifications of the deployment, as the operator sees them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.identity_providers import TrialCheck

PATH = "/deployment/notification-senders"
MISSING = "the database has no such sender; `mcpist notification-sender list` shows them"

SenderName = Literal["mail", "webhook"]


class NotificationSenderEntry(msgspec.Struct, frozen=True):
    """One of them, without its secret."""

    kind: str
    source: str
    in_use: bool
    server: str
    port: int | None
    security: str
    user: str
    sender: str
    url: str
    created_at: datetime | None
    updated_at: datetime | None


class SenderTrialResult(msgspec.Struct, frozen=True):
    """What a trial has found; nothing was stored."""

    passed: bool
    checks: list[TrialCheck]


class SavedSender(msgspec.Struct, frozen=True):
    """A stored sender, and the trial before."""

    sender: NotificationSenderEntry
    checks: list[TrialCheck]


def fetch_notification_senders(api: AdminApiClient) -> list[NotificationSenderEntry]:
    """Fetch all of them."""
    return list(api.iterate(PATH, NotificationSenderEntry))


def try_notification_sender(api: AdminApiClient, kind: SenderName, body: Mapping[str, Any]) -> SenderTrialResult:
    """Send a trial message; nothing is stored."""
    return api.create(f"{PATH}/{kind}/test", SenderTrialResult, body)[0]


def put_notification_sender(
    api: AdminApiClient, kind: SenderName, body: Mapping[str, Any], *, despite_failures: bool
) -> SavedSender:
    """Store one, after its trial."""
    response = api.change("PUT", f"{PATH}/{kind}", {**body, "despite_failures": despite_failures})
    return msgspec.convert(response.json(), SavedSender)


def remove_notification_sender(api: AdminApiClient, kind: str) -> None:
    """Forget one."""
    api.delete(f"{PATH}/{{}}", kind, missing=MISSING)
