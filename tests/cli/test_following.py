"""`mcpist connect` follows a session through a server that is away for a while, and gives up after a minute."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from cli.client.connect_sessions import (
    UNAVAILABLE_TIMEOUT,
    RemoteConnectSession,
    RemoteServiceProgress,
    follow_connect_session,
)
from core.errors import Unavailable

ID = UUID(int=7)


def session(state: str, *services: tuple[str, str]) -> RemoteConnectSession:
    told = tuple(RemoteServiceProgress(name, how, "declined" if how == "failed" else "", "") for name, how in services)
    return RemoteConnectSession(ID, "https://mcp.test/connect/-/session/x", state, told, datetime.now(UTC))


@dataclass
class Server:
    """Answers in turn; None is being away."""

    answers: Iterator[RemoteConnectSession | None]
    now: float = 0.0
    asked: list[str] = field(default_factory=list)

    def get(self, path: str, form: type[Any], name: str) -> RemoteConnectSession:
        self.asked.append(name)
        found = next(self.answers)
        if found is None:
            raise Unavailable
        return found

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def follow(self, begun: RemoteConnectSession) -> tuple[RemoteConnectSession, list[tuple[str, str]]]:
        heard: list[RemoteServiceProgress] = []
        server: Any = self
        ended = follow_connect_session(server, begun, heard.append, sleep=self.sleep, clock=lambda: self.now)
        return ended, [(one.module, one.state) for one in heard]


def test_each_change_is_told_once() -> None:
    first = session("open", ("a", "waiting"), ("b", "waiting"))
    half, whole = (
        session("open", ("a", "done"), ("b", "waiting")),
        session("failed", ("a", "done"), ("b", "failed")),
    )
    server = Server(iter([first, None, half, half, whole]))
    ended, heard = server.follow(first)
    assert (ended, heard) == (whole, [("a", "done"), ("b", "failed")])
    assert server.asked == [str(ID)] * 5


def test_a_server_that_stays_away_is_given_up() -> None:
    server = Server(iter([None] * 100))
    with pytest.raises(Unavailable):
        server.follow(session("open", ("a", "waiting")))
    assert UNAVAILABLE_TIMEOUT < server.now < UNAVAILABLE_TIMEOUT + 5


@pytest.mark.parametrize("state", ["done", "failed", "cancelled", "expired"])
def test_what_is_over_is_not_asked_for(state: str) -> None:
    begun = session(state, ("a", "waiting"))
    assert Server(iter([])).follow(begun) == (begun, [])
