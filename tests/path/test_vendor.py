"""A call that reaches a vendor with a credential that only the broker can open; and what happens without one."""

from pathlib import Path

import pytest

from core.audit.event import AuditEventKind
from tests.path.mall import Mall, opened_mall, people
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, SPLIT
from tests.support.stored_credentials import list_stored


async def test_everybody_uses_their_own_credential(mall: Mall) -> None:
    ada, eve = await people(mall)
    await mall.add(ada, "adas-token-0123456789")
    await mall.add(eve, "eves-token-0123456789")
    assert (await mall.call(ada, "look", what="tea"))["structuredContent"] == {"said": "account of adas-: tea"}
    assert (await mall.call(eve, "buy", what="tea"))["structuredContent"]["said"].startswith("account of eves-")
    assert mall.shop.asked == [("adas-token-0123456789", "GET /look"), ("eves-token-0123456789", "POST /buy")]
    assert (await mall.state(ada))["connection"] == "connected"


async def test_without_a_credential_the_module_is_shown_and_calls_say_what_is_missing(mall: Mall) -> None:
    ada, eve = await people(mall)
    await mall.add(eve, "eves-token-0123456789")
    shown = await mall.state(ada)
    assert (shown["connection"], len(shown["tools"])) == ("needs_connect", 2)
    assert "administrator" in shown["note"]
    answer = await mall.call(ada, "look", what="tea")
    assert answer["isError"]
    assert "not connected for you" in answer["content"][0]["text"]
    assert answer["content"][0]["text"].endswith("; then call again.")
    assert mall.shop.asked == []


async def test_a_batch_names_such_steps_before_anything_runs(mall: Mall) -> None:
    ada, _ = await people(mall)
    steps = [
        {"id": "a", "module": "knowledge_graph", "tool_name": "create_entities",
         "params": {"entities": [{"name": "x", "entityType": "t", "observations": []}]}},
        {"id": "b", "module": "shop", "tool_name": "buy", "params": {"what": "tea"}},
    ]  # fmt: skip
    answer = await mall.node.tool(ada.token, "batch", {"commands": steps})
    assert answer.failed
    assert "step 2: Shop is not connected" in answer.text
    assert (await mall.node.call(ada.token, "knowledge_graph", "read_graph")).value["entities"] == []


async def test_a_role_shares_its_credential_and_the_own_one_wins(mall: Mall) -> None:
    ada, _ = await people(mall)
    await mall.add(ada, "role-token-0123456789", role=ada.email)
    assert "role-" in (await mall.call(ada, "look", what="tea"))["structuredContent"]["said"]
    await mall.add(ada, "adas-token-0123456789")

    async def own() -> bool:
        return "adas-" in (await mall.call(ada, "look", what="tea"))["structuredContent"]["said"]

    await within(1.0, own)


async def test_a_credential_that_is_broken_is_visible_and_sent_nowhere(mall: Mall) -> None:
    ada, _ = await people(mall)
    await mall.add(ada, "adas-token-0123456789")
    assert not (await mall.call(ada, "look", what="tea"))["isError"]
    (stored,) = await list_stored(mall.broker, ada.tenant.id)
    await mall.credentials.mark_broken(ada.tenant.id, stored.id, stored.version, "rejected")

    async def broken() -> bool:
        return (await mall.state(ada))["connection"] == "broken"

    async def refused() -> bool:
        return "refuses your account" in (await mall.call(ada, "look", what="tea"))["content"][0]["text"]

    await within(1.0, broken)
    await within(1.0, refused)
    before = len(mall.shop.asked)
    assert await refused()
    assert len(mall.shop.asked) == before
    assert [event.kind for event in await mall.product.events(ada.tenant, "credential.broken")]
    await mall.add(ada, "news-token-0123456789")

    async def works() -> bool:
        return not (await mall.call(ada, "look", what="tea"))["isError"]

    await within(1.0, works)


async def test_one_stray_refusal_breaks_nothing(mall: Mall) -> None:
    ada, _ = await people(mall)
    await mall.add(ada, "adas-token-0123456789")
    mall.shop.stray = 1
    assert not (await mall.call(ada, "look", what="tea"))["isError"]
    assert len(mall.shop.asked) == 2
    assert (await mall.state(ada))["connection"] == "connected"


async def test_a_tool_that_the_roles_deny_reaches_neither_broker_nor_vendor(mall: Mall) -> None:
    ada, _ = await people(mall)
    await mall.add(ada, "adas-token-0123456789")
    reader = await mall.product.person(ada.tenant, "reader@acme.test", allow=["shop:read"])
    await mall.add(reader, "read-token-0123456789")
    assert not (await mall.call(reader, "look", what="tea"))["isError"]
    asked = len(mall.shop.asked)
    assert "no such module or tool" in (await mall.call(reader, "buy", what="tea"))["content"][0]["text"]
    assert len(mall.shop.asked) == asked
    assert len(await mall.product.events(ada.tenant, AuditEventKind.DENIED)) == 1


async def test_removal_takes_effect_at_once(mall: Mall) -> None:
    ada, _ = await people(mall)
    await mall.add(ada, "adas-token-0123456789")
    assert not (await mall.call(ada, "look", what="tea"))["isError"]
    owner = await mall.credentials.resolve_owner(ada.tenant.id, email=ada.email)
    await mall.credentials.remove(ACTOR, ada.tenant.id, "shop", owner)

    async def gone() -> bool:
        return "not connected" in (await mall.call(ada, "look", what="tea"))["content"][0]["text"]

    await within(1.0, gone)


@pytest.mark.parametrize("form", ["one process", "split"])
async def test_a_limit_belongs_to_the_key_that_met_it(
    database: ScratchDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Another account's key in its place is asked with at once; other people were never kept waiting."""
    monkeypatch.setenv(SPLIT, "" if form == "one process" else "1")
    async with opened_mall(database, tmp_path) as mall:
        ada, eve = await people(mall)
        await mall.add(ada, "adas-token-0123456789")
        await mall.add(eve, "eves-token-0123456789")
        mall.shop.refusal = 429, {"Retry-After": "3000"}
        assert "try again in 3000 s" in (await mall.call(ada, "look", what="tea"))["content"][0]["text"]
        mall.shop.refusal = None
        asked = len(mall.shop.asked)
        for tool in ("look", "buy"):
            assert "rate limit" in (await mall.call(ada, tool, what="tea"))["content"][0]["text"]
        assert len(mall.shop.asked) == asked
        assert not (await mall.call(eve, "look", what="tea"))["isError"]
        await mall.add(ada, "other-account-0123456789")

        async def asked_anew() -> bool:
            return not (await mall.call(ada, "look", what="tea"))["isError"]

        await within(1.0, asked_anew)


async def test_an_answer_too_many_reaches_nobody(mall: Mall) -> None:
    ada, eve = await people(mall)
    await mall.add(ada, "adas-token-0123456789")
    await mall.add(eve, "eves-token-0123456789")
    mall.shop.says_twice = True
    for number in range(4):
        for person, name in ((ada, "adas-"), (eve, "eves-")):
            answer = await mall.call(person, "look", what=f"{name}{number}")
            assert answer["structuredContent"] == {"said": f"account of {name}: {name}{number}"}
        await mall.shop.all_said()
