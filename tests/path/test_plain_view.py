"""The plain view: permitted tools as tools of their own, by the same sieve, runner, limits and audit as `call`."""

import re
from typing import Any

import orjson
import pytest

from core.audit.event import AuditEventKind
from core.permissions import Policy, Role
from core.tool_exposure import ToolExposure, View
from gateway.plain_view.plain_tools import PlainTools
from gateway.sieve.sieve import Sieve
from server.tool_catalogue import InstalledToolCatalogue
from tests.gateway.plain_view.hostile_tools import HIDDEN, build_hostile_catalogue
from tests.path.conftest import People, on_shared_product
from tests.support.mcp_client import LEGACY, MODERN, NEWEST, REVISIONS, Answer, bearer, envelope, headers_for
from tests.support.product import Node, Person, Product
from tests.support.provider_rules import list_breaches

META = ["get_module_schema", "call", "batch"]
LAB = [f"lab_{name}" for name in ("add", "big", "crash", "fail", "look", "wait", "write")]


async def post(node: Node, person: Person, url: str, method: str, params: Any = None, revision: str = NEWEST) -> Answer:
    return await node.post(person.token, method, params, revision=revision, url=url)


async def list_tools(node: Node, person: Person, url: str, revision: str = NEWEST) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    page: dict[str, Any] = {"nextCursor": None}
    while "nextCursor" in page:
        params = {} if page["nextCursor"] is None else {"cursor": page["nextCursor"]}
        page = (await post(node, person, url, "tools/list", params, revision)).result
        tools += page["tools"]
    return tools


async def list_names(node: Node, person: Person, url: str, revision: str = NEWEST) -> list[str]:
    return [tool["name"] for tool in await list_tools(node, person, url, revision)]


async def run(node: Node, person: Person, url: str, name: str, arguments: Any, revision: str = NEWEST) -> Answer:
    return await post(node, person, url, "tools/call", {"name": name, "arguments": arguments}, revision)


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "url", ["/mcp?view=plain&modules=lab", "/mcp?modules=lab", "/mcp/plain/lab", "/mcp/plain/lab/"]
)
async def test_the_tools_of_a_module(node: Node, people: People, url: str, revision: str) -> None:
    names = await list_names(node, people.admin, url, revision)
    assert [name for name in names if name.startswith("lab_")] == LAB
    assert not set(META) & set(names)
    answer = await run(node, people.admin, url, "lab_look", {"at": "月"}, revision)
    assert answer.value == {"said": "月"}


@on_shared_product
async def test_other_exposures(node: Node, people: People) -> None:
    admin = people.admin
    assert await list_names(node, admin, "/mcp") == await list_names(node, admin, "/mcp?view=meta") == META
    assert await list_names(node, admin, "/mcp/meta") == META
    assert await list_names(node, admin, "/mcp?view=both&tools=lab.look,lab.add") == [*META, "lab_add", "lab_look"]
    assert await list_names(node, admin, "/mcp/both/lab") == [*META, *LAB]
    whole = await list_names(node, admin, "/mcp/plain")
    assert {"kg_search", "lab_look"} <= set(whole)
    assert len(whole) == len(set(whole))
    answer = await run(node, admin, "/mcp/both/lab", "call", {"module": "lab", "tool_name": "look"})
    assert answer.value == {"said": ""}
    answer = await run(node, admin, "/mcp?view=both&tools=lab.look", "lab_look", {"at": "x"})
    assert answer.value == {"said": "x"}


@on_shared_product
async def test_modules_of_a_document_have_its_names(node: Node, people: People) -> None:
    names = await list_names(node, people.admin, "/mcp/plain/memo,rag")
    assert {"search_docs", "search_keyword", "get_doc", "index_doc"} <= set(names)
    assert {"save_memo", "query_memo", "get_memo", "delete_memo", "healthcheck"} <= set(names)
    assert not [name for name in names if name.startswith(("rag_", "memo_"))]
    saved = await run(node, people.admin, "/mcp/plain/memo", "save_memo", {"session_id": "s", "text": "x"})
    assert saved.value["used_summary"] is False
    hidden = await run(node, people.reader, "/mcp/plain/memo", "save_memo", {"session_id": "s", "text": "x"})
    made_up = await run(node, people.reader, "/mcp/plain/memo", "save_mess", {"session_id": "s", "text": "x"})
    assert hidden.comparable == made_up.comparable


@on_shared_product
async def test_a_plain_tool_is_as_call_is(node: Node, people: People) -> None:
    """Results and errors, byte for byte."""
    for name, arguments in (
        ("look", {"at": "x"}),
        ("look", {"att": "x"}),
        ("fail", {}),
        ("big", {"size": "many"}),
    ):
        plain = await run(node, people.admin, "/mcp/plain/lab", f"lab_{name}", arguments)
        called = await node.call(people.admin.token, "lab", name, arguments)
        assert re.sub(rb"reference [0-9a-f-]+", b"", plain.body) == re.sub(rb"reference [0-9a-f-]+", b"", called.body)


@on_shared_product
async def test_a_large_result_can_be_read_on(node: Node, people: People) -> None:
    shown = (await run(node, people.admin, "/mcp/plain/lab", "lab_big", {"size": 100_000})).value
    (handle,) = set(re.findall(r"\"handle\": ?\"([^\"]+)\"", orjson.dumps(shown).decode()))
    rest = await run(node, people.admin, "/mcp/plain/lab", "results_read_result", {"handle": handle, "path": "$.said"})
    assert "xxx" in rest.text


@on_shared_product
@pytest.mark.parametrize("revision", [NEWEST, MODERN])
async def test_what_is_hidden_is_as_if_made_up(node: Node, people: People, revision: str) -> None:
    url = "/mcp/plain/lab,github,nothing"
    names = await list_names(node, people.reader, url, revision)
    assert [name for name in names if not name.startswith(("results_", "jobs_"))] == ["lab_look"]
    hidden = await run(node, people.reader, url, "lab_write", {"text": "x"}, revision)
    made_up = await run(node, people.reader, url, "lab_rites", {"text": "x"}, revision)
    assert hidden.comparable == made_up.comparable
    # permitted, and not in this exposure
    other = await run(node, people.reader, url, "kg_search", {"query": "x"}, revision)
    assert other.comparable == made_up.comparable
    call = await run(node, people.reader, url, "call", {"module": "lab", "tool_name": "look"}, revision)
    assert call.comparable == made_up.comparable


async def test_the_audit_log_is_that_of_calls(node: Node, product: Product, people: People) -> None:
    await run(node, people.admin, "/mcp/plain/lab", "lab_write", {"text": "x"})
    await run(node, people.reader, "/mcp/plain/lab", "lab_write", {"text": "x"})
    (intent,) = await product.events(people.acme, AuditEventKind.CALL_INTENT)
    assert (intent.module, intent.tool) == ("lab", "write")
    await node.call(people.reader.token, "lab", "write", {"text": "x"})
    await run(node, people.reader, "/mcp/plain/lab", "lab_rites", {"text": "x"})
    plain, called, made_up = await product.events(people.acme, AuditEventKind.DENIED)
    assert (plain.module, plain.tool) == ("lab", "write")
    recorded = [(one.module, one.tool, one.digest, one.detail, one.outcome) for one in (plain, called)]
    assert recorded[0] == recorded[1]
    assert (made_up.module, made_up.tool, made_up.digest) == ("tool", "lab_rites", plain.digest)
    assert await product.events(people.globex, AuditEventKind.CALL_INTENT, AuditEventKind.DENIED) == []


@on_shared_product
async def test_each_path_has_metadata_of_its_own(node: Node) -> None:
    """RFC 9728 §3.3: the challenge leads to metadata whose resource is the path that was asked."""
    origin, root = "http://127.0.0.1:8080", "/.well-known/oauth-protected-resource/mcp"
    for path in ("", "/plain", "/plain/lab,github", "/both/lab", "/meta", "/plain/lab/"):
        refused = await node.post(None, "ping", url=f"/mcp{path}")
        assert refused.status == 401
        assert f'resource_metadata="{origin}{root}{path}"' in refused.header("www-authenticate")
        async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
            found = await http.get(f"{root}{path}")
        assert (found.status_code, found.json()["resource"]) == (200, f"{origin}/mcp{path}")


@on_shared_product
async def test_a_view_in_the_query_is_of_the_same_path(node: Node) -> None:
    """Clients ask for metadata by the path alone: a resource should have no query (RFC 9728 §1.2)."""
    refused = await node.post(None, "ping", url="/mcp?view=plain&modules=lab")
    assert 'oauth-protected-resource/mcp"' in refused.header("www-authenticate")


@on_shared_product
@pytest.mark.parametrize("path", ["/simple", "/plain/GitHub", "/plain/a/b", "/plain/" + "a," * 1_001, "/"])
async def test_a_path_that_is_no_form_has_no_metadata(node: Node, path: str) -> None:
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        assert (await http.get(f"/.well-known/oauth-protected-resource/mcp{path}")).status_code == 404


@on_shared_product
@pytest.mark.parametrize(
    ("url", "status", "text"),
    [
        ("/mcp?view=simple", 400, "view is one of meta, plain, both"),
        ("/mcp?modules=GitHub", 400, "modules are names"),
        ("/mcp?tools=search", 400, "tools such as github.search_issues"),
        ("/mcp?modules=" + ",".join(f"m{number}" for number in range(101)), 400, "100 at most"),
        ("/mcp?modules=" + "x" * 2_000, 400, "more than 2000"),
        ("/mcp?view=%ff", 400, "cannot be read"),
        ("/mcp/simple", 404, "write /mcp, or"),
        ("/mcp/plain/lab/more", 400, "modules are names"),
        ("/mcp/plain/%00", 400, "modules are names"),
    ],
)
async def test_a_url_that_cannot_be_understood(node: Node, people: People, url: str, status: int, text: str) -> None:
    head = headers_for(NEWEST, "tools/list") | bearer(people.admin.token)
    answer = await node.send(orjson.dumps(envelope(NEWEST, "tools/list")), head, url=url)
    assert answer.status == status
    assert text in answer.body.decode()


@on_shared_product
@pytest.mark.parametrize("revision", [*LEGACY, MODERN])
async def test_instructions_name_no_tool_that_is_not_there(node: Node, people: People, revision: str) -> None:
    method = "server/discover" if revision == MODERN else "initialize"
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    shown = params if method == "initialize" else None
    plain = (await post(node, people.admin, "/mcp/plain", method, shown, revision)).result["instructions"]
    assert "lab" in plain
    assert not any(name in plain for name in META)
    both = (await post(node, people.admin, "/mcp/both", method, shown, revision)).result["instructions"]
    assert "get_module_schema" in both


@on_shared_product
async def test_providers_take_every_tool(node: Node, people: People) -> None:
    listed = [tool for url in ("/mcp", "/mcp/plain") for tool in await list_tools(node, people.admin, url)]
    some = {"call", "results_read_result", "jobs_get_job", "github_search_issues", "kg_search"}
    assert some <= {tool["name"] for tool in listed}
    assert [breach for tool in listed for breach in list_breaches(tool)] == []


def test_tools_of_others_are_adapted_or_left_out() -> None:
    """In this file, since the providers' SDKs take seconds to import."""
    catalogue = build_hostile_catalogue()
    (tools,) = catalogue.tools.values()
    view = Sieve(catalogue).get_policy_view(Policy((Role("all", allow=frozenset({"*"})),), frozenset({"日本"})))
    shown = PlainTools(catalogue).get_list(view, ToolExposure(View.PLAIN))
    assert len(shown.tools) == len(tools)
    defined = {tool.name: shown.define(name, has_tasks=False) for name, tool in shown.tools.items()}
    left_out = {name for name, definition in defined.items() if definition is None}
    assert left_out == {f"hidden {name}" for name in HIDDEN}
    installed = InstalledToolCatalogue(lambda: catalogue)
    problems = {tool.name: installed.find_plain_view_problem("日本", tool.name) for tool in tools}
    reasons = {f"hidden {name}": reason for name, (_, reason) in HIDDEN.items()}
    assert problems == {tool.name: reasons.get(tool.name, "") for tool in tools}
    assert [breach for one in defined.values() if one is not None for breach in list_breaches(one)] == []
    assert not any(shown.find(name) for name, tool in shown.tools.items() if tool.name in left_out)
