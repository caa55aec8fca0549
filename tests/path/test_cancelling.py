"""A client cancels its own request, on whichever gateway that runs; one that has changed something runs to its end."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
import pytest_asyncio

from core.audit.event import AuditEventKind
from gateway.mcp import cancellation
from tests.gateway.vendor_session.doubles import answering
from tests.path.conftest import People, SharedProduct, on_shared_product
from tests.path.test_running_calls import step
from tests.path.test_unknown_outcomes import MADE, Counter, open_counter
from tests.support.eventually import within
from tests.support.mcp_client import LEGACY, MODERN, NEWEST, Answer, bearer, envelope, headers_for
from tests.support.postgres import DatabaseServer, ScratchDatabase
from tests.support.product import Node, Person, Product
from tests.support.toy_modules import Lab

Nodes = tuple[Node, Node]


async def forget_calls(database: ScratchDatabase) -> None:
    """Remove what is recorded of the tests before."""
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM audit.incoming")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_nodes(shared_product: SharedProduct) -> AsyncIterator[Nodes]:
    async with shared_product.product.gateway() as other:
        yield shared_product.node, other


@pytest_asyncio.fixture(loop_scope="module")
async def nodes(shared_nodes: Nodes, shared_product: SharedProduct) -> Nodes:
    await forget_calls(shared_product.product.database)
    return shared_nodes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_counter(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Counter]:
    async with (
        database_server.database() as database,
        open_counter(database, tmp_path_factory.mktemp("counter") / "home") as counter,
    ):
        yield counter


@pytest_asyncio.fixture(loop_scope="module")
async def counter(shared_counter: Counter) -> Counter:
    await forget_calls(shared_counter.product.database)
    shared_counter.vendor.requests.clear()
    shared_counter.gate.reached.clear()
    shared_counter.gate.opened.clear()
    return shared_counter


@pytest.fixture(autouse=True)
def count_for_long(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine another gateway's answer may take longer than the product waits."""
    if "nodes" in request.fixturenames:
        monkeypatch.setattr(cancellation, "COUNT_SECONDS", 1.5)


def wait(node: Node, person: Person, id: Any = "x", **options: Any) -> "asyncio.Task[Answer]":
    return asyncio.create_task(node.call(person.token, "lab", "wait", id=id, **options))


async def send(node: Node, person: Person, id: Any, revision: str = NEWEST) -> None:
    """Send the notification."""
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
    headers = headers_for(revision, message["method"]) | bearer(person.token)
    answer = await node.send(json.dumps(message).encode(), headers)
    assert (answer.status, answer.body) == (202, b"")


async def cancel(node: Node, person: Person, id: Any, revision: str = NEWEST, *, others: tuple[Node, ...] = ()) -> None:
    """Send the notification as soon as all gateways listen, and let it take its course."""

    async def listen() -> bool:
        return all("mcpist_generation_listener_up 1.0" in one.metrics() for one in (node, *others))

    await within(10, listen)
    await send(node, person, id, revision)
    await settle(node)


async def settle(node: Node) -> None:
    cancellations = node.gateway.endpoint._cancellations
    assert cancellations is not None
    while cancellations._tasks:
        await asyncio.wait(set(cancellations._tasks))


async def give_up(counter: Counter) -> None:
    """Cancel the call that runs, and wait until the announcement of it has arrived."""
    await cancel(counter.node, counter.ada, 1)

    async def is_given_up() -> bool:
        return all(call.ended is not None for call in counter.node.gateway.endpoint._watch.list_calls())

    await within(5, is_given_up)


async def expect_outcomes(product: Product, person: Person, *expected: str) -> None:
    async def are_written() -> bool:
        events = await product.events(person.tenant, AuditEventKind.CALL_OUTCOME)
        return [str(event.outcome) for event in events] == list(expected)

    await within(5, are_written)


REQUESTS: list[tuple[str, Any]] = [
    *((revision, 7) for revision in LEGACY),
    (NEWEST, "x"),
    (NEWEST, "名前\n"),
    (NEWEST, -1),
]


@on_shared_product
async def test_a_notification_cancels_a_request_on_another_gateway(
    product: Product, nodes: Nodes, people: People, lab: Lab
) -> None:
    for number, (revision, id) in enumerate(REQUESTS, 1):
        lab.started.clear()
        lab.cancelled.clear()
        running = wait(nodes[0], people.admin, id, revision=revision)
        await asyncio.wait_for(lab.started.wait(), 5)
        await cancel(nodes[1], people.admin, id, revision, others=nodes)
        answer = await asyncio.wait_for(running, 5)
        assert (answer.status, answer.body) == (202, b""), "a cancelled request gets no response"
        assert lab.cancelled.is_set()
        await expect_outcomes(product, people.admin, *["cancelled"] * number)


@on_shared_product
async def test_a_stream_of_a_cancelled_request_ends_without_a_response(nodes: Nodes, people: People, lab: Lab) -> None:
    token, arguments = people.admin.token, {"commands": [step("a", "look"), step("b", "wait", "a")]}
    params = {"name": "batch", "arguments": arguments, "_meta": {"progressToken": 1}}
    running = asyncio.create_task(nodes[0].post(token, "tools/call", params, id=5))
    await asyncio.wait_for(lab.started.wait(), 5)
    await cancel(nodes[1], people.admin, 5, others=nodes)
    answer = await asyncio.wait_for(running, 5)
    assert answer.header("content-type") == "text/event-stream"
    assert {message.get("method") for message in answer.messages} == {"notifications/progress"}


@on_shared_product
async def test_nobody_else_cancels_a_request(product: Product, nodes: Nodes, people: People, lab: Lab) -> None:
    running = wait(nodes[0], people.admin)
    await asyncio.wait_for(lab.started.wait(), 5)
    for stranger in (people.reader, people.other_admin, await product.with_token(people.admin)):
        for node in nodes:
            await send(node, stranger, "x")
    for id in (
        "y",
        1,
        None,
        ["x"],
        {"x": 1},
        True,
        1.5,
        "x" * 1_000_000,
        10**300,
    ):
        await send(nodes[1], people.admin, id)
    await send(nodes[1], people.admin, "x", MODERN)
    for node in nodes:
        await settle(node)
    assert not lab.cancelled.is_set()
    lab.resume.set()
    assert (await running).value == {"said": "resumed"}


@on_shared_product
async def test_of_two_requests_with_one_id_none_is_cancelled(nodes: Nodes, people: People, lab: Lab) -> None:
    both = [wait(node, people.admin, 1) for node in nodes]
    while any(node.gateway.endpoint.running == 0 for node in nodes):
        await asyncio.sleep(0)
    await cancel(nodes[0], people.admin, 1, others=nodes)
    assert not lab.cancelled.is_set()
    lab.resume.set()
    assert [(await one).value for one in both] == [{"said": "resumed"}] * 2


@on_shared_product
@pytest.mark.parametrize("revision", [NEWEST, MODERN])
async def test_whoever_leaves_cancels_by_the_newest_revision_alone(
    product: Product, nodes: Nodes, people: People, lab: Lab, revision: str
) -> None:
    params = {"name": "call", "arguments": {"module": "lab", "tool_name": "wait", "params": {}}}
    head = headers_for(revision, "tools/call", params) | bearer(people.admin.token)
    gone, endpoint = asyncio.Event(), nodes[0].gateway.app
    messages: list[Any] = [{"type": "http.request", "body": orjson.dumps(envelope(revision, "tools/call", params))}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    fields = [(name.encode(), value.encode()) for name, value in (head | {"host": "127.0.0.1:8080"}).items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": fields, "client": ("127.0.0.1", 5)}
    serving = asyncio.ensure_future(endpoint(scope, receive, send))
    await asyncio.wait_for(lab.started.wait(), 5)
    gone.set()
    if revision == MODERN:
        await asyncio.wait_for(lab.cancelled.wait(), 5)
    else:
        for _ in range(20):  # long enough for the look at those who have left
            await asyncio.wait([serving], timeout=0.02)
        assert not lab.cancelled.is_set()
        lab.resume.set()
    await asyncio.wait_for(serving, 5)
    await expect_outcomes(product, people.admin, "cancelled" if revision == MODERN else "ok")


@on_shared_product
async def test_what_was_sent_runs_to_its_end(counter: Counter) -> None:
    counter.vendor.scripts = [answering(201, MADE)]
    running = asyncio.create_task(counter.call("add_and_wait"))
    await asyncio.wait_for(counter.gate.reached.wait(), 5)
    await give_up(counter)
    counter.gate.opened.set()
    assert (await asyncio.wait_for(running, 5)).status == 202
    await expect_outcomes(counter.product, counter.ada, "ok")


@on_shared_product
async def test_what_was_not_sent_is_cut(counter: Counter) -> None:
    running = asyncio.create_task(counter.call("wait_first"))
    await asyncio.wait_for(counter.gate.reached.wait(), 5)
    await give_up(counter)
    assert (await asyncio.wait_for(running, 5)).status == 202
    assert counter.written() == 0
    await expect_outcomes(counter.product, counter.ada, "cancelled")


@on_shared_product
async def test_a_batch_that_was_given_up_begins_no_further_step(counter: Counter) -> None:
    counter.vendor.scripts = [answering(201, MADE)]
    steps = [
        {"id": "a", "module": "ledger", "tool_name": "add_and_wait"},
        {"id": "b", "module": "ledger", "tool_name": "add_entry", "after": ["a"]},
    ]
    running = asyncio.create_task(counter.node.tool(counter.ada.token, "batch", {"commands": steps}))
    await asyncio.wait_for(counter.gate.reached.wait(), 5)
    await give_up(counter)
    counter.gate.opened.set()
    assert (await asyncio.wait_for(running, 5)).status == 202
    assert counter.written() == 1
    await expect_outcomes(counter.product, counter.ada, "ok")


@on_shared_product
async def test_what_was_sent_is_cut_at_its_deadline_all_the_same(counter: Counter) -> None:
    counter.vendor.scripts = [answering(201, MADE)]
    running = asyncio.create_task(counter.call("add_and_wait"))
    await asyncio.wait_for(counter.gate.reached.wait(), 5)
    await give_up(counter)
    assert (await asyncio.wait_for(running, 5)).status == 202
    await expect_outcomes(counter.product, counter.ada, "timeout")
