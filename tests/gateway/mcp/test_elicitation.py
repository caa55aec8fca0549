"""The state of a question to the person, in time."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from core.caller import Caller, Credential
from core.permissions import Policy
from core.secret import Secret
from gateway.mcp.elicitation import STATE_SECONDS, UrlElicitor
from gateway.mcp.jsonrpc import JsonRpcMessage
from gateway.mcp.request_context import ProtocolError, UrlElicitation
from gateway.mcp.request_headers import RequestHeaders
from gateway.mcp.revisions import CAPABILITIES_KEY, MODERN_REVISION

CREDENTIAL = Credential("c", "api_token", UUID(int=1), UUID(int=2), frozenset({"mcp:read"}))
CALLER = Caller(CREDENTIAL, "ada@acme.test", "user", Policy((), frozenset()))
ASK = UrlElicitation("shop", "https://mcpist.test/connect/shop", "Connect")


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def call(**more: Any) -> JsonRpcMessage:
    meta = {CAPABILITIES_KEY: {"elicitation": {"url": {}}}}
    return JsonRpcMessage(b"1", "tools/call", {"name": "call", "arguments": {"b": 1, "a": 2}, "_meta": meta, **more})


def test_a_state_counts_for_ten_minutes_at_any_gateway() -> None:
    clock = Clock()
    key = Secret("digest key of the tests, not secret")
    first, second = UrlElicitor(key, clock), UrlElicitor(key, clock)
    way = first.choose_elicitation(MODERN_REVISION, call(), CALLER, RequestHeaders([]))
    assert way is not None
    state = way(ASK)["requestState"]
    clock.now += STATE_SECONDS
    assert second.choose_elicitation(MODERN_REVISION, call(requestState=state), CALLER, RequestHeaders([])) is not None
    clock.now += 1
    with pytest.raises(ProtocolError, match="older than ten minutes"):
        second.choose_elicitation(MODERN_REVISION, call(requestState=state), CALLER, RequestHeaders([]))


def test_another_deployment_s_state_is_none() -> None:
    way = UrlElicitor(Secret("digest key of another deployment, 32")).choose_elicitation(
        MODERN_REVISION, call(), CALLER, RequestHeaders([])
    )
    assert way is not None
    ours = UrlElicitor(Secret("digest key of the tests, not secret"))
    with pytest.raises(ProtocolError):
        ours.choose_elicitation(
            MODERN_REVISION, call(requestState=way(ASK)["requestState"]), CALLER, RequestHeaders([])
        )
