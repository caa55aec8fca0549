"""Connect sessions at a server: begun, and followed until nothing waits any more."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from cli.client.admin_api import AdminApiClient
from cli.client.roles import fetch_role
from core.errors import Unavailable

POLL_SECONDS = 2.0
UNAVAILABLE_TIMEOUT = 60.0
"""Seconds between two questions, and how long a server may be away meanwhile."""


class RemoteServiceProgress(msgspec.Struct, frozen=True):
    """How one service stands."""

    module: str
    state: str
    cause: str
    account: str


class RemoteConnectSession(msgspec.Struct, frozen=True):
    """A session as the server tells it."""

    id: UUID
    url: str
    state: str
    services: tuple[RemoteServiceProgress, ...]
    expires_at: datetime


def start_connect_session(
    api: AdminApiClient, services: Sequence[str] | None, role: str | None, *, reconnect: bool
) -> RemoteConnectSession:
    """Begin one, for these services or for all that need it."""
    body: Mapping[str, Any] = {
        "services": None if services is None else list(services),
        "role_id": None if role is None else str(fetch_role(api, role).id),
        "reconnect": reconnect,
    }
    missing = "you have no such service; `mcpist credential list` shows what is connected, /connect what can be"
    return msgspec.convert(api.change("POST", "/connect-sessions", body, missing=missing).json(), RemoteConnectSession)


def follow_connect_session(
    api: AdminApiClient,
    session: RemoteConnectSession,
    on_change: Callable[[RemoteServiceProgress], None],
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> RemoteConnectSession:
    """Wait until no service is pending or the session ends; `on_change` is called with each service whose state
    changes.

    Raises:
        Unavailable: the server was away for too long.
    """
    states = {service.module: service.state for service in session.services}
    answered_at = clock()
    while session.state == "open":
        sleep(POLL_SECONDS)
        try:
            session = api.get("/connect-sessions/{}", RemoteConnectSession, str(session.id))
        except Unavailable:
            if clock() - answered_at > UNAVAILABLE_TIMEOUT:
                raise
            continue
        answered_at = clock()
        for service in session.services:
            if states.get(service.module) != service.state:
                on_change(service)
            states[service.module] = service.state
    return session
