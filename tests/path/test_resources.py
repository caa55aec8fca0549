"""Resources, prompts and completions: permitted, audited and limited as calls are, in every revision."""

from typing import Any

import pytest

from core.audit.event import AuditEventKind
from tests.path.conftest import People, on_shared_product
from tests.support.mcp_client import MODERN, NEWEST, REVISIONS, Answer
from tests.support.product import Node, Person, Product

NOTE = "resource://lab/ada/notes/7"


async def read(node: Node, person: Person, uri: Any, revision: str = NEWEST) -> Answer:
    return await node.post(person.token, "resources/read", {"uri": uri}, revision=revision)


async def get(node: Node, person: Person, name: str, arguments: Any = None, revision: str = NEWEST) -> Answer:
    params = {"name": name} | ({} if arguments is None else {"arguments": arguments})
    return await node.post(person.token, "prompts/get", params, revision=revision)


async def complete(node: Node, person: Person, ref: Any, argument: Any, context: Any = None) -> Answer:
    params = {"ref": ref, "argument": argument} | ({} if context is None else {"context": context})
    return await node.post(person.token, "completion/complete", params)


def error_of(answer: Answer) -> dict[str, Any]:
    return answer.message["error"]


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_listing_in_every_revision(node: Node, people: People, revision: str) -> None:
    async def names(method: str, member: str) -> list[str]:
        result = (await node.post(people.admin.token, method, revision=revision)).result
        return [one["name"] for one in result[member]]

    assert "lab_status" in await names("resources/list", "resources")
    assert {"lab_note", "lab_file"} <= set(await names("resources/templates/list", "resourceTemplates"))
    assert "lab_report" in await names("prompts/list", "prompts")


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_reading_in_every_revision(node: Node, people: People, revision: str) -> None:
    (content,) = (await read(node, people.admin, NOTE, revision)).result["contents"]
    assert content == {"uri": NOTE, "mimeType": "text/markdown", "text": "# ada: 7"}
    (content,) = (await read(node, people.admin, "lab://a%2Fb/notes/8", revision)).result["contents"]
    assert content["text"] == "# a/b: 8"
    (content,) = (await read(node, people.admin, "resource://lab/files/a/b%20c", revision)).result["contents"]
    assert content["blob"] == "YS9iIGM="
    message = (await get(node, people.admin, "lab_report", {"severity": "low"}, revision)).result["messages"][0]
    assert message == {"role": "user", "content": {"type": "text", "text": "Report: low, all"}}


@on_shared_product
async def test_the_capabilities_say_so(node: Node, people: People) -> None:
    handshake = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    capabilities = (await node.post(people.admin.token, "initialize", handshake)).result["capabilities"]
    assert {"resources", "prompts", "completions"} <= capabilities.keys()
    discovered = (await node.post(people.admin.token, "server/discover", revision=MODERN)).result["capabilities"]
    assert {"resources", "prompts", "completions"} <= discovered.keys()


@on_shared_product
@pytest.mark.parametrize("revision", [NEWEST, MODERN])
async def test_what_is_hidden_is_as_if_made_up(node: Node, people: People, revision: str) -> None:
    for uri in (NOTE, "resource://lab/status", "resource://lab/files/x"):
        hidden = await read(node, people.reader, uri, revision)
        made_up = await read(node, people.reader, uri.replace("lab", "lob"), revision)
        assert hidden.comparable[0] == made_up.comparable[0]
        assert hidden.body.replace(b"lab", b"lob") == made_up.body
        assert error_of(hidden)["code"] == (-32602 if revision == MODERN else -32002)
    hidden, made_up = [await get(node, people.reader, name, None, revision) for name in ("lab_report", "lob_report")]
    assert hidden.comparable == made_up.comparable
    for method, member in (
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ):
        assert b"lab" not in (await node.post(people.reader.token, method, revision=revision)).body, member


@on_shared_product
async def test_completion(node: Node, people: People) -> None:
    template = {"type": "ref/resource", "uri": "resource://lab/{owner}/notes/{number}"}
    result = (await complete(node, people.admin, template, {"name": "owner", "value": "a"})).result["completion"]
    assert (len(result["values"]), result["total"], result["hasMore"]) == (100, 120, True)
    assert result["values"][0] == "a000"
    prompt = {"type": "ref/prompt", "name": "lab_report"}
    result = (await complete(node, people.admin, prompt, {"name": "severity", "value": "H"})).result["completion"]
    assert result == {"values": ["high"], "total": 1, "hasMore": False}
    result = (await complete(node, people.admin, prompt, {"name": "topic", "value": "x"})).result["completion"]
    assert result["values"] == []
    hidden = await complete(node, people.reader, template, {"name": "owner", "value": "a"})
    made_up = await complete(node, people.reader, {**template, "uri": "resource://x/{y}"}, {"name": "y", "value": ""})
    assert hidden.comparable == made_up.comparable


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        (None, "uri must be"),
        (7, "uri must be"),
        ("", "uri must be"),
        ("x" * 2_049, "at most 2048 bytes"),
        ("resource://lab/ada/notes/seven", "not found"),
        ("resource://lab/ada/notes/99999999999999999999", "not found"),
        ("resource://lab/%ff/notes/1", "not found"),
        ("resource://lab/a/b/notes/1", "not found"),
        ("resource://lab//notes/1", "not found"),
        ("resource://lab/ada/notes/1?x=1", "not found"),
        ("resource://lab/ada/notes/1#x", "not found"),
        ("resource://lab/ada/notes/1001", "number"),
        ("resource://lab/ada/notes/404", "there is no such note; look at the status"),
        ("resource://lab/ada/notes/500", "failed inside MCPist"),
    ],
)
@on_shared_product
async def test_what_cannot_be_read(node: Node, people: People, uri: Any, text: str) -> None:
    answer = await read(node, people.admin, uri)
    assert text.lower() in error_of(answer)["message"].lower()
    assert b"secret" not in answer.body


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("lab_report", {}, "severity is missing"),
        ("lab_report", {"severity": "low", "more": "x"}, "unknown"),
        ("lab_report", {"severity": "medium"}, "severity"),
        ("lab_report", {"severity": 1}, "severity must be a text"),
        ("lab_report", {"severity": "low", "topic": "x" * 10_001}, "at most 10000"),
        ("lab_report", "low", "must be an object"),
        ("x" * 201, {}, "name must be"),
    ],
)
@on_shared_product
async def test_what_cannot_be_filled_in(node: Node, people: People, name: str, arguments: Any, text: str) -> None:
    assert text in error_of(await get(node, people.admin, name, arguments))["message"]


async def test_every_read_is_audited(node: Node, product: Product, people: People) -> None:
    await read(node, people.admin, NOTE)
    await get(node, people.admin, "lab_report", {"severity": "low"})
    note = {"type": "ref/resource", "uri": "resource://lab/{owner}/notes/{number}"}
    await complete(node, people.admin, note, {"name": "owner", "value": "a"})
    await get(node, people.admin, "lab_report", {"severity": "none"})
    await read(node, people.reader, NOTE)
    await get(node, people.reader, "lab_report")
    await complete(node, people.reader, note, {"name": "owner", "value": "a"})
    calls = await product.events(people.acme, AuditEventKind.CALL_INTENT, AuditEventKind.CALL_OUTCOME)
    intents = [one for one in calls if one.kind == AuditEventKind.CALL_INTENT]
    assert [(one.module, one.tool, one.detail) for one in intents] == [
        ("lab", "note", {"operation": "resources/read"}),
        ("lab", "lab_report", {"operation": "prompts/get"}),
        ("lab", "note", {"operation": "completion/complete"}),
        ("lab", "lab_report", {"operation": "prompts/get"}),
    ]
    outcomes = [one for one in calls if one.kind == AuditEventKind.CALL_OUTCOME]
    assert [(one.outcome, one.detail) for one in outcomes][3] == ("error", {"refused": "arguments"})
    assert len(outcomes) == 4
    denied = await product.events(people.acme, AuditEventKind.DENIED)
    assert [(one.module, one.tool) for one in denied] == [
        ("resource", NOTE),
        ("prompt", "lab_report"),
        ("resource", note["uri"]),
    ]
    assert await product.events(people.globex, AuditEventKind.CALL_INTENT, AuditEventKind.DENIED) == []


@on_shared_product
@pytest.mark.parametrize("cursor", ["x", "AAAA", "=", "Ä", "x" * 500, ""])
@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list"])
async def test_a_wrong_cursor(node: Node, people: People, method: str, cursor: str) -> None:
    answer = await node.post(people.admin.token, method, {"cursor": cursor})
    assert error_of(answer)["code"] == -32602
