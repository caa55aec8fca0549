"""What a caller may not use does not exist for them: hidden and made-up names get the same bytes by the same steps, and
each attempt is recorded."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.audit.digest import compute_argument_digest
from core.audit.event import AuditEvent, AuditEventKind
from gateway.tool_runner import NO_SUCH_TOOL
from tests.path.conftest import People, on_shared_product
from tests.support.mcp_client import MODERN, NEWEST, Answer
from tests.support.postgres_proxy import PostgresProxy, Sent, postgres_proxy
from tests.support.product import Node, Person, Product
from tests.support.toy_modules import Lab

# (module, tool) for a reader of knowledge_graph and lab.look; `hidden` is a whole module, `made` exists nowhere.
NAMES = {
    "hidden tool": ("knowledge_graph", "create_entities"),
    "alias of a hidden tool": ("knowledge_graph", "kg_create_entities"),
    "hidden tool of a module with one visible": ("lab", "write"),
    "made-up tool": ("knowledge_graph", "make_entities"),
    "made-up module": ("knowledge_grape", "create_entities"),
    "near miss of a visible tool": ("knowledge_graph", "read_grap"),
    "another case": ("knowledge_graph", "READ_GRAPH"),
    "module in the name": ("lab", "knowledge_graph.read_graph"),
}
# Nothing could have such a name; `batch` says so by the form alone.
ODD = {
    "no module": ("", "knowledge_graph.read_graph"),
    "empty": ("", ""),
    "long": ("x" * 5_000, "y" * 5_000),
}
PARAMS = {"entities": [{"name": "x", "entityType": "y", "observations": []}]}


def call(module: str, tool: str) -> tuple[str, dict[str, Any]]:
    return "call", {"module": module, "tool_name": tool, "params": PARAMS}


def batch(module: str, tool: str) -> tuple[str, dict[str, Any]]:
    step = {"id": "a", "module": module, "tool_name": tool, "params": PARAMS}
    return "batch", {"commands": [step]}


def batch_text(module: str, tool: str) -> tuple[str, dict[str, Any]]:
    name, arguments = batch(module, tool)
    return name, {"commands": json.dumps(arguments["commands"][0])}


def dry_run(module: str, tool: str) -> tuple[str, dict[str, Any]]:
    name, arguments = batch(module, tool)
    return name, {**arguments, "dry_run": True}


def batch_with_more(module: str, tool: str) -> tuple[str, dict[str, Any]]:
    """Beside a good step, and with another that refers to the hidden one's result."""
    hidden = {"id": "a", "module": module, "tool_name": tool, "params": PARAMS}
    good = {"id": "b", "module": "lab", "tool_name": "look", "params": {}}
    behind = {"id": "c", "module": "lab", "tool_name": "look", "params": {"at": "${a.nothing.of[7].this}"}}
    return "batch", {"commands": [hidden, good, behind]}


def schema_of_tool(module: str, tool: str) -> tuple[str, dict[str, Any]]:
    return "get_module_schema", {"module": module, "tools": [tool]}


WAYS = [call, batch, batch_text, dry_run, batch_with_more, schema_of_tool]


async def ask(node: Node, person: Person, asked: tuple[str, dict[str, Any]], revision: str = NEWEST) -> Answer:
    name, arguments = asked
    return await node.tool(person.token, name, arguments, revision=revision)


@on_shared_product
@pytest.mark.parametrize("revision", [NEWEST, MODERN])
@pytest.mark.parametrize("way", WAYS)
async def test_every_name_that_is_not_there_gets_the_same_bytes(
    node: Node, people: People, way: Any, revision: str
) -> None:
    answers = {what: await ask(node, people.reader, way(*name), revision) for what, name in NAMES.items()}
    expected = answers["made-up tool"]
    assert {what: answer.comparable for what, answer in answers.items()} == dict.fromkeys(NAMES, expected.comparable)
    assert (expected.status, expected.failed) == (200, True)
    assert NO_SUCH_TOOL in expected.text


@on_shared_product
async def test_also_a_name_that_nothing_could_have(node: Node, people: People) -> None:
    answers = [await ask(node, people.reader, call(*name)) for name in (*ODD.values(), ("lab", "write"))]
    assert {answer.comparable for answer in answers} == {answers[0].comparable}


@on_shared_product
@pytest.mark.parametrize("revision", [NEWEST, MODERN])
@pytest.mark.parametrize("module", ["lab", "knowledge_graph", "made_up", "", "LAB"])
async def test_a_hidden_module_is_as_one_that_there_is_not(
    node: Node, people: People, module: str, revision: str
) -> None:
    shapes: list[dict[str, Any]] = [
        {"module": module or "x"},
        {"module": [module or "x"]},
        {"module": [module or "x", "x"]},
        {"module": module or "x", "have": "0123456789abcdef"},
        {"module": module or "x", "tools": ["look"]},
        {"module": module or "x", "tools": ["look", "kg_search"]},
    ]
    for shape in shapes:
        answer = await ask(node, people.nobody, ("get_module_schema", shape), revision)
        assert answer.result["content"] == [{"type": "text", "text": NO_SUCH_TOOL}]
        assert answer.failed
    nothing = await ask(node, people.nobody, ("get_module_schema", {}), revision)
    assert nothing.value == {"modules": []}


@on_shared_product
async def test_in_a_list_only_the_names_that_are_there_are_answered(node: Node, people: People) -> None:
    """A hidden and a made-up neighbour leave the same trace beside a module that is there."""
    bodies = [
        (await ask(node, people.reader, ("get_module_schema", {"module": ["lab", name]}))).comparable
        for name in ("made_up", "other")
    ]
    assert bodies[0] == bodies[1]
    for tool in ("write", "made_up", "wait"):
        asked = ("get_module_schema", {"module": "lab", "tools": ["look", tool]})
        (module,) = (await ask(node, people.reader, asked)).value["modules"]
        assert [one["name"] for one in module["tools"]] == ["look"]
        assert module["error"] == NO_SUCH_TOOL


async def test_a_service_that_is_off_is_a_module_that_is_not_there(product: Product, node: Node) -> None:
    small = await product.tenant("small", services=["lab"])
    person = await product.person(small, "admin@mail.test", allow=["*"])
    off = await ask(node, person, call("knowledge_graph", "read_graph"))
    made_up = await ask(node, person, call("made_up", "read_graph"))
    assert off.comparable == made_up.comparable
    listed = await node.post(person.token, "tools/list")
    assert "knowledge_graph" not in listed.body.decode()


@on_shared_product
async def test_for_a_read_only_token_writing_tools_are_not_there(product: Product, node: Node, people: People) -> None:
    person = await product.with_token(people.admin, read_only=True)
    hidden = await ask(node, person, call("lab", "write"))
    made_up = await ask(node, person, call("lab", "wrote"))
    assert hidden.comparable == made_up.comparable
    assert (await node.call(person.token, "lab", "look")).value == {"said": ""}
    shown = await ask(node, person, ("get_module_schema", {"module": ["lab", "knowledge_graph"]}))
    names = {tool["name"] for module in shown.value["modules"] for tool in module["tools"]}
    reading = {
        "read_graph",
        "search",
        "get_nodes",
        "export_graph",
        "search_by_meaning",
        "index_graph",
        "find_duplicates",
    }
    assert names == {"look", "big", "fail", "crash", *reading}


@on_shared_product
async def test_what_the_roles_permit_and_the_token_does_not_is_a_403(
    product: Product, node: Node, people: People, lab: Lab
) -> None:
    """Roles decide what exists, scopes decide 403 (RFC 6750 §3.1); a batch is refused before anything runs."""
    person = await product.with_token(people.admin, scopes=["mcp:read"])
    for asked in (call("lab", "write"), batch("lab", "write")):
        answer = await ask(node, person, (asked[0], _with_params(asked[1], {"text": "x"})))
        assert answer.status == 403
        assert answer.header("www-authenticate").startswith(
            'Bearer realm="mcpist", error="insufficient_scope", scope="mcp:write", '
        )
    assert lab.effects == []
    assert (await ask(node, person, call("lab", "made_up"))).status == 200


def _with_params(arguments: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    if "params" in arguments:
        return {**arguments, "params": params}
    return {"commands": [{**step, "params": params} for step in arguments["commands"]]}


async def test_each_attempt_is_recorded(product: Product, node: Node, people: People) -> None:
    for name in NAMES.values():
        await ask(node, people.reader, call(*name))
        await ask(node, people.reader, batch(*name))
        await ask(node, people.reader, dry_run(*name))
    for name in ODD.values():
        await ask(node, people.reader, call(*name))
    events = await product.events(people.acme, AuditEventKind.DENIED)
    named = [name for name in NAMES.values() for _ in range(3)] + list(ODD.values())
    digest = digest_of(product, people.reader, PARAMS)
    for event, name in zip(events, named, strict=True):
        assert shown(event) == (people.reader.id, people.reader.token_id, "denied", digest)
        assert (event.module, event.tool) == (cut(name[0], 64), cut(name[1], 64))
        assert event.arguments is None
    assert await product.events(people.acme, AuditEventKind.CALL_INTENT) == []


@pytest.mark.parametrize("broken", ["{", '{"id": "b", "module": "lab", "tool_name": "look", "arguments": {}}', "again"])
async def test_an_attempt_is_recorded_beside_a_line_that_cannot_be_read(
    product: Product, node: Node, people: People, lab: Lab, broken: str
) -> None:
    """A broken line, an unknown field or an id that is taken twice refuses the batch, and hides no attempt in it."""
    for person in (people.reader, people.other_reader):
        _, arguments = batch_text("lab", "write")
        line = arguments["commands"]
        text = f"{line}\n{line if broken == 'again' else broken}"
        for dry in (False, True):
            answer = await ask(node, person, ("batch", {"commands": text, "dry_run": dry}))
            assert answer.failed
            assert "line 2" in answer.text
    names = {"count": 2, "names": "lab.write, lab.write"} if broken == "again" else None
    for tenant, person in ((people.acme, people.reader), (people.globex, people.other_reader)):
        events = await product.events(tenant, AuditEventKind.DENIED)
        assert [(event.user_id, event.module, event.tool) for event in events] == [(person.id, "lab", "write")] * 2
        assert [event.detail for event in events] == [names] * 2
    assert lab.effects == []


async def test_looking_for_it_is_recorded_too(product: Product, node: Node, people: People) -> None:
    await ask(node, people.reader, schema_of_tool("lab", "write"))
    await ask(node, people.reader, ("get_module_schema", {"module": ["made_up", "lab"]}))
    events = await product.events(people.acme, AuditEventKind.DENIED)
    assert [(event.module, event.tool) for event in events] == [("lab", "write"), ("made_up", "")]


async def test_the_call_log_does_not_repeat_what_an_attacker_named(
    product: Product, node: Node, people: People
) -> None:
    await ask(node, people.reader, call("evil\n{}", "evil"))
    assert 'mcpist_denied_total{reason="unknown_tool"} 1.0' in node.metrics()
    assert "evil" not in node.metrics()


@pytest.fixture
async def proxy(product: Product) -> AsyncIterator[PostgresProxy]:
    async with postgres_proxy(product.deployment.admin) as proxy:
        yield proxy


@pytest.mark.parametrize("way", WAYS)
async def test_the_database_sees_the_same_steps(
    product: Product, people: People, proxy: PostgresProxy, way: Any
) -> None:
    async with product.gateway(through=proxy.address) as node:
        await ask(node, people.reader, call("warm", "up"))
        traces: dict[str, list[Sent]] = {}
        for what, name in NAMES.items():
            proxy.statements.clear()
            await ask(node, people.reader, way(*name))
            traces[what] = [sent for sent in proxy.statements if sent.sql != "SELECT 1"]
    expected = [Sent("mcpist_gateway", "SELECT audit.append_signed($1::uuid[], $2::text[], $3::bytea[])")]
    assert traces == dict.fromkeys(NAMES, expected)


def digest_of(product: Product, person: Person, arguments: dict[str, Any]) -> bytes:
    encoded = json.dumps(arguments, separators=(",", ":")).encode()
    return compute_argument_digest(product.deployment.digest_key, person.tenant.id, encoded)


def shown(event: AuditEvent) -> tuple[Any, ...]:
    return event.user_id, event.credential_id, event.outcome, event.digest


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
