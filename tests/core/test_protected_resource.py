"""The metadata of /mcp (RFC 9728), and the words in which a client is told to step up."""

from typing import Any
from uuid import uuid4

import orjson
import pytest

from core.caller import Caller, Credential
from core.permissions import Policy
from core.protected_resource import (
    METADATA_PATHS,
    ProtectedResourceMetadata,
    build_metadata_url,
    build_resource_identifier,
    is_resource_form,
)
from gateway.auth.tool_scopes import require_scope
from gateway.catalogue import CatalogueTool, build_catalogue, load_installed_modules
from gateway.mcp.errors import InsufficientScope

PUBLIC = "https://mcp.example.com:8443"


async def asked(method: str, path: str = METADATA_PATHS[1]) -> tuple[int, dict[str, str], bytes]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await ProtectedResourceMetadata(PUBLIC, PUBLIC)({"type": "http", "method": method, "path": path}, None, send)
    start, body = sent
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, body["body"]


async def test_what_it_says() -> None:
    status, headers, body = await asked("GET")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert int(headers["content-length"]) == len(body)
    assert orjson.loads(body) == {
        "resource": "https://mcp.example.com:8443/mcp",
        "authorization_servers": ["https://mcp.example.com:8443"],
        "scopes_supported": ["mcp:read", "mcp:write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "MCPist at mcp.example.com:8443",
    }
    assert orjson.loads(body)["resource"] == build_resource_identifier(PUBLIC)


async def test_another_form_is_named_as_the_client_wrote_it() -> None:
    """A client compares the resource with its own URL, text by text (RFC 9728 §3.3)."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    below = METADATA_PATHS[1] + "/plain/a"
    scope = {"type": "http", "method": "GET", "path": below + ",b", "raw_path": f"{below}%2Cb".encode()}
    await ProtectedResourceMetadata(PUBLIC, PUBLIC)(scope, None, send)
    assert orjson.loads(sent[1]["body"])["resource"] == PUBLIC + "/mcp/plain/a%2Cb"


@pytest.mark.parametrize(
    ("rest", "is_form"),
    [
        ("", True),
        ("/plain", True),
        ("/plain/github,notion", True),
        ("?view=plain&modules=github", True),
        ("/both/github?tools=jira.search_issues", True),
        ("/", False),
        ("plain", False),
        ("/simple", False),
        ("/plain/GitHub", False),
        ("?x=1", False),
        ("?view=simple", False),
        ("#x", False),
        ("/plain#x", False),
        ("/plain?", False),
    ],
)
def test_forms_of_the_resource(rest: str, is_form: bool) -> None:
    assert is_resource_form(rest) is is_form


def test_where_it_is() -> None:
    """RFC 9728 §3.1: the resource's path goes behind the well-known one."""
    assert build_metadata_url(PUBLIC) == "https://mcp.example.com:8443/.well-known/oauth-protected-resource/mcp"
    assert METADATA_PATHS == ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
async def test_every_page_may_read_it(method: str) -> None:
    status, headers, body = await asked(method)
    assert status == {"GET": 200, "HEAD": 200, "OPTIONS": 204, "POST": 405}[method]
    assert headers["access-control-allow-origin"] == "*"
    assert "mcp-protocol-version" in headers["access-control-allow-headers"]
    assert bool(body) == (method in ("GET", "POST"))
    if method == "HEAD":
        assert int(headers["content-length"]) > 0


def tool(read_only: bool) -> CatalogueTool:
    tools = build_catalogue(load_installed_modules().modules).tools["knowledge_graph"]
    return next(one for one in tools if one.tool.hints.read_only is read_only)


def caller(*scopes: str) -> Caller:
    credential = Credential("c", "oauth", uuid4(), uuid4(), frozenset(scopes))
    return Caller(credential, "ada@example.test", "user", Policy((), frozenset()))


@pytest.mark.parametrize(
    ("scopes", "read_only", "operation", "wanted"),
    [
        ((), True, (), "mcp:read"),
        ((), False, (), "mcp:write"),
        (("mcp:read",), False, (), "mcp:write"),
        (("admin:write",), True, (), "mcp:read"),
        ((), True, ("mcp:read", "mcp:write"), "mcp:read mcp:write"),
        (("mcp:read",), True, (), ""),
        (("mcp:write",), True, (), ""),
        (("mcp:write",), False, (), ""),
    ],
)
def test_what_a_tool_needs(scopes: tuple[str, ...], read_only: bool, operation: tuple[str, ...], wanted: str) -> None:
    if not wanted:
        require_scope(caller(*scopes), tool(read_only))
        return
    with pytest.raises(InsufficientScope) as refused:
        require_scope(caller(*scopes), tool(read_only), frozenset(operation))
    assert f'error="insufficient_scope", scope="{wanted}"' in refused.value.challenge
    assert "error_description=" in refused.value.challenge
