"""A call that reaches a vendor with a credential that only the broker can open; and what happens without one."""

from pathlib import Path

import pytest

from core.audit.event import AuditEventKind
from tests.path.shop_app import ShopApp, open_shop_app, people
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, SPLIT
from tests.support.stored_credentials import list_stored


async def test_everybody_uses_their_own_credential(app: ShopApp) -> None:
    ada, eve = await people(app)
    await app.add(ada, "adas-token-0123456789")
    await app.add(eve, "eves-token-0123456789")
    assert (await app.call(ada, "look", what="tea"))["structuredContent"]["said"] == "account of adas-: tea"
    assert (await app.call(eve, "buy", what="tea"))["structuredContent"]["said"].startswith("account of eves-")
    assert app.shop.asked == [("adas-token-0123456789", "GET /look"), ("eves-token-0123456789", "POST /buy")]
    assert (await app.state(ada))["connection"] == "connected"


async def test_without_a_credential_the_module_is_shown_and_calls_say_what_is_missing(app: ShopApp) -> None:
    ada, eve = await people(app)
    await app.add(eve, "eves-token-0123456789")
    shown = await app.state(ada)
    assert (shown["connection"], len(shown["tools"])) == ("needs_connect", 2)
    assert "administrator" in shown["note"]
    answer = await app.call(ada, "look", what="tea")
    assert answer["isError"]
    assert "not connected for you" in answer["content"][0]["text"]
    assert answer["content"][0]["text"].endswith("; then call again.")
    assert app.shop.asked == []


async def test_a_batch_names_such_steps_before_anything_runs(app: ShopApp) -> None:
    ada, _ = await people(app)
    steps = [
        {"id": "a", "module": "knowledge_graph", "tool_name": "create_entities",
         "params": {"entities": [{"name": "x", "entityType": "t", "observations": []}]}},
        {"id": "b", "module": "shop", "tool_name": "buy", "params": {"what": "tea"}},
    ]  # fmt: skip
    answer = await app.node.tool(ada.token, "batch", {"commands": steps})
    assert answer.failed
    assert "step 2: Shop is not connected" in answer.text
    assert (await app.node.call(ada.token, "knowledge_graph", "read_graph")).value["entities"] == []


async def test_a_role_shares_its_credential_and_the_own_one_wins(app: ShopApp) -> None:
    ada, _ = await people(app)
    await app.add(ada, "role-token-0123456789", role=ada.email)
    assert "role-" in (await app.call(ada, "look", what="tea"))["structuredContent"]["said"]
    await app.add(ada, "adas-token-0123456789")

    async def own() -> bool:
        return "adas-" in (await app.call(ada, "look", what="tea"))["structuredContent"]["said"]

    await within(1.0, own)


async def test_a_credential_that_is_broken_is_visible_and_sent_nowhere(app: ShopApp) -> None:
    ada, _ = await people(app)
    await app.add(ada, "adas-token-0123456789")
    assert not (await app.call(ada, "look", what="tea"))["isError"]
    (stored,) = await list_stored(app.broker, ada.tenant.id)
    await app.credentials.mark_broken(ada.tenant.id, stored.id, stored.version, "rejected")

    async def broken() -> bool:
        return (await app.state(ada))["connection"] == "broken"

    async def refused() -> bool:
        return "refuses your account" in (await app.call(ada, "look", what="tea"))["content"][0]["text"]

    await within(1.0, broken)
    await within(1.0, refused)
    before = len(app.shop.asked)
    assert await refused()
    assert len(app.shop.asked) == before
    assert [event.kind for event in await app.product.events(ada.tenant, "credential.broken")]
    await app.add(ada, "news-token-0123456789")

    async def works() -> bool:
        return not (await app.call(ada, "look", what="tea"))["isError"]

    await within(1.0, works)


async def test_one_stray_refusal_breaks_nothing(app: ShopApp) -> None:
    ada, _ = await people(app)
    await app.add(ada, "adas-token-0123456789")
    app.shop.stray = 1
    assert not (await app.call(ada, "look", what="tea"))["isError"]
    assert len(app.shop.asked) == 2
    assert (await app.state(ada))["connection"] == "connected"


async def test_a_tool_that_the_roles_deny_reaches_neither_broker_nor_vendor(app: ShopApp) -> None:
    ada, _ = await people(app)
    await app.add(ada, "adas-token-0123456789")
    reader = await app.product.person(ada.tenant, "reader@acme.test", allow=["shop:read"])
    await app.add(reader, "read-token-0123456789")
    assert not (await app.call(reader, "look", what="tea"))["isError"]
    asked = len(app.shop.asked)
    assert "no such module or tool" in (await app.call(reader, "buy", what="tea"))["content"][0]["text"]
    assert len(app.shop.asked) == asked
    assert len(await app.product.events(ada.tenant, AuditEventKind.DENIED)) == 1


async def test_removal_takes_effect_at_once(app: ShopApp) -> None:
    ada, _ = await people(app)
    await app.add(ada, "adas-token-0123456789")
    assert not (await app.call(ada, "look", what="tea"))["isError"]
    owner = await app.credentials.resolve_owner(ada.tenant.id, email=ada.email)
    await app.credentials.remove(ACTOR, ada.tenant.id, "shop", owner)

    async def gone() -> bool:
        return "not connected" in (await app.call(ada, "look", what="tea"))["content"][0]["text"]

    await within(1.0, gone)


@pytest.mark.parametrize("form", ["one process", "split"])
async def test_a_limit_belongs_to_the_key_that_met_it(
    database: ScratchDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Another account's key in its place is asked with at once; other people were never kept waiting."""
    monkeypatch.setenv(SPLIT, "" if form == "one process" else "1")
    async with open_shop_app(database, tmp_path) as app:
        ada, eve = await people(app)
        await app.add(ada, "adas-token-0123456789")
        await app.add(eve, "eves-token-0123456789")
        app.shop.refusal = 429, {"Retry-After": "3000"}
        assert "try again in 3000 s" in (await app.call(ada, "look", what="tea"))["content"][0]["text"]
        app.shop.refusal = None
        asked = len(app.shop.asked)
        for tool in ("look", "buy"):
            assert "rate limit" in (await app.call(ada, tool, what="tea"))["content"][0]["text"]
        assert len(app.shop.asked) == asked
        assert not (await app.call(eve, "look", what="tea"))["isError"]
        await app.add(ada, "other-account-0123456789")

        async def asked_anew() -> bool:
            return not (await app.call(ada, "look", what="tea"))["isError"]

        await within(1.0, asked_anew)


async def test_an_answer_too_many_reaches_nobody(app: ShopApp) -> None:
    ada, eve = await people(app)
    await app.add(ada, "adas-token-0123456789")
    await app.add(eve, "eves-token-0123456789")
    app.shop.says_twice = True
    for number in range(4):
        for person, name in ((ada, "adas-"), (eve, "eves-")):
            answer = await app.call(person, "look", what=f"{name}{number}")
            assert answer["structuredContent"]["said"] == f"account of {name}: {name}{number}"
        await app.shop.all_said()
