"""Clients are told what has changed for them: on any gateway, at once, and never of what they may not see."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from core.audit.event import AuditEventKind
from core.caller import Caller
from core.directory.roles import change_role, find_role
from core.directory.services import set_service
from gateway.streams.resource_subscriptions import MAX_SUBSCRIPTIONS, ResourceSubscriptionStore
from tests.path.stream_app import (
    NOTE,
    PLAIN,
    StreamApp,
    StreamNodes,
    changed_lists,
    error_code,
    hear,
    listen,
    open_stream_nodes,
    until,
    updated,
)
from tests.path.test_taking_effect import END_LISTENERS, revoke_token, take_role
from tests.support import directory
from tests.support.directory import assign_role
from tests.support.mcp_client import MODERN, NEWEST, REVISIONS
from tests.support.postgres import DatabaseServer
from tests.support.product import ACTOR, Person, Product

Change = Callable[[Product, Person], Awaitable[None]]
pytestmark = pytest.mark.asyncio(loop_scope="module")
ALL = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nodes(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[StreamNodes]:
    async with (
        database_server.database() as database,
        open_stream_nodes(database, tmp_path_factory.mktemp("streams")) as nodes,
    ):
        yield nodes


@pytest_asyncio.fixture(loop_scope="module")
async def app(nodes: StreamNodes) -> StreamApp:
    return await nodes.create_app()


async def test_changed_resources_are_told_on_another_gateway_to_those_who_subscribed(app: StreamApp) -> None:
    await app.subscribe(app.ada, 1, 2)
    await app.subscribe(app.bob, 1)
    await app.subscribe(app.eve, 1)
    wanted = {"resourceSubscriptions": [NOTE.format(1), NOTE.format(3)]}
    async with contextlib.AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(hear(node, person))
            for node, person in ((app.other, app.ada), (app.node, app.ada), (app.other, app.bob), (app.other, app.eve))
        ]
        modern = await stack.enter_async_context(listen(app.other, app.bob, wanted))
        strange = await stack.enter_async_context(listen(app.other, app.eve, wanted))
        assert modern.messages[0]["params"]["notifications"] == wanted
        await app.change(1)
        ada_there, ada_here, bob, eve = streams
        await until(lambda: all(updated(stream) for stream in (ada_there, ada_here, bob, modern)), 5)
        await app.change(2, shared=False)
        await app.change(3)
        await app.change(1, by=app.eve)  # of another tenant: the last that anybody may hear
        await until(lambda: updated(eve) and updated(strange) and len(updated(modern)) == 2, 5)
        assert updated(ada_there) == updated(ada_here) == [NOTE.format(1), NOTE.format(2)]
        assert updated(bob) == updated(eve) == updated(strange) == [NOTE.format(1)]
        assert updated(modern) == [NOTE.format(1), NOTE.format(3)]


async def test_a_change_that_is_personal_is_told_to_that_person(app: StreamApp) -> None:
    await app.subscribe(app.ada, 1)
    await app.subscribe(app.bob, 1, 2)
    async with hear(app.other, app.ada) as hers, hear(app.other, app.bob) as his:
        await app.change(1, shared=False)
        await app.change(2)
        await until(lambda: updated(hers) and updated(his), 5)
        assert (updated(hers), updated(his)) == ([NOTE.format(1)], [NOTE.format(2)])


async def test_a_subscription_takes_effect_on_open_streams_and_ends(app: StreamApp) -> None:
    async with hear(app.other, app.ada) as stream, hear(app.node, app.ada) as second:
        await app.subscribe(app.ada, 1, 2)
        await app.change(1)
        await until(lambda: updated(stream) and updated(second), 5)
        assert (await app.other.post(app.ada.token, "resources/unsubscribe", {"uri": NOTE.format(1)})).result == {}
        await app.change(1)
        await app.change(2)
        await until(lambda: len(updated(stream)) == 2 and len(updated(second)) == 2, 5)
        assert updated(stream) == updated(second) == [NOTE.format(1), NOTE.format(2)]


async def test_another_credential_of_the_same_person_has_subscriptions_of_its_own(app: StreamApp) -> None:
    other = await app.product.with_token(app.ada)
    await app.subscribe(app.ada, 1)
    await app.subscribe(other, 2)
    async with hear(app.other, app.ada) as hers, hear(app.other, other) as others:
        await app.change(1)
        await app.change(2)
        await until(lambda: updated(hers) and updated(others), 5)
        assert (updated(hers), updated(others)) == ([NOTE.format(1)], [NOTE.format(2)])


async def deny_notes(product: Product, person: Person) -> None:
    await directory.grant(product.console, ACTOR, person.tenant.id, person.email, "deny", "desk.note")


async def switch_off_desk(product: Product, person: Person) -> None:
    await set_service(product.console, ACTOR, person.tenant.id, "desk", enabled=False)


@pytest.mark.parametrize(
    ("lose", "lists"),
    [(take_role, {"resources", "prompts"}), (deny_notes, {"resources"}), (switch_off_desk, {"resources", "prompts"})],
)
async def test_whoever_loses_the_permission_hears_of_the_lists_and_then_no_more(
    app: StreamApp, lose: Change, lists: set[str]
) -> None:
    await app.subscribe(app.bob, 1)
    wanted = {"resourceSubscriptions": [NOTE.format(1)], **ALL}
    async with (
        hear(app.other, app.bob) as stream,
        listen(app.other, app.bob, wanted) as modern,
        listen(app.other, app.eve, wanted) as strange,
    ):
        await app.change(1)
        await until(lambda: updated(stream) and updated(modern), 5)
        await lose(app.product, app.bob)
        await until(lambda: changed_lists(stream) and changed_lists(modern), 1)
        async with app.product.database.admin_connection() as admin:  # what a module announces is heard by all gateways
            for tenant in (app.bob.tenant, app.eve.tenant):
                text = f'["{tenant.id}",null,["{NOTE.format(1)}"]]'
                await admin.execute("SELECT pg_notify('mcpist_resource', $1)", text)
        await until(lambda: updated(strange), 5)  # told after all that came before
        assert set(changed_lists(stream)) == set(changed_lists(modern)) == lists
        assert changed_lists(strange) == []
        assert updated(stream) == updated(modern) == [NOTE.format(1)]


async def test_lists_change_within_a_second_where_the_client_sees_them(app: StreamApp) -> None:
    async with contextlib.AsyncExitStack() as stack:
        meta = await stack.enter_async_context(listen(app.other, app.bob, ALL))
        plain = await stack.enter_async_context(listen(app.other, app.bob, ALL, PLAIN))
        only_prompts = await stack.enter_async_context(listen(app.node, app.bob, {"promptsListChanged": True}))
        stream = await stack.enter_async_context(hear(app.other, app.bob))
        plain_stream = await stack.enter_async_context(hear(app.other, app.bob, PLAIN))
        others = await stack.enter_async_context(listen(app.other, app.ada, ALL, PLAIN))
        assert meta.messages[0]["params"]["notifications"] == {"promptsListChanged": True, "resourcesListChanged": True}
        assert plain.messages[0]["params"]["notifications"] == ALL
        await take_role(app.product, app.bob)
        told = (meta, plain, only_prompts, stream, plain_stream)
        await until(lambda: all(changed_lists(one) for one in told), 1)
        await assign_role(app.product.console, ACTOR, app.bob.tenant.id, app.bob.email, app.bob.email)
        await until(lambda: all(len(changed_lists(one)) > len(set(changed_lists(one))) for one in told), 1)
        assert set(changed_lists(meta)) == set(changed_lists(stream)) == {"resources", "prompts"}
        assert set(changed_lists(plain)) == set(changed_lists(plain_stream)) == {"tools", "resources", "prompts"}
        assert set(changed_lists(only_prompts)) == {"prompts"}
        assert changed_lists(others) == []


async def test_another_exposure_reaches_open_streams_of_another_gateway_within_a_second(app: StreamApp) -> None:
    async def show(person: Person, exposure: str | None) -> None:
        role = await find_role(app.product.console, person.tenant.id, person.email)
        await change_role(app.product.console, ACTOR, person.tenant.id, role.id, tool_exposure=exposure)

    async with contextlib.AsyncExitStack() as stack:
        stream = await stack.enter_async_context(hear(app.other, app.bob))
        pinned = await stack.enter_async_context(hear(app.other, app.bob, b"view=meta"))
        meta = await stack.enter_async_context(listen(app.other, app.bob, ALL))
        strangers = [await stack.enter_async_context(hear(app.other, one)) for one in (app.ada, app.eve)]
        await show(app.bob, "plain:desk")
        await until(lambda: changed_lists(stream) == ["tools"], 1)
        modern = await stack.enter_async_context(listen(app.other, app.bob, ALL))
        assert modern.messages[0]["params"]["notifications"] == ALL
        await show(app.bob, "plain:shelf")
        await until(lambda: changed_lists(stream) == ["tools"] * 2 and changed_lists(modern) == ["tools"], 1)
        await show(app.bob, None)
        await until(lambda: changed_lists(stream) == ["tools"] * 3 and changed_lists(modern) == ["tools"] * 2, 1)
        for quiet in (pinned, *strangers):
            assert changed_lists(quiet) == []
        assert changed_lists(meta) == [], "it was not granted to a client that was told of three tools"


async def test_what_is_hidden_cannot_be_subscribed_to(app: StreamApp) -> None:
    await take_role(app.product, app.bob)
    legacy = [revision for revision in REVISIONS if revision != MODERN]
    for revision, method in itertools.product(legacy, ("resources/subscribe", "resources/unsubscribe")):
        hidden, made_up = [
            await app.node.post(app.bob.token, method, {"uri": uri}, revision=revision)
            for uri in (NOTE.format(1), NOTE.format(1).replace("desk", "disk"))
        ]
        assert hidden.body.replace(b"desk", b"disk") == made_up.body
        assert hidden.comparable[0] == made_up.comparable[0]
        assert ("error" in hidden.message) == (method == "resources/subscribe")
    assert len(await app.product.events(app.bob.tenant, AuditEventKind.DENIED)) == 2 * len(legacy)


async def test_what_is_hidden_is_left_out_of_what_is_granted(app: StreamApp) -> None:
    await take_role(app.product, app.bob)
    wanted = {"resourceSubscriptions": [NOTE.format(1), "resource://disk/notes/1"]}
    async with listen(app.other, app.bob, wanted) as bob, listen(app.other, app.ada, wanted) as ada:
        assert bob.messages[0]["params"]["notifications"] == {"resourceSubscriptions": []}
        assert ada.messages[0]["params"]["notifications"] == {"resourceSubscriptions": [NOTE.format(1)]}
        await app.change(1)
        await until(lambda: updated(ada), 5)
        assert updated(bob) == []
    assert await app.product.events(app.bob.tenant, AuditEventKind.DENIED)


async def test_wrong_filters_and_uris_are_refused(app: StreamApp) -> None:
    uri = NOTE.format(1)
    wrongs: list[Any] = [
        {"toolsListChanged": 1},
        {"resourceSubscriptions": uri},
        {"resourceSubscriptions": [1]},
        {"resourceSubscriptions": ["x" * 2_049]},
        {"resourceSubscriptions": [uri] * (MAX_SUBSCRIPTIONS + 1)},
    ]
    for wrong in wrongs:
        params = {"notifications": wrong}
        answer = await app.node.post(app.ada.token, "subscriptions/listen", params, revision=MODERN)
        assert (answer.status, error_code(answer)) == (400, -32602)
    for wrong in ({}, {"uri": 1}, {"uri": ""}, {"uri": "x" * 2_049}):
        answer = await app.node.post(app.ada.token, "resources/subscribe", wrong)
        assert error_code(answer) == -32602
    modern = await app.node.post(app.ada.token, "resources/subscribe", {"uri": uri}, revision=MODERN)
    assert (modern.status, error_code(modern)) == (404, -32601)


async def test_a_client_has_so_many_subscriptions_and_the_oldest_goes(
    app: StreamApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.streams.resource_subscriptions.MAX_SUBSCRIPTIONS", 3)
    await app.subscribe(app.ada, *range(4))
    async with hear(app.other, app.ada) as stream:
        await app.change(0)
        await app.change(1)
        await until(lambda: updated(stream), 5)
        assert updated(stream) == [NOTE.format(1)]


async def test_subscriptions_outlive_the_gateway_and_the_stream(app: StreamApp) -> None:
    async with app.product.gateway() as gone:
        await app.subscribe(app.ada, 1, node=gone)
        async with hear(gone, app.ada) as first:
            await app.change(1)
            await until(lambda: updated(first), 5)
            gone.gateway.endpoint.end_streams()
            await until(first.over.is_set, 5)
    async with hear(app.other, app.ada) as stream:
        await app.change(1)
        await until(lambda: updated(stream), 5)
        assert updated(stream) == [NOTE.format(1)]


async def test_a_credential_that_is_revoked_ends_its_streams_and_no_others(app: StreamApp) -> None:
    other = await app.product.with_token(app.ada)
    async with (
        hear(app.other, other) as revoked,
        listen(app.other, other, ALL) as modern,
        hear(app.other, app.ada) as kept,
    ):
        await revoke_token(app.product, other)
        await until(lambda: revoked.over.is_set() and modern.over.is_set(), 1)
        assert modern.messages[-1]["result"]["resultType"] == "complete"
        assert not kept.over.is_set()


async def test_who_does_not_read_is_left_and_nothing_piles_up(app: StreamApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.streams.stream_hub.STALL_SECONDS", 0.3)
    await app.subscribe(app.ada, *range(5))
    async with hear(app.other, app.ada) as stream, hear(app.other, app.ada) as reading:
        stream.stall()
        for number in range(5):
            await app.change(number)
        await until(lambda: len(set(updated(reading))) == 5, 10)
        await until(lambda: app.other.gateway.endpoint.open_streams == 1, 5)
        assert updated(stream) == []


async def test_a_tool_announces_resources_of_its_module_only(app: StreamApp) -> None:
    wrongs = ("resource://other/notes/1", "desk:notes", f"{NOTE.format(1)}\n", f"{NOTE.format(1)}{'1' * 2_048}")
    for uri in wrongs:
        answer = await app.node.call(app.ada.token, "desk", "change", {"number": 1, "uri": uri})
        assert "failed inside MCPist" in answer.text


async def test_made_up_announcements_tell_nobody_of_what_they_may_not_read(app: StreamApp) -> None:
    await app.subscribe(app.ada, 1)
    async with hear(app.other, app.ada) as stream, app.product.database.admin_connection() as admin:
        forged = f'["{app.ada.tenant.id}",null,["resource://secret/x","{NOTE.format(1)}"]]'
        for text in ("", "x", "[]", '["x",null,[]]', "\ud83d".encode("utf-8", "replace").decode(), forged):
            for channel in ("mcpist_resource", "mcpist_subscription"):
                await admin.execute("SELECT pg_notify($1, $2)", channel, text)
        await until(lambda: updated(stream), 5)
        assert updated(stream) == [NOTE.format(1)]


async def test_announcements_that_were_lost_are_made_up_for(app: StreamApp) -> None:
    await app.subscribe(app.ada, 1)
    async with hear(app.other, app.ada) as stream, app.product.database.admin_connection() as admin:
        await admin.fetch(END_LISTENERS)
        await until(lambda: updated(stream), 10)
        assert set(updated(stream)) == {NOTE.format(1)}


async def test_the_capabilities_say_so(app: StreamApp) -> None:
    handshake = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    for query, is_plain in (("", False), ("?view=plain", True)):
        for revision, method, params in ((NEWEST, "initialize", handshake), (MODERN, "server/discover", {})):
            answer = await app.node.post(app.ada.token, method, params, revision=revision, url=f"/mcp{query}")
            found = answer.result["capabilities"]
            assert found["resources"] == {"subscribe": True, "listChanged": True}
            assert found["prompts"] == {"listChanged": True}
            assert found["tools"] == {"listChanged": is_plain}


async def test_subscriptions_are_rows_of_one_user_and_end(app: StreamApp) -> None:
    await app.subscribe(app.ada, 1)
    async with app.product.database.admin_connection() as admin:
        await admin.execute(
            "UPDATE core.resource_subscriptions SET created_at = created_at - interval '2 days', "
            "expires_at = expires_at - interval '2 days' WHERE tenant_id = $1",
            app.ada.tenant.id,
        )
        async with hear(app.other, app.ada) as stream:
            await app.subscribe(app.ada, 2)
            await app.change(1)
            await app.change(2)
            await until(lambda: updated(stream), 5)
            assert updated(stream) == [NOTE.format(2)]
        assert await admin.fetchval("SELECT core.sweep_resource_subscriptions(now())") == 1
        left = "SELECT count(*) FROM core.resource_subscriptions WHERE tenant_id = $1"
        assert await admin.fetchval(left, app.ada.tenant.id) == 1


async def test_what_changes_while_a_stream_opens_is_told(app: StreamApp, monkeypatch: pytest.MonkeyPatch) -> None:
    await app.subscribe(app.ada, 1)
    load, may_open, opens = ResourceSubscriptionStore.load, asyncio.Event(), asyncio.Event()

    async def load_slowly(store: ResourceSubscriptionStore, caller: Caller) -> frozenset[str]:
        uris = await load(store, caller)
        opens.set()
        await may_open.wait()
        return uris

    async with hear(app.other, app.ada) as open_already:
        monkeypatch.setattr(ResourceSubscriptionStore, "load", load_slowly)
        opening = contextlib.AsyncExitStack()
        entered = asyncio.ensure_future(opening.enter_async_context(hear(app.other, app.ada)))
        async with opening:
            await opens.wait()
            await app.change(1)
            await until(lambda: updated(open_already), 5)
            may_open.set()
            stream = await entered
            await until(lambda: updated(stream), 5)
            assert updated(stream) == [NOTE.format(1)]


async def test_two_spellings_of_a_resource_are_one_subscription(app: StreamApp) -> None:
    one, other = NOTE.format(1), NOTE.format("%30%31")  # both are read as the number 1

    async def send(method: str, uri: str) -> None:
        assert (await app.node.post(app.ada.token, method, {"uri": uri})).result == {}

    async with hear(app.other, app.ada) as stream, listen(app.other, app.ada, wanted(other, one)) as modern:
        assert len(modern.messages[0]["params"]["notifications"]["resourceSubscriptions"]) == 1
        await send("resources/subscribe", one)
        await send("resources/subscribe", other)
        await app.change(1)
        await until(lambda: updated(stream) and updated(modern), 5)
        assert updated(stream) == [other], "told of as the client has subscribed to it last, and once"
        assert len(updated(modern)) == 1
        await send("resources/unsubscribe", one)
        await app.subscribe(app.ada, 2)
        await app.change(1)
        await app.change(2)
        await until(lambda: len(updated(stream)) == 2, 5)
        assert updated(stream)[1:] == [NOTE.format(2)]


def wanted(*uris: str) -> dict[str, Any]:
    return {"resourceSubscriptions": list(uris)}


async def test_everybody_hears_of_what_is_theirs_after_a_change_of_the_tenant(app: StreamApp) -> None:
    """They are verified anew together; each gets what their own credential may have."""
    others = [await app.product.with_token(app.bob) for _ in range(3)]
    limited = await app.product.with_token(app.bob, scopes=["mcp:write"], read_only=False)
    async with contextlib.AsyncExitStack() as stack:
        bobs = [await stack.enter_async_context(listen(app.other, one, ALL)) for one in (app.bob, *others, limited)]
        adas = [await stack.enter_async_context(hear(app.other, app.ada)) for _ in range(2)]
        await app.product.tokens.revoke(ACTOR, others[1].tenant.id, others[1].token_id)
        await until(bobs[2].over.is_set, 2)
        await take_role(app.product, app.bob)
        told = [bobs[number] for number in (0, 1, 3, 4)]
        await until(lambda: all(len(changed_lists(one)) == 2 for one in told), 2)
        assert [changed_lists(one) for one in (bobs[2], *adas)] == [[], [], []]
        assert not any(one.over.is_set() for one in (*told, *adas))
