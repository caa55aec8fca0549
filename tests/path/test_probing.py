"""Requests with many tool names: one audit event each, and the rate limiter counts every name."""

import asyncio
from typing import Any

import pytest

from core.audit.event import AuditEvent, AuditEventKind
from gateway.tool_runner import NO_SUCH_TOOL
from tests.path.conftest import People
from tests.path.test_hidden import digest_of
from tests.support.eventually import within
from tests.support.mcp_client import LEGACY
from tests.support.product import Node, Product

MODULES, TOOLS, STEPS = 20, 100, 50
EVERY_NAME = {
    "module": ["lab", *(f"module_{n}" for n in range(1, MODULES))],
    "tools": ["write", *(f"tool_{n}" for n in range(1, TOOLS))],
}
BATCH = {"commands": [{"id": f"s{n}", "module": "lab", "tool_name": f"tool_{n}"} for n in range(STEPS)]}


def listed(event: AuditEvent) -> tuple[int, list[str]]:
    """The count and the names in the detail of an event."""
    assert event.detail is not None
    return int(event.detail["count"]), str(event.detail["names"]).split(", ")


@pytest.mark.guarantee("G17")
async def test_a_schema_request_of_two_thousand_names_is_one_event(
    product: Product, node: Node, people: People
) -> None:
    answer = await node.tool(people.reader.token, "get_module_schema", EVERY_NAME)
    assert (answer.failed, answer.text) == (True, NO_SUCH_TOOL)
    (event,) = await product.events(people.acme, AuditEventKind.DENIED)
    assert (event.user_id, event.credential_id, event.outcome) == (people.reader.id, people.reader.token_id, "denied")
    assert (event.module, event.tool) == ("lab", "write")
    count, names = listed(event)
    assert count == MODULES * TOOLS
    assert names[:3] == ["lab.write", "lab.tool_1", "lab.tool_2"]
    assert len(names) >= 10
    assert 'mcpist_denied_total{reason="unknown_tool"} 2000.0' in node.metrics()
    assert await product.events(people.globex, AuditEventKind.DENIED) == []


async def test_only_missing_names_are_counted_in_the_event(product: Product, node: Node, people: People) -> None:
    asked = {"module": ["lab", "knowledge_graph", "made_up"], "tools": ["look", "read_graph"]}
    await node.tool(people.reader.token, "get_module_schema", asked)
    (event,) = await product.events(people.acme, AuditEventKind.DENIED)
    assert listed(event) == (4, ["lab.read_graph", "knowledge_graph.look", "made_up.look", "made_up.read_graph"])


async def test_a_batch_of_fifty_hidden_steps_is_one_event(product: Product, node: Node, people: People) -> None:
    await node.tool(people.reader.token, "batch", BATCH)
    await node.tool(people.other_reader.token, "batch", {**BATCH, "dry_run": True})
    for tenant in (people.acme, people.globex):
        (event,) = await product.events(tenant, AuditEventKind.DENIED)
        count, names = listed(event)
        assert (count, names[0]) == (STEPS, "lab.tool_0")


@pytest.mark.parametrize("revision", LEGACY[:2])
async def test_an_array_of_fifty_messages_is_one_event(
    product: Product, node: Node, people: People, revision: str
) -> None:
    calls = [("tools/call", {"name": "call", "arguments": {"module": "lab", "tool_name": f"t{n}"}}) for n in range(48)]
    batch = ("tools/call", {"name": "batch", "arguments": BATCH})
    answers = await node.array(people.reader.token, [*calls, batch, ("ping", None)], revision)
    assert {answer["result"]["content"][0]["text"] for answer in answers[:48]} == {NO_SUCH_TOOL}
    (event,) = await product.events(people.acme, AuditEventKind.DENIED)
    count, names = listed(event)
    assert (count, names[:2]) == (48 + STEPS, ["lab.t0", "lab.t1"])


async def test_concurrent_requests_have_one_event_each(product: Product, node: Node, people: People) -> None:
    callers = [people.reader, people.reader, people.nobody, people.other_reader]
    await asyncio.gather(*(node.call(one.token, "lab", "write") for one in callers))
    events = await product.events(people.acme, AuditEventKind.DENIED)
    assert sorted(str(event.user_id) for event in events) == sorted(
        str(one.id) for one in (people.reader, people.reader, people.nobody)
    )
    assert len({event.request_id for event in events}) == 3
    assert [event.user_id for event in await product.events(people.globex, AuditEventKind.DENIED)] == [
        people.other_reader.id
    ]


async def test_equal_requests_have_equal_digests(product: Product, node: Node, people: People) -> None:
    some = {"module": ["a", "b"], "tools": ["c", "d"]}
    for asked in (some, some, {**some, "tools": ["c", "e"]}):
        await node.tool(people.reader.token, "get_module_schema", asked)
    first, second, third = [event.digest for event in await product.events(people.acme, AuditEventKind.DENIED)]
    assert first == second != third


async def test_a_single_name_has_no_detail(product: Product, node: Node, people: People) -> None:
    await node.tool(people.reader.token, "batch", {"commands": [{"id": "a", "module": "lab", "tool_name": "write"}]})
    (event,) = await product.events(people.acme, AuditEventKind.DENIED)
    assert (event.module, event.tool, event.detail) == ("lab", "write", None)
    assert event.digest == digest_of(product, people.reader, {})


async def test_long_and_secret_names_are_cut_and_masked(product: Product, node: Node, people: People) -> None:
    token = people.admin.token
    names = ["x" * 5_000, f"Bearer {token}", "a\0b", *(f"{n}{'y' * 150}" for n in range(STEPS - 3))]
    steps = [{"id": f"s{n}", "module": name[:64], "tool_name": name[:64]} for n, name in enumerate(names)]
    await node.tool(people.reader.token, "batch", {"commands": steps})
    await node.call(people.reader.token, f"Bearer {token}" + "z" * 100_000, "t")
    first, second = await product.events(people.acme, AuditEventKind.DENIED)
    assert int((first.detail or {})["count"]) == STEPS
    assert len(str((first.detail or {})["names"])) <= 500
    assert second.module.startswith("Bearer <masked>")
    assert token[:30] not in repr((first, second))


async def test_each_name_is_charged_as_a_request(product: Product, people: People) -> None:
    """The rate is so low that the duration of the test does not matter."""
    async with product.gateway(rate_per_second=0.01, rate_burst=60) as node:
        first = await node.tool(people.reader.token, "get_module_schema", {**EVERY_NAME, "module": "lab"})
        assert first.status == 200, "the cost is known after the body was read, and charged afterwards"
        limited = await node.post(people.reader.token, "ping")
        assert limited.status == 429
        assert int(limited.header("retry-after")) > 40 / 0.01
        assert (await node.post(people.admin.token, "ping")).status == 200
        assert (await node.post(people.other_reader.token, "ping")).status == 200
        assert (await node.tool(people.admin.token, "batch", BATCH)).status == 200
        left = [(await node.post(people.admin.token, "ping")).status for _ in range(10)]
        assert left == [200] * 9 + [429], "one ping, fifty steps, nine pings"


async def test_the_names_in_an_array_are_charged(product: Product, people: People) -> None:
    asked = [("tools/call", {"name": "get_module_schema", "arguments": EVERY_NAME})] * 50
    async with product.gateway(rate_per_second=0.01, rate_burst=60) as node:
        answers = await node.array(people.reader.token, asked, LEGACY[0])
        assert ["error" in answer for answer in answers] == [False] + [True] * 49
        (event,) = await product.events(people.acme, AuditEventKind.DENIED)
        assert listed(event)[0] == MODULES * TOOLS
        assert (await node.post(people.other_reader.token, "ping")).status == 200


async def test_existing_and_missing_names_cost_the_same(product: Product, people: People) -> None:
    """Otherwise the limit would disclose what exists."""
    found = {"module": ["lab", "knowledge_graph"]}
    hidden = {"module": ["lap", "knowledge_grape"]}
    async with product.gateway(rate_per_second=0.01, rate_burst=3) as node:
        for person, asked in ((people.reader, found), (people.other_reader, hidden)):
            assert (await node.tool(person.token, "get_module_schema", asked)).status == 200
            assert [(await node.post(person.token, "ping")).status for _ in range(2)] == [200, 429]


async def test_the_answer_is_withheld_if_the_event_cannot_be_written(
    product: Product, node: Node, people: People
) -> None:
    """Hidden and made-up names get the same error."""
    async with product.unwritable_audit():
        texts = {
            (await node.tool(people.reader.token, "get_module_schema", asked)).text
            for asked in (EVERY_NAME, {"module": ["a", "b"]}, {"module": "lab", "tools": ["write", "made_up"]})
        }
        assert texts == {"MCPist is not ready: its database is unavailable; try again in 2 s"}


async def test_the_event_is_written_although_the_client_has_disconnected(
    product: Product, node: Node, people: People
) -> None:
    calls: list[tuple[str, Any]] = [
        ("tools/call", {"name": "call", "arguments": {"module": "lab", "tool_name": f"t{n}"}}) for n in range(3)
    ]
    leaving = asyncio.create_task(node.array(people.reader.token, calls, LEGACY[0]))
    await asyncio.sleep(0)
    while not leaving.done() and node.gateway.endpoint.running < len(calls):
        await asyncio.sleep(0)
    assert not leaving.done()
    leaving.cancel()
    await asyncio.wait([leaving])

    async def recorded() -> bool:
        return len(await product.events(people.acme, AuditEventKind.DENIED)) == 1

    await within(5, recorded)
