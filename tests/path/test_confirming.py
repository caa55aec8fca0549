"""A tool that asks the person before it does something: on a form of their client's, or in words."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from core.audit.event import AuditEventKind
from modules.kit import ConfirmationOutcome, Context, Module, tool
from tests.path.shop_app import ShopApp, open_shop_app, people
from tests.support.eventually import within
from tests.support.mcp_client import LEGACY, MODERN, Answer
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person
from tests.support.toy_vendor import WRITES, shop_module

FORMS: dict[str, Any] = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}}
PRICES = {"tea": "10 USD"}
KEY = "user-confirmation"


class Order(BaseModel):
    """What became of it."""

    became: str


@tool(hints=WRITES, scopes=["shop:write"])
async def order(
    context: Context,
    what: Annotated[str, Field(description="What to order", max_length=1_000)],
    late: Annotated[bool, Field(description="Ask too late")] = False,
) -> Order:
    """Order something, once the user agrees to its price."""
    await context.vendor.request("GET", "/look", query={"what": "prices"})
    if late:
        await context.vendor.request("POST", "/buy", json={})
    answer = await context.confirm(
        f"Order {what} for {PRICES.get('tea')}?", label="Yes, order it", instead="give agreed '10 USD'"
    )
    if answer is ConfirmationOutcome.CONFIRMED:
        await context.vendor.request("POST", "/buy", json={"what": what})
    return Order(became=answer.value)


def asking_shop(base_url: str) -> Module:
    shop = shop_module(base_url)
    return Module("shop", "Shop", "A shop.", shop.scopes, (*shop.tools, order), vendor=shop.vendor)


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[ShopApp]:
    async with open_shop_app(database, tmp_path, make_module=asking_shop) as app:
        yield app


@pytest.fixture(autouse=True)
def price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRICES, "tea", "10 USD")


@pytest.fixture
async def ada(app: ShopApp) -> Person:
    ada, _ = await people(app)
    await app.add(ada, "adas-token-0123456789")
    return ada


async def ordered(
    app: ShopApp, person: Person, more: dict[str, Any], *, what: str = "tea", revision: str = MODERN
) -> Answer:
    arguments = {"module": "shop", "tool_name": "order", "params": {"what": what}}
    call = {"name": "call", "arguments": arguments}
    return await app.node.post(person.token, "tools/call", call | more, revision=revision)


async def asked(app: ShopApp, person: Person, what: str = "tea") -> dict[str, Any]:
    result = (await ordered(app, person, FORMS, what=what)).result
    assert result["resultType"] == "input_required", result
    return result


def reply(result: dict[str, Any], response: Any) -> dict[str, Any]:
    return {"requestState": result["requestState"], "inputResponses": {KEY: response}} | FORMS


def yes(result: dict[str, Any]) -> dict[str, Any]:
    return reply(result, {"action": "accept", "content": {"confirm": True}})


def bought(app: ShopApp) -> int:
    return app.shop.asked.count(("adas-token-0123456789", "POST /buy"))


async def test_a_person_agrees_on_a_form_and_the_tool_goes_on(app: ShopApp, ada: Person) -> None:
    result = await asked(app, ada)
    form = result["inputRequests"][KEY]["params"]
    assert (form["mode"], form["message"]) == ("form", "Order tea for 10 USD?")
    assert form["requestedSchema"] == {
        "type": "object",
        "properties": {"confirm": {"type": "boolean", "title": "Yes, order it", "default": False}},
        "required": ["confirm"],
    }
    assert bought(app) == 0
    assert (await ordered(app, ada, yes(result))).value == {"became": "confirmed"}
    assert bought(app) == 1

    async def recorded() -> bool:
        return len(await app.product.events(ada.tenant, AuditEventKind.CALL_OUTCOME)) == 2

    await within(5, recorded)
    outcomes = await app.product.events(ada.tenant, AuditEventKind.CALL_OUTCOME)
    assert sorted(str((one.detail or {}).get("confirmation")) for one in outcomes) == ["asked", "confirmed"]


@pytest.mark.parametrize(
    "response",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"confirm": False}},
        {"action": "accept", "content": {"confirm": "true"}},
        {"action": "accept", "content": {"confirm": 1}},
        {"action": "accept", "content": [True]},
        {"action": "decline", "content": {"confirm": True}},
        "accept",
        ["accept"],
    ],
)
async def test_whatever_is_no_tick_is_no_confirmation(app: ShopApp, ada: Person, response: Any) -> None:
    result = await asked(app, ada)
    assert (await ordered(app, ada, reply(result, response))).value == {"became": "declined"}
    assert bought(app) == 0


@pytest.mark.parametrize("responses", [{}, {"another": {"action": "accept", "content": {"confirm": True}}}, None, 7])
async def test_no_answer_is_asked_for_again(app: ShopApp, ada: Person, responses: Any) -> None:
    state = {"requestState": (await asked(app, ada))["requestState"], "inputResponses": responses}
    assert (await ordered(app, ada, state | FORMS)).result["resultType"] == "input_required"
    assert bought(app) == 0


async def test_an_answer_counts_for_its_person_its_call_and_its_question(
    app: ShopApp, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = await asked(app, ada)
    eve = await app.product.person(await app.product.tenant("initech"), "ada@initech.test", allow=["*"])
    bob = await app.product.person(ada.tenant, "bob@acme.test", allow=["*"])
    for other in (eve, bob, await app.product.with_token(ada)):
        assert (await ordered(app, other, yes(result))).message["error"]["code"] == -32602
    assert (await ordered(app, ada, yes(result), what="coffee")).message["error"]["code"] == -32602
    plain = base64.urlsafe_b64decode(result["requestState"])
    for place in range(len(plain)):
        flipped = bytearray(plain)
        flipped[place] ^= 1
        forged = {"requestState": base64.urlsafe_b64encode(flipped).decode()}
        assert (await ordered(app, ada, yes(result) | forged)).message["error"]["code"] == -32602
    monkeypatch.setitem(PRICES, "tea", "20 USD")
    again = (await ordered(app, ada, yes(result))).result
    assert "20 USD" in again["inputRequests"][KEY]["params"]["message"]
    assert bought(app) == 0


async def test_consent_to_open_a_page_is_no_confirmation(app: ShopApp, ada: Person) -> None:
    both: dict[str, Any] = {
        "_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}, "form": {}}}}
    }
    bob = await app.product.person(ada.tenant, "bob@acme.test", allow=["*"])
    page = (await ordered(app, bob, both)).result
    assert page["inputRequests"]["shop"]["params"]["mode"] == "url"
    await app.add(bob, "bobs-token-0123456789")
    agreed = {"action": "accept", "content": {"confirm": True}}
    given = {"requestState": page["requestState"], "inputResponses": {"shop": {"action": "accept"}, KEY: agreed}}

    async def form_is_shown() -> bool:
        result = (await ordered(app, bob, given | both)).result
        return KEY in result.get("inputRequests", {})

    await within(5, form_is_shown)
    assert ("bobs-token-0123456789", "POST /buy") not in app.shop.asked


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": None}, {"elicitation": []}])
async def test_a_client_without_forms_is_told_in_words(app: ShopApp, ada: Person, capabilities: Any) -> None:
    meta = {"_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities}}
    assert (await ordered(app, ada, meta)).value == {"became": "not_asked"}
    assert bought(app) == 0


@pytest.mark.parametrize("revision", LEGACY)
async def test_a_handshake_client_is_told_in_words(app: ShopApp, ada: Person, revision: str) -> None:
    assert (await ordered(app, ada, {}, revision=revision)).value == {"became": "not_asked"}


async def test_a_batch_does_not_ask_and_says_what_to_do(app: ShopApp, ada: Person) -> None:
    steps = [{"id": "a", "module": "shop", "tool_name": "order", "params": {"what": "tea"}, "output": True}]
    for more in (FORMS, dict[str, Any]()):
        call: dict[str, Any] = {"name": "batch", "arguments": {"commands": steps}} | more
        answer = await app.node.post(ada.token, "tools/call", call, revision=MODERN)
        assert answer.failed
        assert "a batch does not wait for an answer; use call, or give agreed '10 USD'" in answer.text
    assert bought(app) == 0


async def test_a_question_shows_what_is_in_it_and_is_never_cut(app: ShopApp, ada: Person) -> None:
    hidden = await asked(app, ada, "te\u200ba \u202efor free\U000e0041")
    assert hidden["inputRequests"][KEY]["params"]["message"] == "Order tea for free for 10 USD?"
    assert "failed inside MCPist" in (await ordered(app, ada, FORMS, what="x" * 600)).text


async def test_a_tool_that_asks_after_a_change_fails(app: ShopApp, ada: Person) -> None:
    arguments = {"module": "shop", "tool_name": "order", "params": {"what": "tea", "late": True}}
    call = {"name": "call", "arguments": arguments} | FORMS
    answer = await app.node.post(ada.token, "tools/call", call, revision=MODERN)
    assert "failed inside MCPist" in answer.text
    assert "whether the change was made is not known" in answer.text
