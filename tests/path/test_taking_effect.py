"""What an administrator changes holds within one second on every gateway, whatever becomes of the announcements."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from core import generations
from core.directory import deletion, services, tenants
from gateway.tool_runner import NO_SUCH_TOOL
from tests.path.conftest import People
from tests.support import directory
from tests.support.directory import unassign_role
from tests.support.eventually import within
from tests.support.mcp_client import Answer
from tests.support.postgres import ScratchDatabase
from tests.support.postgres_proxy import postgres_proxy
from tests.support.product import ACTOR, Node, Person, Product

SECOND = 1.0
# A listener waits in ClientRead; what it did last is LISTEN, or the statement by which it proves that it is alive.
END_LISTENERS = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()
    AND usename = 'mcpist_gateway' AND (query ILIKE 'listen%' OR query = 'SELECT 1')"""
POLLED = "mcpist_generation_listener_up 0.0"

Change = Callable[[Product, Person], Awaitable[None]]


async def revoke_token(product: Product, person: Person) -> None:
    await product.tokens.revoke(ACTOR, person.tenant.id, person.token_id)


async def suspend_user(product: Product, person: Person) -> None:
    await directory.set_status(product.console, ACTOR, person.tenant.id, person.email, "suspended")


async def suspend_tenant(product: Product, person: Person) -> None:
    await tenants.set_status(product.console, ACTOR, person.tenant.id, "suspended")


async def remove_tenant(product: Product, person: Person) -> None:
    await deletion.remove_tenant(product.console, ACTOR, person.tenant.id, person.tenant.slug)


async def take_role(product: Product, person: Person) -> None:
    await unassign_role(product.console, ACTOR, person.tenant.id, person.email, person.email)


async def delete_role(product: Product, person: Person) -> None:
    await directory.delete_role(product.console, ACTOR, person.tenant.id, person.email)


async def deny(product: Product, person: Person) -> None:
    await directory.grant(product.console, ACTOR, person.tenant.id, person.email, "deny", "lab.look")


async def take_permission(product: Product, person: Person) -> None:
    await directory.revoke(product.console, ACTOR, person.tenant.id, person.email, "*")


async def switch_off(product: Product, person: Person) -> None:
    await services.set_service(product.console, ACTOR, person.tenant.id, "lab", enabled=False)


REFUSING = (revoke_token, suspend_user, suspend_tenant, remove_tenant)
HIDING = (take_role, delete_role, deny, take_permission, switch_off)


@pytest.fixture
async def nodes(product: Product) -> AsyncIterator[tuple[Node, Node]]:
    async with product.gateway() as first, product.gateway() as second:
        yield first, second


async def look(node: Node, person: Person) -> Answer:
    return await node.call(person.token, "lab", "look")


def lost(change: Change, answer: Answer) -> bool:
    """Whether the answer is what the change leads to."""
    if change in REFUSING:
        return answer.status == 401
    return answer.status == 200 and answer.text == NO_SUCH_TOOL


async def warm(nodes: tuple[Node, Node], *people: Person) -> None:
    for node in nodes:
        for person in people:
            assert (await look(node, person)).value == {"said": ""}


async def effective(nodes: tuple[Node, Node], change: Change, person: Person) -> list[float]:
    """How many seconds it took on each gateway."""

    async def on(node: Node) -> float:
        async def has_lost() -> bool:
            return lost(change, await look(node, person))

        return await within(SECOND, has_lost)

    return list(await asyncio.gather(*(on(node) for node in nodes)))


@pytest.mark.parametrize("change", [*REFUSING, *HIDING])
async def test_a_change_holds_on_both(
    product: Product, people: People, nodes: tuple[Node, Node], change: Change
) -> None:
    await warm(nodes, people.admin, people.other_admin)
    await change(product, people.admin)
    await effective(nodes, change, people.admin)
    await warm(nodes, people.other_admin)


@pytest.mark.parametrize("change", [*REFUSING, *HIDING])
async def test_also_when_the_listeners_have_just_died(
    product: Product, people: People, nodes: tuple[Node, Node], change: Change, database: ScratchDatabase
) -> None:
    await warm(nodes, people.admin)
    async with database.admin_connection() as admin:
        assert await admin.fetchval(END_LISTENERS) == 2
    await change(product, people.admin)
    await effective(nodes, change, people.admin)


@pytest.mark.parametrize("change", [revoke_token, deny])
async def test_also_when_nobody_can_listen_any_more(
    product: Product,
    people: People,
    nodes: tuple[Node, Node],
    change: Change,
    database: ScratchDatabase,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_args: object, **_options: object) -> None:
        raise ConnectionRefusedError

    await warm(nodes, people.admin)
    monkeypatch.setattr(generations, "connect", refuse)
    async with database.admin_connection() as admin:
        assert await admin.fetchval(END_LISTENERS) == 2
    for node in nodes:
        await within(5, lambda node=node: polling(node))
    await warm(nodes, people.admin)
    await change(product, people.admin)
    await effective(nodes, change, people.admin)


async def polling(node: Node) -> bool:
    return POLLED in node.metrics()


async def listening(node: Node) -> bool:
    return not await polling(node)


@pytest.mark.parametrize("change", [revoke_token, suspend_user, deny])
async def test_also_when_announcements_do_not_arrive(
    product: Product, people: People, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pooler in transaction mode: the connections live, and LISTEN succeeds."""
    monkeypatch.setattr(generations, "LISTEN_RETRY_SECONDS", 0.2)
    async with (
        postgres_proxy(product.deployment.admin) as proxy,
        product.gateway(through=proxy.address) as node,
        product.gateway() as other,
    ):
        await warm((node, other), people.admin, people.other_admin)
        await within(5, lambda: listening(node))
        proxy.withholds_announcements = True
        await change(product, people.admin)
        await effective((node, other), change, people.admin)
        await within(5, lambda: polling(node))
        await warm((node, other), people.other_admin)
        proxy.withholds_announcements = False
        await within(5, lambda: listening(node))


async def test_announcements_that_somebody_makes_up_cost_nobody_their_cache(
    product: Product, people: People, database: ScratchDatabase
) -> None:
    """Whoever has a login of the database can send one."""
    made_up = [f"{people.acme.id} 999999", f"{people.acme.id} x", "x 1", "", "x" * 7_000, f"{people.acme.id}"]
    async with (
        postgres_proxy(product.deployment.admin) as proxy,
        product.gateway(through=proxy.address) as node,
        database.open("mcpist_gateway") as gateway,
    ):
        await warm((node, node), people.admin)
        await within(5, lambda: listening(node))
        for channel in (generations.GENERATION_CHANNEL, generations.DROPPED_VERSION_CHANNEL):
            for payload in made_up:
                await gateway.call("SELECT pg_notify($1, $2)", channel, payload)
        for number in range(2_000):
            await gateway.call("SELECT pg_notify($1, $2)", generations.GENERATION_CHANNEL, f"{people.acme.id} {number}")
        before = len(proxy.statements)
        await warm((node, node), people.admin)
        asked = [sent.sql for sent in proxy.statements[before:]]
        assert not [sql for sql in asked if "core.users" in sql]
        assert sum("core.generations" in sent.sql for sent in proxy.statements) < 200
        assert not await polling(node)
        await revoke_token(product, people.admin)
        await effective((node, node), revoke_token, people.admin)


async def test_what_is_given_back_holds_too(product: Product, people: People, nodes: tuple[Node, Node]) -> None:
    await warm(nodes, people.admin)
    await deny(product, people.admin)
    await effective(nodes, deny, people.admin)
    await directory.revoke(product.console, ACTOR, people.acme.id, people.admin.email, "lab.look")
    for node in nodes:

        async def back(node: Node = node) -> bool:
            return (await look(node, people.admin)).text != NO_SUCH_TOOL

        await within(SECOND, back)


async def test_a_change_of_one_tenant_leaves_the_other_its_cache(
    product: Product, people: People, nodes: tuple[Node, Node]
) -> None:
    await warm(nodes, people.admin, people.other_admin)
    await switch_off(product, people.admin)
    await effective(nodes, switch_off, people.admin)
    assert (await look(nodes[0], people.other_admin)).value == {"said": ""}
