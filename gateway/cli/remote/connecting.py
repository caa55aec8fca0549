"""Connect sessions at a server: begun, and followed until nothing waits any more."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from core.errors import Unavailable
from gateway.cli.remote.api import Api
from gateway.cli.remote.roles import role_of

POLL = 2.0
PATIENCE = 60.0
"""Seconds between two questions, and how long a server may be away meanwhile."""


class Progress(msgspec.Struct, frozen=True):
    """How one service stands."""

    service: str
    state: str
    cause: str
    account: str


class ConnectSession(msgspec.Struct, frozen=True):
    """A session as the server tells it."""

    id: UUID
    link: str
    state: str
    services: tuple[Progress, ...]
    expires_at: datetime


def begin(api: Api, services: Sequence[str] | None, role: str | None, *, again: bool) -> ConnectSession:
    """Begin one, for these services or for all that need it."""
    body: Mapping[str, Any] = {
        "services": None if services is None else list(services),
        "role_id": None if role is None else str(role_of(api, role).id),
        "again": again,
    }
    missing = "you have no such service; `mcpist credential list` shows what is connected, /connect what can be"
    return msgspec.convert(api.change("POST", "/connect-sessions", body, missing=missing).json(), ConnectSession)


def followed(
    api: Api,
    session: ConnectSession,
    told: Callable[[Progress], None],
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> ConnectSession:
    """Wait until nothing waits any more, or it is over; `told` hears of each service whose state has changed.

    Raises:
        Unavailable: the server was away for too long.
    """
    seen = {one.service: one.state for one in session.services}
    answered = clock()
    while session.state == "open":
        sleep(POLL)
        try:
            session = api.get("/connect-sessions/{}", ConnectSession, str(session.id))
        except Unavailable:
            if clock() - answered > PATIENCE:
                raise
            continue
        answered = clock()
        for one in session.services:
            if seen.get(one.service) != one.state:
                told(one)
            seen[one.service] = one.state
    return session
