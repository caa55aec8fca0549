"""Two tenants in which everything has the same name: nobody meets anything of the others."""

from typing import Any

import pytest

from core.directory import services
from core.errors import NotFound
from gateway.tool_runner import NO_SUCH_TOOL
from tests.path.conftest import People
from tests.support import directory
from tests.support.eventually import within
from tests.support.mcp_client import REVISIONS
from tests.support.product import ACTOR, Node, Person, Product

KG = "knowledge_graph"


def everyone(people: People) -> dict[str, Person]:
    """Four people who may use the graph, and whose graphs must never meet."""
    return {
        "acme admin": people.admin,
        "acme reader": people.reader,
        "globex admin": people.other_admin,
        "globex reader": people.other_reader,
    }


def bob(mark: str) -> dict[str, Any]:
    entity = {"name": "Bob", "entityType": "person", "observations": [f"belongs to {mark}"]}
    own = {"name": f"only {mark}", "entityType": "thing", "observations": []}
    return {"entities": [entity, own]}


async def remember(product: Product, node: Node, person: Person, mark: str) -> None:
    """Also a reader has a graph; it is written while their role allows it."""
    await directory.grant(product.console, ACTOR, person.tenant.id, person.email, "allow", f"{KG}.create_entities")

    async def written() -> bool:
        return not (await node.call(person.token, KG, "create_entities", bob(mark))).failed

    await within(1, written)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_same_names_and_other_people(product: Product, node: Node, people: People, revision: str) -> None:
    for mark, person in everyone(people).items():
        await remember(product, node, person, mark)
    for mark, person in everyone(people).items():
        graph = await node.call(person.token, KG, "read_graph", revision=revision)
        assert [entity["name"] for entity in graph.value["entities"]] == ["Bob", f"only {mark}"]
        found = await node.call(person.token, KG, "search", {"query": "belongs"}, revision=revision)
        assert [entity["observations"] for entity in found.value["entities"]] == [[f"belongs to {mark}"]]
        names = ["Bob", *(f"only {other}" for other in everyone(people))]
        nodes = await node.call(person.token, KG, "get_nodes", {"names": names}, revision=revision)
        assert nodes.value["unknown"] == [name for name in names[1:] if name != f"only {mark}"]
        assert not any(other in graph.text + found.text for other in everyone(people) if other != mark)


async def test_deleting_touches_ones_own_only(product: Product, node: Node, people: People) -> None:
    for mark, person in everyone(people).items():
        await remember(product, node, person, mark)
    names = ["Bob", *(f"only {mark}" for mark in everyone(people))]
    gone = await node.call(people.admin.token, KG, "delete_entities", {"entityNames": names})
    assert gone.value["entities"] == 2
    for mark, person in everyone(people).items():
        graph = await node.call(person.token, KG, "read_graph")
        expected = [] if person is people.admin else ["Bob", f"only {mark}"]
        assert [entity["name"] for entity in graph.value["entities"]] == expected


async def test_suggestions_name_ones_own_only(product: Product, node: Node, people: People) -> None:
    for mark, person in everyone(people).items():
        await remember(product, node, person, mark)
    relation = {"from": "only", "to": "Bob", "relationType": "r"}
    answer = await node.call(people.admin.token, KG, "create_relations", {"relations": [relation]})
    assert "only acme admin" in answer.text
    assert not any(mark in answer.text for mark in everyone(people) if mark != "acme admin")


async def test_what_one_tenant_switches_off_stays_on_in_the_other(product: Product, node: Node, people: People) -> None:
    await services.set_service(product.console, ACTOR, people.globex.id, KG, enabled=False)
    await directory.delete_role(product.console, ACTOR, people.globex.id, people.other_reader.email)

    async def off() -> bool:
        return (await node.call(people.other_admin.token, KG, "read_graph")).text == NO_SUCH_TOOL

    await within(1, off)
    assert (await node.call(people.admin.token, KG, "read_graph")).value["entities"] == []
    assert (await node.call(people.reader.token, "lab", "look")).value == {"said": ""}
    assert (await node.call(people.other_reader.token, "lab", "look")).text == NO_SUCH_TOOL


async def test_no_header_and_no_argument_chooses_a_tenant(node: Node, people: People) -> None:
    """The tenant comes from the verified credential, and from nothing else."""
    await node.call(people.other_admin.token, KG, "create_entities", bob("globex"))
    headers = {"x-tenant": "globex", "x-tenant-id": str(people.globex.id), "mcpist-tenant": "globex"}
    graph = await node.call(people.admin.token, KG, "read_graph", headers=headers)
    assert graph.value["entities"] == []
    for name in ("tenant", "tenant_id", "user_id"):
        answer = await node.call(people.admin.token, KG, "read_graph", {name: str(people.globex.id)})
        assert answer.text.startswith(f"{name} is unknown")


async def test_a_token_is_revoked_in_its_own_tenant_only(product: Product, node: Node, people: People) -> None:
    with pytest.raises(NotFound):
        await product.tokens.revoke(ACTOR, people.acme.id, people.other_admin.token_id)
    assert (await node.post(people.other_admin.token, "tools/list")).status == 200


async def test_each_tenant_s_calls_are_in_its_own_log(product: Product, node: Node, people: People) -> None:
    await node.call(people.admin.token, "lab", "look")
    await node.call(people.other_admin.token, "lab", "made_up")
    assert {event.user_id for event in await product.events(people.acme, "call.intent", "call.denied")} == {
        people.admin.id
    }
    assert [event.tool for event in await product.events(people.globex, "call.intent", "call.denied")] == ["made_up"]
