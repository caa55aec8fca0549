"""What runs when its caller loses the right to it stops within a second; what was under way is told as such."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from core.audit.event import AuditEventKind
from gateway.mcp import authority, call_supervisor
from gateway.mcp.authority import REVOKED, UNVERIFIED
from gateway.tool_runner import NO_SUCH_TOOL
from modules.kit import OUTCOME_UNKNOWN
from tests.path.conftest import People
from tests.path.shop_app import ShopApp
from tests.path.shop_app import people as shoppers
from tests.path.test_connecting import answered, asked, modern
from tests.path.test_taking_effect import (
    SECOND,
    Change,
    deny,
    remove_tenant,
    revoke_token,
    suspend_tenant,
    suspend_user,
    switch_off,
    take_permission,
    take_role,
)
from tests.support import directory
from tests.support.eventually import within
from tests.support.mcp_client import Answer, bearer, envelope, headers_for
from tests.support.postgres_proxy import postgres_proxy
from tests.support.product import ACTOR, Node, Person, Product
from tests.support.toy_modules import Lab

LOST = "the permission for this tool was revoked"


@pytest.fixture
async def nodes(product: Product) -> AsyncIterator[tuple[Node, Node]]:
    async with product.gateway() as first, product.gateway() as second:
        yield first, second


async def was_cut_off(product: Product, people: People) -> bool:
    outcomes = await product.events(people.acme, AuditEventKind.CALL_OUTCOME)
    return ("cancelled", {"stopped": REVOKED}) in [(event.outcome, event.detail) for event in outcomes]


def step(name: str, tool: str, *after: str, **params: Any) -> dict[str, Any]:
    return {"id": name, "module": "lab", "tool_name": tool, "params": params, "after": list(after), "output": True}


def batch(node: Node, person: Person, *steps: dict[str, Any]) -> "asyncio.Task[Answer]":
    return asyncio.create_task(node.tool(person.token, "batch", {"commands": list(steps)}))


async def stops(lab: Lab, change: Change, product: Product, person: Person, most: float = SECOND) -> float:
    """Make the change while a tool waits; how many seconds it then goes on."""
    await asyncio.wait_for(lab.started.wait(), 5)
    await change(product, person)
    began = time.monotonic()
    await asyncio.wait_for(lab.cancelled.wait(), most)
    return time.monotonic() - began


@pytest.mark.parametrize("change", [revoke_token, suspend_user, suspend_tenant, remove_tenant])
async def test_a_batch_ends_with_its_credential(
    product: Product, people: People, nodes: tuple[Node, Node], lab: Lab, change: Change
) -> None:
    writes = [step(f"w{n}", "write", "a" if n == 0 else f"w{n - 1}", text=f"w{n}") for n in range(48)]
    running = batch(nodes[0], people.admin, step("a", "wait"), step("seen", "look", at="earlier"), *writes)
    await stops(lab, change, product, people.admin)
    answer = await running
    assert answer.failed
    lines = answer.text.split("\n")
    assert lines[0] == f"a error: cut off: {REVOKED}; {OUTCOME_UNKNOWN}"
    assert lines[1].startswith("seen ok: ran, but its result is withheld")
    assert "earlier" not in answer.text
    assert all(line.startswith(f"w{n} skipped") for n, line in enumerate(lines[2:]))
    assert lab.effects == []
    if change is not remove_tenant:
        await within(5, lambda: was_cut_off(product, people))


@pytest.mark.parametrize("change", [revoke_token, suspend_user])
async def test_a_long_call_ends_with_its_credential(
    product: Product, people: People, nodes: tuple[Node, Node], lab: Lab, change: Change
) -> None:
    running = asyncio.create_task(nodes[1].call(people.admin.token, "lab", "wait"))
    await stops(lab, change, product, people.admin)
    answer = await running
    assert answer.failed
    assert answer.text == f"cut off: {REVOKED}; {OUTCOME_UNKNOWN}"
    assert (await nodes[1].post(people.admin.token, "ping")).status == 401


async def forbid_waiting(product: Product, person: Person) -> None:
    await directory.grant(product.console, ACTOR, person.tenant.id, person.email, "deny", "lab.wait")


@pytest.mark.parametrize("change", [forbid_waiting, take_permission, take_role, switch_off])
async def test_a_lost_permission_stops_the_tool_that_runs(
    product: Product, people: People, nodes: tuple[Node, Node], lab: Lab, change: Change
) -> None:
    running = asyncio.create_task(nodes[0].call(people.admin.token, "lab", "wait"))
    await stops(lab, change, product, people.admin)
    assert (await running).text == f"cut off: {LOST}; {OUTCOME_UNKNOWN}"
    assert (await nodes[0].call(people.admin.token, "lab", "wait")).text == NO_SUCH_TOOL


async def test_a_step_that_begins_after_a_loss_does_not_exist_and_others_go_on(
    product: Product, people: People, nodes: tuple[Node, Node], lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_supervisor, "TICK_SECONDS", 60.0)  # nobody looks at what runs: the step itself has to
    steps = (step("a", "wait"), step("b", "write", "a", text="never"), step("c", "look", "a", at="here"))
    running = batch(nodes[0], people.admin, *steps)
    await asyncio.wait_for(lab.started.wait(), 5)
    await directory.grant(product.console, ACTOR, people.acme.id, people.admin.email, "deny", "lab.write")

    async def known() -> bool:
        return (await nodes[0].call(people.admin.token, "lab", "write", {"text": ""})).text == NO_SUCH_TOOL

    await within(SECOND, known)
    lab.effects.clear()
    lab.resume.set()
    lines = (await running).text.split("\n")
    assert lines == [
        'a ok {"said":"resumed"}',
        f"b error: {NO_SUCH_TOOL}",
        'c ok {"said":"here"}',
    ]
    assert lab.effects == []
    assert [event.tool for event in await product.events(people.acme, AuditEventKind.DENIED)][-1] == "write"


async def test_nobody_else_s_calls_are_touched(
    product: Product, people: People, nodes: tuple[Node, Node], lab: Lab
) -> None:
    """A colleague of whose rights nothing changes, and another tenant."""
    colleague = await product.person(people.acme, "colleague@mail.test", allow=["*"])
    running = [
        asyncio.create_task(node.call(person.token, "lab", "wait"))
        for node in nodes
        for person in (colleague, people.other_admin)
    ]
    await asyncio.wait_for(lab.started.wait(), 5)
    await revoke_token(product, people.admin)
    await directory.set_status(product.console, ACTOR, people.acme.id, people.reader.email, "suspended")
    await asyncio.sleep(SECOND)
    assert not lab.cancelled.is_set()
    lab.resume.set()
    assert [answer.value for answer in await asyncio.gather(*running)] == [{"said": "resumed"}] * 4


async def test_messages_of_an_array_end_too(
    product: Product, people: People, nodes: tuple[Node, Node], lab: Lab
) -> None:
    params = {"name": "call", "arguments": {"module": "lab", "tool_name": "wait", "params": {}}}
    messages = [envelope("2025-03-26", "tools/call", params) | {"id": number} for number in range(3)]
    headers = headers_for("2025-03-26", "tools/call", params) | bearer(people.admin.token)
    running = asyncio.create_task(nodes[0].send(orjson.dumps(messages), headers))
    await stops(lab, revoke_token, product, people.admin)
    answers = orjson.loads((await running).body)
    assert [REVOKED in answer["result"]["content"][0]["text"] for answer in answers] == [True] * 3


async def test_a_wait_for_a_connection_ends(app: ShopApp) -> None:
    ada, _ = await shoppers(app)
    result = await asked(app, ada)
    running = asyncio.create_task(modern(app, ada, **answered(result)))
    await asyncio.sleep(0.3)  # it waits for the account now
    assert not running.done()
    await revoke_token(app.product, ada)
    answer = await asyncio.wait_for(running, SECOND)
    assert answer.failed
    assert REVOKED in answer.text


@pytest.mark.parametrize("change", [revoke_token, deny])
async def test_also_where_announcements_do_not_arrive(
    product: Product, people: People, lab: Lab, change: Change
) -> None:
    async with postgres_proxy(product.deployment.admin) as proxy, product.gateway(through=proxy.address) as node:
        running = asyncio.create_task(node.call(people.admin.token, "lab", "wait"))
        await asyncio.wait_for(lab.started.wait(), 5)
        proxy.withholds_announcements = True
        # The product first has to notice that nothing is announced, then polls: longer on a busy machine.
        await stops(lab, revoke_token if change is revoke_token else forbid_waiting, product, people.admin, 5 * SECOND)
        assert "cut off" in (await running).text


async def test_what_nobody_can_look_at_does_not_go_on_for_ever(
    product: Product, people: People, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authority, "UNVERIFIED_SECONDS", 0.5)
    async with postgres_proxy(product.deployment.admin) as proxy, product.gateway(through=proxy.address) as node:
        running = asyncio.create_task(node.call(people.admin.token, "lab", "wait"))
        await asyncio.wait_for(lab.started.wait(), 5)
        proxy.hang_up()
        await asyncio.wait_for(lab.cancelled.wait(), 10)
        proxy.resume()
        assert f"{UNVERIFIED}MCPist is not ready: its database is unavailable" in (await running).text
