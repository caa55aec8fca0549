"""Several tenants at one gateway: a loud one keeps no other one waiting."""

import asyncio

import pytest

from core.concurrency import fair_queue
from tests.path.conftest import People
from tests.path.shop_app import ShopApp
from tests.path.shop_app import people as create_people
from tests.support.eventually import within
from tests.support.product import ACTOR, Node, Product
from tests.support.toy_modules import Lab


def read_waiting(node: Node) -> float:
    (line,) = (line for line in node.metrics().splitlines() if line.startswith("mcpist_calls_waiting "))
    return float(line.split()[1])


async def test_a_tenant_with_many_calls_keeps_no_other_waiting(product: Product, people: People, lab: Lab) -> None:
    async with product.gateway(calls_at_once=1, concurrency=1000) as node:
        await node.call(people.other_admin.token, "lab", "look", {"at": "x"})
        waits = [asyncio.create_task(node.call(people.admin.token, "lab", "wait")) for _ in range(20)]

        async def is_waiting() -> bool:
            return read_waiting(node) > 0

        await within(5, is_waiting)
        other = await node.call(people.other_admin.token, "lab", "look", {"at": "x"})
        assert other.value == {"said": "x"}
        assert read_waiting(node) > 0, "it went ahead of those that wait"
        lab.resume.set()
        assert [(await answer).value for answer in waits] == [{"said": "resumed"}] * 20
        assert read_waiting(node) == 0


async def test_a_batch_of_many_steps_comes_to_its_end(product: Product, people: People) -> None:
    """Its steps wait for turns, and it holds none meanwhile: otherwise some batches would stop each other."""
    steps = [
        {"id": f"s{n}", "module": "lab", "tool_name": "look", "params": {"at": f"{n}"}, "output": True}
        for n in range(30)
    ]
    async with product.gateway(calls_at_once=1) as node:
        await node.call(people.other_admin.token, "lab", "look", {"at": "x"})
        batches = [node.tool(people.admin.token, "batch", {"commands": steps}) for _ in range(6)]
        for answer in await asyncio.wait_for(asyncio.gather(*batches), 20):
            assert answer.text.count(" ok ") == 30, answer.text[:500]


async def test_a_credential_that_ends_while_its_call_waits(product: Product, people: People, lab: Lab) -> None:
    async with product.gateway(calls_at_once=1, concurrency=1000, failed_auth_per_minute=100_000) as node:
        await node.call(people.other_admin.token, "lab", "look", {"at": "x"})
        waits = [asyncio.create_task(node.call(people.admin.token, "lab", "wait")) for _ in range(30)]

        async def is_waiting() -> bool:
            return read_waiting(node) > 15

        await within(5, is_waiting)
        last = asyncio.create_task(node.call(people.admin.token, "lab", "look", {"at": "late"}))
        await product.tokens.revoke(ACTOR, people.acme.id, people.admin.token_id)
        assert (await last).status == 401
        for wait in waits:
            wait.cancel()
        await asyncio.wait(waits)


async def test_calls_that_wait_for_a_vendor_hold_no_turn(app: ShopApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_queue, "TICK_SECONDS", 60.0)  # no turn is given on because it is held for long
    ada, eve = await create_people(app)
    for person in (ada, eve):
        await app.add(person, f"{person.tenant.slug}-token-0123456789")
        await app.call(person, "look", what="tea")
    app.shop.resume = asyncio.Event()
    calls = [asyncio.create_task(app.call(ada, "look", what="tea")) for _ in range(30)]

    async def are_all_running() -> bool:
        return "mcpist_running_calls 30.0" in app.node.metrics()

    await within(5, are_all_running)
    assert read_waiting(app.node) == 0
    app.shop.resume.set()
    assert not any([(await call)["isError"] for call in calls])
