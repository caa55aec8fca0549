"""A sample of random role matrices, told to the product as an administrator would, and looked at over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from core.directory.tenants import Tenant
from core.directory.users import create_user
from tests.gateway.sieve.matrices import TENANTS, Matrix, matrices, permitted, speakable, spoken
from tests.support import directory
from tests.support.mcp_client import MODERN, REVISIONS, Answer
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Node, Person, Product, product_on
from tests.support.toy_modules import crowd

SAMPLE = 100
CROWD = crowd(14, 4)
EVERYTHING = [module.name for module in CROWD.modules]
DRAWN = list(matrices(CROWD, seed=15, number=SAMPLE))


@pytest.fixture
async def own_product(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Product]:
    async with product_on(database, tmp_path / "home", catalogue=CROWD) as product:
        yield product


@pytest.fixture
async def tenants(product: Product) -> dict[UUID, Tenant]:
    services = {matrix.tenant: matrix.services for matrix in DRAWN}
    return {
        tenant: await product.tenant(f"tenant{n}", services=sorted(services[tenant]))
        for n, tenant in enumerate(TENANTS)
    }


async def person_of(product: Product, tenant: Tenant, matrix: Matrix, number: int) -> Person:
    names = tuple(f"role {number}.{n}" for n in range(len(matrix.roles)))
    for name, rows in zip(names, matrix.roles, strict=True):
        await directory.create_role(product.console, ACTOR, tenant.id, name)
        for effect, permission in rows:
            await directory.grant(product.console, ACTOR, tenant.id, name, effect, permission)
    email = f"user{number}@mail.test"
    user_id = await create_user(product.console, ACTOR, tenant.id, email, roles=names)
    return await product.with_token(Person(tenant, user_id, email), read_only=matrix.read_only)


async def answers(node: Node, token: str, revision: str) -> list[Answer]:
    """Whatever names nothing that exists must not bring up anything that does."""
    step = {"id": "a", "module": "m00", "tool_name": "t0000", "params": {"a0000": ""}}
    return [
        await node.post(token, "tools/list", revision=revision),
        await node.tool(token, "get_module_schema", revision=revision),
        await node.tool(token, "get_module_schema", {"module": EVERYTHING}, revision=revision),
        await node.tool(token, "get_module_schema", {"module": ["m0", "", "m"]}, revision=revision),
        await node.call(token, "m00", "t0000", {"a0000": ""}, revision=revision),
        await node.tool(token, "batch", {"commands": [step]}, revision=revision),
        await node.tool(token, "batch", {"commands": [step], "dry_run": True}, revision=revision),
        await node.tool(token, "get_module_scheme", revision=revision),
        await node.tool(token, "call", {"modul": "m00q"}, revision=revision),
        await greeting(node, token, revision),
    ]


async def greeting(node: Node, token: str, revision: str) -> Answer:
    """The answer with the instructions."""
    if revision == MODERN:
        return await node.post(token, "server/discover", revision=revision)
    client = {"name": "x", "version": "1"}
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}
    return await node.post(token, "initialize", params, revision=revision)


async def wrong_arguments(node: Node, token: str, allowed: set[tuple[str, str]], revision: str) -> list[Answer]:
    """Suggestions come from the permitted tool's own schema only."""
    return [
        await node.call(token, module, tool, {"a": 1, "a0": 2, "zzz": 3}, revision=revision)
        for module, tool in sorted(allowed)[:3]
    ]


async def test_no_answer_names_what_is_hidden(product: Product, node: Node, tenants: dict[UUID, Tenant]) -> None:
    shown: set[int] = set()
    for number, matrix in enumerate(DRAWN):
        revision = REVISIONS[number % len(REVISIONS)]
        person = await person_of(product, tenants[matrix.tenant], matrix, number)
        allowed = permitted(CROWD, matrix)
        shown.add(len(allowed))
        told = await answers(node, person.token, revision) + await wrong_arguments(
            node, person.token, allowed, revision
        )
        said = set[bytes]().union(*(spoken(answer.body) for answer in told))
        assert said <= speakable(CROWD, allowed), matrix
        assert {name for name in said if name.startswith(b"t")} == {tool.encode() for _, tool in allowed}
        assert len(told[1].value["modules"]) == len({module for module, _ in allowed})
    assert len(shown) > 3, "from nothing to much: what is compared is not empty"


async def test_calls_go_through_exactly_where_the_lists_say_so(
    product: Product, node: Node, tenants: dict[UUID, Tenant]
) -> None:
    for number, matrix in enumerate(DRAWN[:30]):
        person = await person_of(product, tenants[matrix.tenant], matrix, number)
        allowed = permitted(CROWD, matrix)
        refused: set[Answer] = set()
        for module in CROWD.modules[number % 7 :: 7]:
            for tool in module.tools:
                answer = await node.call(person.token, module.name, tool.name)
                assert (not answer.failed) == ((module.name, tool.name) in allowed), matrix
                if answer.failed:
                    refused.add(answer)
        assert len({answer.comparable for answer in refused}) <= 1
