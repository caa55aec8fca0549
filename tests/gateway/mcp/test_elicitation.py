"""The state of a question to the person, in time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from core.caller import Caller, Credential
from core.permissions import Policy
from core.secret import Secret
from gateway.mcp.client_questions import build_confirmation, read_confirmation
from gateway.mcp.elicitation import Elicitation, Elicitor
from gateway.mcp.jsonrpc import JsonRpcMessage
from gateway.mcp.request_context import ProtocolError, UrlElicitation
from gateway.mcp.request_headers import RequestHeaders
from gateway.mcp.request_state import STATE_SECONDS
from gateway.mcp.revisions import CAPABILITIES_KEY, MODERN_REVISION
from modules.kit import ConfirmationOutcome

CREDENTIAL = Credential("c", "api_token", UUID(int=1), UUID(int=2), frozenset({"mcp:read"}))
CALLER = Caller(CREDENTIAL, "ada@acme.test", "user", Policy((), frozenset()))
ASK = UrlElicitation("shop", "https://mcpist.test/connect/shop", "Connect")


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


QUESTION = build_confirmation("Order tea for 10 USD?", "Yes")
KEY = Secret("digest key of the tests, not secret")


def choose(elicitor: Elicitor, **more: Any) -> Elicitation:
    meta = {CAPABILITIES_KEY: {"elicitation": {"url": {}, "form": {}}}}
    params = {"name": "call", "arguments": {"b": 1, "a": 2}, "_meta": meta, **more}
    message = JsonRpcMessage(b"1", "tools/call", params)
    return elicitor.choose_elicitation(MODERN_REVISION, message, CALLER, RequestHeaders([]))


def ask_by_page(elicitor: Elicitor) -> str:
    way = choose(elicitor).elicit_url
    assert way is not None
    return way(ASK)["requestState"]


def ask_by_form(elicitor: Elicitor) -> str:
    way = choose(elicitor).questions
    assert way is not None
    return way.build_request([QUESTION])["requestState"]


@pytest.mark.parametrize("ask", [ask_by_page, ask_by_form])
def test_a_state_counts_for_ten_minutes_at_any_gateway(ask: Callable[[Elicitor], str]) -> None:
    clock = Clock()
    first, second = Elicitor(KEY, clock), Elicitor(KEY, clock)
    state = ask(first)
    clock.now += STATE_SECONDS
    answered = choose(second, requestState=state)
    assert answered.page_accepted is (ask is ask_by_page)
    clock.now += 1
    with pytest.raises(ProtocolError, match="older than ten minutes"):
        choose(second, requestState=state)


@pytest.mark.parametrize("ask", [ask_by_page, ask_by_form])
def test_another_deployment_s_state_is_none(ask: Callable[[Elicitor], str]) -> None:
    state = ask(Elicitor(Secret("digest key of another deployment, 32")))
    with pytest.raises(ProtocolError):
        choose(Elicitor(KEY), requestState=state)


def test_an_answer_counts_for_its_question_alone() -> None:
    elicitor = Elicitor(KEY)
    responses = {"user-confirmation": {"action": "accept", "content": {"confirm": True}}}
    given = choose(elicitor, requestState=ask_by_form(elicitor), inputResponses=responses).questions
    assert given is not None
    assert read_confirmation(given.find_response(QUESTION)) is ConfirmationOutcome.CONFIRMED
    assert given.find_response(build_confirmation("Order tea for 20 USD?", "Yes")) is None
    assert given.find_response(build_confirmation("Order tea for 10 USD?", "No")) is None


def test_declining_a_form_keeps_the_way_to_a_page() -> None:
    elicitor = Elicitor(KEY)
    state = ask_by_form(elicitor)
    declined = choose(elicitor, requestState=state, inputResponses={"user-confirmation": {"action": "decline"}})
    assert declined.elicit_url is not None
    state = ask_by_page(elicitor)
    declined = choose(elicitor, requestState=state, inputResponses={"shop": {"action": "decline"}})
    assert declined.elicit_url is None
