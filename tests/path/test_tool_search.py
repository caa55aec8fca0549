"""A search through HTTP: two tenants, who may use other tools, in every revision."""

import pytest

from core.audit.event import AuditEventKind
from gateway.tool_runner import NO_SUCH_TOOL
from tests.path.conftest import People
from tests.support.mcp_client import REVISIONS
from tests.support.product import Node, Person, Product


async def find(node: Node, person: Person, query: str, revision: str = REVISIONS[0]) -> list[str]:
    answer = await node.tool(person.token, "get_module_schema", {"query": query}, revision=revision)
    assert not answer.failed, answer.text
    return [tool["name"] for tool in answer.value["tools"]]


@pytest.mark.guarantee("G17")
@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-1]])
async def test_a_search_finds_what_the_caller_may_use(node: Node, people: People, revision: str) -> None:
    assert "write" in await find(node, people.admin, "write something down", revision)
    assert "write" not in await find(node, people.reader, "write something down", revision)
    assert "write" not in await find(node, people.other_reader, "write something down", revision)
    assert await find(node, people.nobody, "write something down", revision) == []
    assert "look" in await find(node, people.reader, "look at something", revision)


async def test_a_search_in_a_hidden_module_is_recorded_as_one_in_a_made_up_one(
    product: Product, node: Node, people: People
) -> None:
    for module in ("lab", "made_up"):
        arguments = {"query": "look", "module": module}
        answer = await node.tool(people.nobody.token, "get_module_schema", arguments)
        assert (answer.failed, answer.text) == (True, NO_SUCH_TOOL)
    assert len(await product.events(people.acme, AuditEventKind.DENIED)) == 2
    assert await product.events(people.globex, AuditEventKind.DENIED) == []


async def test_a_query_of_four_megabytes_is_refused_in_a_sentence(node: Node, people: People) -> None:
    answer = await node.tool(people.reader.token, "get_module_schema", {"query": "課" * 1_300_000})
    assert (answer.failed, answer.text) == (True, "query must be a text of 1 to 500 characters")
