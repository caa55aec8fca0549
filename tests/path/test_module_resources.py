"""Resources and prompts of the installed modules through `/mcp`: one's own memory, and prompts without an account."""

from typing import Any

import pytest

from tests.path.conftest import People, on_shared_product
from tests.path.stream_app import hear, until, updated
from tests.support.mcp_client import MODERN, NEWEST, Answer
from tests.support.product import Node, Person

GRAPH = "resource://knowledge_graph/graph"
ADA = "resource://knowledge_graph/entities/Ada%20%2F%20%E4%BC%9A"
ENTITY = "resource://knowledge_graph/entities/{name}"


async def remember(node: Node, person: Person, *names: str) -> None:
    entities = [{"name": name, "entityType": "person", "observations": ["Likes tea"]} for name in names]
    made = await node.call(person.token, "knowledge_graph", "create_entities", {"entities": entities})
    assert not made.failed, made.text


async def read(node: Node, person: Person, uri: str, revision: str = NEWEST) -> Answer:
    return await node.post(person.token, "resources/read", {"uri": uri}, revision=revision)


async def complete(node: Node, person: Person, typed: str) -> Any:
    params = {"ref": {"type": "ref/resource", "uri": ENTITY}, "argument": {"name": "name", "value": typed}}
    return (await node.post(person.token, "completion/complete", params)).result["completion"]["values"]


async def list_names(node: Node, person: Person, method: str, member: str) -> list[str]:
    return [one["name"] for one in (await node.post(person.token, method)).result[member]]


@on_shared_product
@pytest.mark.parametrize("revision", [NEWEST, MODERN])
async def test_ones_own_memory_is_read(node: Node, people: People, revision: str) -> None:
    await remember(node, people.admin, "Ada / 会", "Bob")
    (content,) = (await read(node, people.admin, ADA, revision)).result["contents"]
    assert '"observations":["Likes tea"]' in content["text"]
    assert content["mimeType"] == "application/json"
    assert "_meta" not in content, "what people wrote themselves is not others'"
    (content,) = (await read(node, people.admin, GRAPH, revision)).result["contents"]
    assert '"name":"Bob"' in content["text"]
    assert await complete(node, people.admin, "ada") == ["Ada / 会"]
    assert set(await complete(node, people.admin, "")) == {"Ada / 会", "Bob"}


@on_shared_product
async def test_nobody_reads_anothers_memory(node: Node, people: People) -> None:
    await remember(node, people.admin, "Ada / 会")
    for person in (people.reader, people.other_admin, people.other_reader):
        assert b"Likes tea" not in (await read(node, person, GRAPH)).body
        error = (await read(node, person, ADA)).message["error"]
        assert error["message"].startswith("there is no entity of that name")
        assert await complete(node, person, "") == []
    hidden = await read(node, people.nobody, ADA)
    assert hidden.comparable[0] == (await read(node, people.nobody, ADA.replace("Ada", "Made%20up"))).comparable[0]
    assert "Resource not found" in hidden.message["error"]["message"]


@on_shared_product
async def test_who_may_only_read_has_the_resources(node: Node, people: People) -> None:
    assert await list_names(node, people.reader, "resources/list", "resources") == ["knowledge_graph_graph"]
    templates = await list_names(node, people.reader, "resources/templates/list", "resourceTemplates")
    assert templates == ["knowledge_graph_entity"]
    assert await list_names(node, people.reader, "prompts/list", "prompts") == []


@on_shared_product
async def test_a_prompt_needs_no_account(node: Node, people: People) -> None:
    names = await list_names(node, people.admin, "prompts/list", "prompts")
    assert {"jira_bug_report", "notion_create_task", "github_pr_review", "pr_review", "supabase_migration"} <= set(
        names
    )
    params = {"name": "jira_bug_report", "arguments": {"severity": "Critical", "component": "検索"}}
    (message,) = (await node.post(people.admin.token, "prompts/get", params)).result["messages"]
    assert '"検索"' in message["content"]["text"]


@on_shared_product
async def test_the_resources_that_the_requirements_name(node: Node, people: People) -> None:
    listed = (await node.post(people.admin.token, "resources/templates/list")).result["resourceTemplates"]
    templates = {one["uriTemplate"] for one in listed}
    assert {
        "resource://notion/pages/{id}/raw",
        "resource://github/repos/{owner}/{repo}/readme",
        "resource://supabase/schemas/{project}/{table}",
    } <= templates
    for one in listed:
        assert one["title"].partition(": ")[2]
        assert one["description"].endswith(".")
        assert one["mimeType"]


@on_shared_product
async def test_who_has_subscribed_is_told_of_a_change_by_a_tool(node: Node, people: People) -> None:
    for person in (people.admin, people.other_admin):
        for uri in (ADA, GRAPH):
            assert (await node.post(person.token, "resources/subscribe", {"uri": uri})).result == {}
    async with hear(node, people.admin) as hers, hear(node, people.other_admin) as others:
        await remember(node, people.admin, "Ada / 会")
        await until(lambda: len(updated(hers)) == 2, 5)
        assert set(updated(hers)) == {ADA, GRAPH}
        await remember(node, people.other_admin, "Eve / 会")  # the last that anybody may hear
        await until(lambda: updated(others), 5)
        assert updated(others) == [GRAPH]
        assert len(updated(hers)) == 2
