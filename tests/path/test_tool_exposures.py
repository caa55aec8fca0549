"""How tools are shown as a setting: of roles, of API tokens, of OAuth clients; the URL is before them all."""

from collections.abc import AsyncIterator

import pytest

from broker.authorization_server.registered_clients import NewClient, RegisteredClients
from broker.vault.key_wrapping import load_or_create
from core.db import Database
from core.directory.roles import change_role, find_role
from server.role_database import BROKER_ROLE, open_role_database
from tests.path.conftest import People
from tests.path.test_access_tokens import Gate, Issuer, gate_of, issuing
from tests.path.test_plain_view import LAB, META, list_names, post, run
from tests.path.test_result_text import signed_in_by
from tests.support.directory import assign_role, create_role
from tests.support.eventually import within
from tests.support.mcp_client import LEGACY, MODERN, NEWEST
from tests.support.product import ACTOR, Node, Person, Product

HELPERS = ("results_", "jobs_")
CB = "https://app.example.com/cb"


@pytest.fixture
async def broker_database(product: Product) -> AsyncIterator[Database]:
    async with open_role_database(product.deployment, BROKER_ROLE, max_connections=3) as database:
        yield database


@pytest.fixture
async def issuer(product: Product, broker_database: Database) -> AsyncIterator[Issuer]:
    async with issuing(product, broker_database) as issuer:
        yield issuer


@pytest.fixture
async def clients(product: Product, broker_database: Database) -> RegisteredClients:
    return RegisteredClients(broker_database, load_or_create(product.deployment.peppers), clock=product.clock)


@pytest.fixture
async def gates(product: Product) -> AsyncIterator[tuple[Gate, Gate]]:
    async with gate_of(product) as first, gate_of(product) as second:
        yield first, second


async def shown(node: Node, person: Person, url: str = "/mcp") -> list[str]:
    """What is listed, without what every plain view has."""
    return [name for name in await list_names(node, person, url) if not name.startswith(HELPERS)]


async def soon(node: Node, person: Person, expected: list[str]) -> None:
    async def holds() -> bool:
        return await shown(node, person) == expected

    await within(1.0, holds)


async def set_role(product: Product, person: Person, role: str, exposure: str | None) -> None:
    found = await find_role(product.console, person.tenant.id, role)
    await change_role(product.console, ACTOR, person.tenant.id, found.id, tool_exposure=exposure)


async def test_the_union_over_roles(product: Product, gates: tuple[Gate, Gate], people: People) -> None:
    reader, node = people.reader, gates[1].node
    assert await shown(node, reader) == META
    await set_role(product, reader, reader.email, "plain:lab")
    await soon(node, reader, ["lab_look"])
    await create_role(product.console, ACTOR, reader.tenant.id, "plain")
    await assign_role(product.console, ACTOR, reader.tenant.id, reader.email, "plain")
    await soon(node, reader, [*META, "lab_look"])
    await set_role(product, reader, "plain", "plain:knowledge_graph")
    graph = [
        "kg_export_graph",
        "kg_find_duplicates",
        "kg_get_nodes",
        "kg_index_graph",
        "kg_read_graph",
        "kg_search",
        "kg_search_by_meaning",
    ]
    await soon(node, reader, [*graph, "lab_look"])
    await set_role(product, reader, reader.email, "both:lab.look,lab.write")
    await soon(node, reader, [*META, *graph, "lab_look"])
    for person in (people.other_reader, people.admin):
        assert await shown(node, person) == META
    hidden = await run(node, reader, "/mcp", "lab_write", {"text": "x"})
    made_up = await run(node, reader, "/mcp", "lab_rites", {"text": "x"})
    assert hidden.comparable == made_up.comparable
    assert (await run(node, reader, "/mcp", "lab_look", {"at": "x"})).value == {"said": "x"}
    await set_role(product, reader, "plain", None)
    await set_role(product, reader, reader.email, None)
    await soon(node, reader, META)


async def test_a_token_is_before_roles_and_the_url_before_both(
    product: Product, gates: tuple[Gate, Gate], people: People
) -> None:
    node = gates[0].node
    await set_role(product, people.admin, people.admin.email, "plain:knowledge_graph")
    pinned = await product.with_token(people.admin, tool_exposure="both:lab.look")
    three = await product.with_token(people.admin, tool_exposure="meta")
    assert await shown(node, pinned) == [*META, "lab_look"]
    assert await shown(node, three) == META
    assert "kg_search" in await shown(node, people.admin)
    for person in (pinned, three, people.admin):
        assert await shown(node, person, "/mcp?view=meta") == await shown(node, person, "/mcp/meta") == META
        assert await shown(node, person, "/mcp/plain/lab") == LAB
    handshake = {"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    for revision in (LEGACY[0], NEWEST, MODERN):
        method = "server/discover" if revision == MODERN else "initialize"
        params = {} if revision == MODERN else {**handshake, "protocolVersion": revision}
        for person, url, has_plain in ((pinned, "/mcp", True), (pinned, "/mcp/meta", False), (three, "/mcp", False)):
            result = (await post(node, person, url, method, params, revision)).result
            assert result["capabilities"]["tools"] == {"listChanged": has_plain}, revision
    unknown = await run(node, three, "/mcp", "lab_look", {})
    assert unknown.message["error"]["code"] == -32602


async def test_a_client_is_before_roles_and_changes_within_a_second(
    product: Product, issuer: Issuer, clients: RegisteredClients, gates: tuple[Gate, Gate], people: People
) -> None:
    asked = NewClient(name="App", redirect_uris=(CB,), tool_exposure="plain:lab")
    ours, _ = await clients.create(ACTOR, people.acme.id, asked)
    theirs, _ = await clients.create(ACTOR, people.globex.id, asked)
    admin, other = [
        await signed_in_by(issuer, person, made.id)
        for person, made in ((people.admin, ours), (people.other_admin, theirs))
    ]
    foreign = await signed_in_by(issuer, people.admin, theirs.id)
    await set_role(product, people.admin, people.admin.email, "both:knowledge_graph.search")
    for gate in gates:
        assert await shown(gate.node, admin) == await shown(gate.node, other) == LAB
        assert await shown(gate.node, foreign) == await shown(gate.node, people.admin) == [*META, "kg_search"]
    assert await shown(gates[0].node, admin, "/mcp/meta") == META
    for wanted, expected in (("meta", META), ("both:lab.add", [*META, "lab_add"]), (None, [*META, "kg_search"])):
        await clients.change(ACTOR, people.acme.id, ours.id, tool_exposure=wanted)
        for gate in gates:
            await soon(gate.node, admin, expected)
            assert await shown(gate.node, other) == LAB


async def test_a_stored_form_of_another_version_counts_as_none(
    product: Product, gates: tuple[Gate, Gate], people: People
) -> None:
    async with product.database.admin_connection() as admin:
        await admin.execute("UPDATE auth.api_tokens SET tool_exposure = 'search:lab'")
        await admin.execute("UPDATE core.roles SET tool_exposure = 'search:lab'")
    assert await shown(gates[0].node, people.admin) == META
