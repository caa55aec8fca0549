"""Cursor and ChatGPT, which nobody can run here: doubles that send what their documentation says they send.

Cursor: its configuration and redirect URI by cursor.com/docs/mcp; the requests of its start, in order, by a trace of
one (articles.mcpruntime.org/mcp/request-flow). ChatGPT: developers.openai.com/apps-sdk/build/auth (discovery, one of
registration and predefined client, PKCE with S256, `resource` in both requests) and its redirect URI
https://chatgpt.com/connector/oauth/…, which every app has its own of.
"""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from tests.clients.browser_person import BrowserPerson
from tests.clients.deployment import ClientsDeployment, signed_in
from tests.clients.story import META_TOOLS
from tests.support.running_product import command

UI = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
PLAIN = "/plain/knowledge_graph"


@dataclass(frozen=True, slots=True)
class Documented:
    """What is documented of a client."""

    name: str
    redirect: str
    client_info: dict[str, str]
    capabilities: dict[str, Any]
    at_start: tuple[str, ...]


CURSOR = Documented(
    "Cursor",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    {"name": "cursor-vscode", "version": "1.0.0"},
    {"elicitation": {"form": {}}, "roots": {"listChanged": False}, "extensions": UI},
    ("resources/list", "tools/list", "resources/list", "prompts/list"),
)
CHATGPT = Documented(
    "ChatGPT",
    "https://chatgpt.com/connector/oauth/k3Yd0Zs6n1Qw",
    {"name": "openai-mcp", "version": "1.0.0"},
    {},
    ("tools/list",),
)
CLIENTS = (CURSOR, CHATGPT)


@dataclass
class Double:
    """One of them before one URL. Every answer has to be what it goes on from."""

    known: Documented
    url: str
    http: httpx2.AsyncClient
    headers: dict[str, str] = field(default_factory=dict[str, str])
    sent: int = 0

    async def discover(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The metadata of the resource and of its authorization server, from the challenge of a 401."""
        refused = await self.http.post(self.url, json=self._message("initialize", {}), headers=self._accept())
        assert refused.status_code == 401
        challenge = refused.headers["www-authenticate"]
        resource = (await self.http.get(challenge.split('resource_metadata="')[1].split('"')[0])).json()
        issuer = resource["authorization_servers"][0]
        server = (await self.http.get(f"{issuer}/.well-known/oauth-authorization-server")).json()
        assert "S256" in server["code_challenge_methods_supported"], "without it ChatGPT refuses to go on"
        return resource, server

    async def sign_in(self, person: BrowserPerson, client_id: str | None) -> None:
        """By dynamic registration, unless it was given an id."""
        resource, server = await self.discover()
        if client_id is None:
            asked = {
                "client_name": self.known.name,
                "redirect_uris": [self.known.redirect],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
            }
            made = await self.http.post(server["registration_endpoint"], json=asked)
            assert made.status_code == 201, made.text
            client_id = made.json()["client_id"]
        verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": self.known.redirect,
            "scope": " ".join(resource["scopes_supported"]),
            "state": state,
            "resource": resource["resource"],
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        way_back = await person.way_back(f"{server['authorization_endpoint']}?{urlencode(asked)}")
        assert way_back.startswith(self.known.redirect), way_back
        answer = httpx2.URL(way_back).params
        assert answer["state"] == state
        form = {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": self.known.redirect,
            "client_id": client_id,
            "code_verifier": verifier,
            "resource": resource["resource"],
        }
        tokens = await self.http.post(server["token_endpoint"], data=form)
        assert tokens.status_code == 200, tokens.text
        self.headers["Authorization"] = f"Bearer {tokens.json()['access_token']}"

    async def start(self) -> dict[str, list[dict[str, Any]]]:
        """The handshake, and what it lists then."""
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": self.known.capabilities,
            "clientInfo": self.known.client_info,
        }
        begun = await self.ask("initialize", hello)
        self.headers["MCP-Protocol-Version"] = begun["protocolVersion"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await self.http.post(self.url, json=ready, headers=self._accept())).status_code == 202
        listed: dict[str, list[dict[str, Any]]] = {}
        for method in self.known.at_start:
            kind = method.removesuffix("/list")
            listed[kind] = (await self.ask(method, {}))[kind]
        await self.ask("ping", {})
        return listed

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.ask("tools/call", {"name": name, "arguments": arguments})

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer = await self.http.post(self.url, json=self._message(method, params), headers=self._accept())
        assert answer.status_code == 200, (method, answer.text)
        text = answer.text
        if answer.headers["content-type"].startswith("text/event-stream"):
            text = [line for line in text.splitlines() if line.startswith("data:")][-1].removeprefix("data:")
        told = json.loads(text)
        assert "result" in told, (method, told)
        return told["result"]

    def _message(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.sent += 1
        return {"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params}

    def _accept(self) -> dict[str, str]:
        return {"Accept": "application/json, text/event-stream", **self.headers}


async def assert_works(double: Double) -> None:
    """What it lists at its start, a call, and a tool that does not exist."""
    listed = await double.start()
    names = [tool["name"] for tool in listed["tools"]]
    if double.url.endswith(PLAIN):
        assert "kg_search" in names
        assert not set(names) & set(META_TOOLS)
        found = await double.call("kg_search", {"query": "nobody at all"})
    else:
        assert names == META_TOOLS
        read = {"module": "knowledge_graph", "tool_name": "read_graph", "params": {}}
        found = await double.call("call", read)
        refused = await double.call("call", {**read, "tool_name": "no_such_tool"})
        assert refused["isError"]
    assert not found["isError"], found
    if "resources" in listed:  # Cursor subscribes to what it has listed
        uri = next(one["uri"] for one in listed["resources"] if one["uri"].startswith("resource://knowledge_graph/"))
        await double.ask("resources/subscribe", {"uri": uri})
        assert (await double.ask("resources/read", {"uri": uri}))["contents"]


@pytest.mark.parametrize("view", ["", PLAIN])
@pytest.mark.parametrize("known", CLIENTS, ids=lambda known: known.name)
async def test_a_url_is_enough(deployment: ClientsDeployment, known: Documented, view: str) -> None:
    async with signed_in(deployment) as person, httpx2.AsyncClient(trust_env=False, timeout=20) as http:
        double = Double(known, deployment.mcp_url + view, http)
        await double.sign_in(person, None)
        await assert_works(double)


@pytest.mark.parametrize("known", CLIENTS, ids=lambda known: known.name)
async def test_registered_by_hand(deployment: ClientsDeployment, known: Documented) -> None:
    """`CLIENT_ID` of mcp.json, and "predefined OAuth client" at ChatGPT."""
    options = ("client", "add", known.name, "--redirect-uri", known.redirect)
    client_id = (await command(deployment.home, deployment.port, *options))["client_id"]
    async with signed_in(deployment) as person, httpx2.AsyncClient(trust_env=False, timeout=20) as http:
        double = Double(known, deployment.mcp_url, http)
        await double.sign_in(person, client_id)
        await assert_works(double)


async def test_cursor_with_a_header(deployment: ClientsDeployment) -> None:
    """`headers` of mcp.json."""
    token = (await command(deployment.home, deployment.port, "token", "create", "--name", "Cursor"))["token"]
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as http:
        await assert_works(Double(CURSOR, deployment.mcp_url, http, {"Authorization": f"Bearer {token}"}))
