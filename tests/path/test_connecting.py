"""A call without a usable account: the person is asked to connect one, in the way that their client understands."""

import base64
from typing import Any

import pytest

from tests.path.shop_app import ShopApp, people
from tests.support.eventually import within
from tests.support.mcp_client import MODERN, Answer
from tests.support.product import Person
from tests.support.stored_credentials import list_stored

LINK = "http://127.0.0.1:8080/connect/shop"
CALL = {"name": "call", "arguments": {"module": "shop", "tool_name": "look", "params": {"what": "tea"}}}
OPENS_URLS = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}}
FORMS_ONLY = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}}


async def modern(app: ShopApp, person: Person, **more: Any) -> Answer:
    return await app.node.post(person.token, "tools/call", CALL | OPENS_URLS | more, revision=MODERN)


async def asked(app: ShopApp, person: Person) -> dict[str, Any]:
    result = (await modern(app, person)).result
    assert result["resultType"] == "input_required"
    return result


def answered(result: dict[str, Any], action: str = "accept") -> dict[str, Any]:
    return {"requestState": result["requestState"], "inputResponses": {"shop": {"action": action}}}


async def test_a_modern_client_is_asked_and_the_same_call_goes_through_afterwards(app: ShopApp) -> None:
    ada, _ = await people(app)
    result = await asked(app, ada)
    asks = result["inputRequests"]["shop"]
    assert asks["method"] == "elicitation/create"
    assert asks["params"] == {"mode": "url", "message": "Connect your Shop account", "url": LINK}
    assert (await asked(app, ada))["inputRequests"] == result["inputRequests"], "who only said yes is asked again"

    await app.add(ada, "adas-token-0123456789")

    async def through() -> bool:
        return (await modern(app, ada, **answered(result))).result.get("isError") is False

    await within(1.0, through)


async def test_who_declines_is_not_asked_again(app: ShopApp) -> None:
    ada, _ = await people(app)
    result = await asked(app, ada)
    for action in ("decline", "cancel"):
        answer = await modern(app, ada, **answered(result, action))
        assert answer.failed
        assert LINK in answer.text


async def test_a_state_counts_for_its_user_and_its_call_and_unchanged(app: ShopApp) -> None:
    ada, eve = await people(app)
    colleague = await app.product.person(ada.tenant, "bob@acme.test", allow=["*"])
    result = await asked(app, ada)
    for other in (eve, colleague, await app.product.with_token(ada)):
        await refused(app, other, answered(result))
    arguments = {"module": "shop", "tool_name": "buy", "params": {"what": "tea"}}
    await refused(app, ada, answered(result) | {"arguments": arguments})
    plain = base64.urlsafe_b64decode(result["requestState"])
    for place in range(len(plain)):
        flipped = bytearray(plain)
        flipped[place] ^= 1
        await refused(app, ada, {"requestState": base64.urlsafe_b64encode(flipped).decode()})
    for wrong in ("", "x", 7, None, "A" * 10_000, "ä", result["requestState"] + "=", result["requestState"][:-1]):
        await refused(app, ada, {"requestState": wrong})
    assert app.shop.asked == []


async def refused(app: ShopApp, person: Person, more: dict[str, Any]) -> None:
    answer = await modern(app, person, **more)
    assert answer.message["error"]["code"] == -32602
    assert "send the call without it" in answer.message["error"]["message"]


@pytest.mark.parametrize("capabilities", [{}, FORMS_ONLY], ids=["none", "forms only"])
async def test_a_modern_client_that_cannot_open_urls_reads_the_link(app: ShopApp, capabilities: dict[str, Any]) -> None:
    ada, _ = await people(app)
    answer = await app.node.post(ada.token, "tools/call", CALL | capabilities, revision=MODERN)
    assert answer.failed
    assert LINK in answer.text


async def shook_hands(app: ShopApp, person: Person, version: str, capabilities: dict[str, Any]) -> str:
    hello = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}}
    answer = await app.node.post(person.token, "initialize", hello, revision=version)
    return answer.header("mcp-session-id")


async def test_a_handshake_client_that_opens_urls_gets_the_error_that_asks(app: ShopApp) -> None:
    ada, eve = await people(app)
    session = await shook_hands(app, ada, "2025-11-25", {"elicitation": {"url": {}, "form": {}}})
    assert session
    headers = {"mcp-session-id": session}
    error = (await app.node.post(ada.token, "tools/call", CALL, headers=headers)).message["error"]
    assert error["code"] == -32042
    (asks,) = error["data"]["elicitations"]
    assert (asks["mode"], asks["url"], asks["message"]) == ("url", LINK, "Connect your Shop account")

    again = (await app.node.post(ada.token, "tools/call", CALL, headers=headers)).message["error"]
    other = (await app.node.post(eve.token, "tools/call", CALL, headers=headers)).message["error"]
    assert again == error
    assert other["data"]["elicitations"][0]["elicitationId"] != asks["elicitationId"]


@pytest.mark.parametrize(
    ("version", "capabilities"),
    [("2025-11-25", {}), ("2025-11-25", {"elicitation": {}}), ("2025-06-18", {"elicitation": {"url": {}}})],
)
async def test_other_handshake_clients_have_no_session_and_read_the_link(
    app: ShopApp, version: str, capabilities: dict[str, Any]
) -> None:
    ada, _ = await people(app)
    assert not await shook_hands(app, ada, version, capabilities)
    answer = await app.node.post(ada.token, "tools/call", CALL, revision=version)
    assert answer.failed
    assert LINK in answer.text


async def test_an_old_client_with_a_session_id_of_its_own_making_reads_the_link(app: ShopApp) -> None:
    ada, _ = await people(app)
    for revision, session in (("2025-06-18", "url-0"), ("2025-11-25", "another server's")):
        headers = {"mcp-session-id": session}
        assert (await app.node.post(ada.token, "tools/call", CALL, revision=revision, headers=headers)).failed


async def test_the_schema_says_how_the_module_stands_and_where_to_connect(app: ShopApp) -> None:
    ada, _ = await people(app)
    shown = await app.state(ada)
    assert (shown["connection"], shown["connect"]) == ("needs_connect", LINK)
    await app.add(ada, "role-token-0123456789", role=ada.email)

    async def shared() -> bool:
        return (await app.state(ada))["connection"] == "shared"

    await within(1.0, shared)
    app.shop.tokens.clear()
    refused = (await app.call(ada, "look", what="tea"))["content"][0]["text"]
    assert "an administrator can replace it" in refused
    assert (await app.state(ada))["connection"] == "shared"
    (stored,) = await list_stored(app.broker, ada.tenant.id)
    await app.credentials.mark_broken(ada.tenant.id, stored.id, stored.version, "rejected")

    async def broken() -> bool:
        return (await app.state(ada))["connection"] == "broken"

    await within(1.0, broken)
    assert (await app.state(ada))["cause"] == "rejected"
    assert "administrator" in (await app.state(ada))["note"]
