"""The state of a question to the person, in time."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from core.caller import Caller, Credential
from core.permissions import Policy
from core.secret import Secret
from gateway.mcp.context import ProtocolError, UrlAsk
from gateway.mcp.elicitation import ASKED_SECONDS, Elicitation
from gateway.mcp.envelope import Message
from gateway.mcp.headers import Headers
from gateway.mcp.revisions import CAPABILITIES_KEY, MODERN

CREDENTIAL = Credential("c", "api_token", UUID(int=1), UUID(int=2), frozenset({"mcp:read"}))
CALLER = Caller(CREDENTIAL, "ada@acme.test", "user", Policy((), frozenset()))
ASK = UrlAsk("shop", "https://mcpist.test/connect/shop", "Connect")


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def call(**more: Any) -> Message:
    meta = {CAPABILITIES_KEY: {"elicitation": {"url": {}}}}
    return Message(b"1", "tools/call", {"name": "call", "arguments": {"b": 1, "a": 2}, "_meta": meta, **more})


def test_a_state_counts_for_ten_minutes_at_any_gateway() -> None:
    clock = Clock()
    key = Secret("digest key of the tests, not secret")
    first, second = Elicitation(key, clock), Elicitation(key, clock)
    way = first.way(MODERN, call(), CALLER, Headers([]))
    assert way is not None
    state = way(ASK)["requestState"]
    clock.now += ASKED_SECONDS
    assert second.way(MODERN, call(requestState=state), CALLER, Headers([])) is not None
    clock.now += 1
    with pytest.raises(ProtocolError, match="older than ten minutes"):
        second.way(MODERN, call(requestState=state), CALLER, Headers([]))


def test_another_deployment_s_state_is_none() -> None:
    way = Elicitation(Secret("digest key of another deployment, 32")).way(MODERN, call(), CALLER, Headers([]))
    assert way is not None
    ours = Elicitation(Secret("digest key of the tests, not secret"))
    with pytest.raises(ProtocolError):
        ours.way(MODERN, call(requestState=way(ASK)["requestState"]), CALLER, Headers([]))
