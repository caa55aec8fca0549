"""Attacks on resources, prompts and completions: what is hidden answers as what is made up, odd URIs and large
arguments are refused in linear time."""

import time
from typing import Any

import pytest

from core.audit.event import AuditEventKind
from gateway.uri_templates import MAX_URI_LENGTH, parse_uri_template
from tests.linear.growth import worst
from tests.linear.patterns import Use
from tests.path.conftest import People, on_shared_product
from tests.support.mcp_client import MODERN, NEWEST, REVISIONS, Answer
from tests.support.product import Node, Person, Product
from tests.support.toy_modules import Lab

TEMPLATE = "resource://lab/{owner}/notes/{number}"
MANY = 4 << 20


def read(uri: Any) -> tuple[str, Any]:
    return "resources/read", {"uri": uri}


def get(name: Any, arguments: Any = None) -> tuple[str, Any]:
    return "prompts/get", {"name": name, "arguments": arguments or {}}


def complete(kind: str, name: Any, argument: Any = "owner", value: Any = "a") -> tuple[str, Any]:
    ref = {"type": kind, "name" if kind == "ref/prompt" else "uri": name}
    return "completion/complete", {"ref": ref, "argument": {"name": argument, "value": value}}


def call(name: str) -> tuple[str, Any]:
    arguments = {"module": "lab", "tool_name": name, "params": {"owner": "ada", "number": 7}}
    return "tools/call", {"name": "call", "arguments": arguments}


async def ask(node: Node, person: Person, request: tuple[str, Any], revision: str = NEWEST) -> Answer:
    return await node.post(person.token, *request, revision=revision)


def told(answer: Answer) -> tuple[int, int, str]:
    """Status, code and text of an error; its data repeats what was asked for."""
    error = answer.message["error"]
    return answer.status, error["code"], error["message"]


HIDDEN = {
    "template": (read("resource://lab/ada/notes/7"), read("resource://lob/ada/notes/7")),
    "second form": (read("lab://ada/notes/7"), read("lob://ada/notes/7")),
    "without variables": (read("resource://lab/status"), read("resource://lob/status")),
    "wrong variable": (read("resource://lab/ada/notes/x"), read("resource://lob/ada/notes/x")),
    "prompt": (get("lab_report", {"severity": "low"}), get("lob_report", {"severity": "low"})),
    "prompt, wrong arguments": (get("lab_report", {"x": "y"}), get("lob_report", {"x": "y"})),
    "completion of a template": (complete("ref/resource", TEMPLATE), complete("ref/resource", "lab://{x}")),
    "completion of a URI": (complete("ref/resource", "resource://lab/status"), complete("ref/resource", "lab://x")),
    "completion of a prompt": (complete("ref/prompt", "lab_report", "severity"), complete("ref/prompt", "x")),
    "subscription": (
        ("resources/subscribe", {"uri": "resource://lab/status"}),
        ("resources/subscribe", {"uri": "resource://lob/status"}),
    ),
}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("what", HIDDEN)
@on_shared_product
async def test_what_is_hidden_answers_as_what_is_made_up(
    node: Node, people: People, lab: Lab, what: str, revision: str
) -> None:
    hidden, made_up = [await ask(node, people.reader, one, revision) for one in HIDDEN[what]]
    assert told(hidden) == told(made_up)
    assert len(hidden.body) == len(made_up.body) or what in ("completion of a template", "completion of a URI")
    assert lab.effects == []


@on_shared_product
async def test_a_service_that_is_off_is_as_if_made_up(node: Node, product: Product, people: People) -> None:
    other = await product.tenant("without-lab", services=["knowledge_graph"])
    admin = await product.person(other, "all@mail.test", allow=["*"])
    for hidden, made_up in HIDDEN.values():
        assert told(await ask(node, admin, hidden)) == told(await ask(node, admin, made_up))
    assert b"lab" not in (await ask(node, admin, ("resources/templates/list", {}))).body
    denied = await product.events(other, AuditEventKind.DENIED)
    assert {one.user_id for one in denied} == {admin.id}
    assert ("resource", "resource://lab/ada/notes/7") in {(one.module, one.tool) for one in denied}


@on_shared_product
async def test_a_resource_is_no_tool(node: Node, people: People) -> None:
    """What reads a resource cannot be called by the name of its permission, not even where it is permitted."""
    for name in ("note", "status", "lab_report"):
        answer = await ask(node, people.admin, call(name))
        assert answer.failed
        assert answer.text == (await ask(node, people.admin, call("made_up"))).text


@pytest.mark.parametrize(
    "uri",
    [
        "resource://lab/%00/notes/1",
        "resource://lab/a%0d%0aSet-Cookie:x/notes/1",
        "resource://lab/a%7f/notes/1",
        "resource://lab/%c2%85/notes/1",
        "resource://lab/%ff%fe/notes/1",
        "resource://lab/%ed%a0%80/notes/1",
        "resource://lab/\x00/notes/1",
        "resource://lab/a b/notes/1",
        "resource://lab/\x7f/notes/1",
        "resource://lab/../notes/1",
        "resource://lab/%2e%2E/notes/1",
        "resource://lab/x%2f../notes/1",
        "resource://lab/files/../../etc/passwd",
        "resource://lab/files/a/%2e%2e/b",
        "resource://lab/files/a%5c..%5cb",
        "resource://lab/files/.",
        "RESOURCE://lab/status",
        "resource://lab/status\n",
        "resource://lab/status/",
        "resource://lab/statuſ",
        " resource://lab/status",
        "resource:/lab/status",
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        "resource://lab/ada/notes/７",
        "resource://lab/ada/notes/-1",
        "resource://lab/ada/notes/1e3",
        "resource://lab/files/" + "あ" * 700,
    ],
)
@on_shared_product
async def test_odd_uris_are_not_found(node: Node, people: People, lab: Lab, uri: str) -> None:
    for revision, code in ((NEWEST, -32002), ("2024-11-05", -32002)):
        answer = await ask(node, people.admin, read(uri), revision)
        is_long = len(uri.encode()) > MAX_URI_LENGTH
        assert answer.message["error"]["code"] == (-32602 if is_long else code)
    assert lab.effects == []


@on_shared_product
async def test_names_in_any_script_are_read(node: Node, people: People) -> None:
    for uri in ("resource://lab/日本語/notes/1", "resource://lab/%E6%97%A5%E6%9C%AC%E8%AA%9E/notes/1"):
        (content,) = (await ask(node, people.admin, read(uri))).result["contents"]
        assert (content["uri"], content["text"]) == (uri, "# 日本語: 1")
    assert (await ask(node, people.admin, read("resource://lab/..a/notes/1"))).result["contents"]


@on_shared_product
async def test_wrong_arguments_have_one_code_everywhere(node: Node, people: People) -> None:
    for request in (read("resource://lab/ada/notes/1001"), get("lab_report", {"severity": "medium"})):
        for revision in (NEWEST, MODERN):
            assert told(await ask(node, people.admin, request, revision))[1] == -32602


def large_requests() -> list[tuple[str, Any]]:
    text = "resource://lab/" * (MANY // 15)
    typed = {"ref": {"type": "ref/prompt", "name": "lab_report"}, "argument": {"name": "topic", "value": ""}}
    return [
        read(text),
        get(text),
        get("lab_report", {"severity": text}),
        get("lab_report", {text: "low"}),
        get("lab_report", {f"{number:x}": "" for number in range(90_000)}),
        complete("ref/resource", text),
        complete("ref/resource", TEMPLATE, text),
        complete("ref/resource", TEMPLATE, "owner", text),
        *(("completion/complete", typed | {"context": {"arguments": known}}) for known in ({text: "x"}, {"x": text})),
        ("resources/list", {"cursor": text}),
        ("prompts/list", {"cursor": text}),
    ]


@on_shared_product
async def test_four_megabytes_are_refused_at_once(node: Node, people: People, lab: Lab) -> None:
    """The answer repeats none of it, and takes what parsing takes: a walk over the text for each of its parts would
    take minutes."""
    for request in large_requests():
        begun = time.process_time()
        answer = await ask(node, people.admin, request)
        assert time.process_time() - begun < 5
        assert answer.message["error"]["code"] in (-32602, -32600), answer.body
        assert len(answer.body) < 1_000
    assert lab.effects == []


@pytest.mark.parametrize(
    "template",
    [TEMPLATE, "lab://{owner}/notes/{number}", "resource://lab/files/{+path}", "lab://{a}/{b}/{c}/{d}/{+e}"],
)
def test_matching_a_uri_takes_linear_time(template: str) -> None:
    pattern = parse_uri_template(template)._pattern
    found = worst(Use("gateway/uri_templates.py", 1, template, "python", pattern, frozenset({"fullmatch"})), 4)
    assert found.is_linear, found


@on_shared_product
async def test_patterned_uris_of_two_kilobytes(node: Node, people: People) -> None:
    for unit in ("/notes/", "%2f", "%", "/", "a/", "..", "%25", "{owner}"):
        uri = "resource://lab/" + unit * ((MAX_URI_LENGTH - 15) // len(unit))
        begun = time.process_time()
        assert "error" in (await ask(node, people.admin, read(uri))).message
        assert time.process_time() - begun < 1
