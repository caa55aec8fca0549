"""The API reference at /docs: of every operation, for whoever is signed in, searchable, without a script."""

import json
import re
import shlex
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from broker.identity.settings import IdentitySettings
from broker.web.api_reference import OperationEntry, build_reference, search_reference
from broker.web.api_reference_pages import build_api_reference_routes
from broker.web.app import build_identity_app
from broker.web.web_dependencies import build_web_dependencies
from core.config.settings import Settings
from core.secret import Secret
from tests.broker.identity.people import People, people_on
from tests.support.postgres import ScratchDatabase
from tools.openapi_document import build_openapi_document

URL = "https://mcpist.test"
DOCUMENT = build_openapi_document()
GROUPS = build_reference(DOCUMENT, URL)
OPERATIONS = [operation for group in GROUPS for operation in group.operations]


def find(method: str, path: str) -> OperationEntry:
    (found,) = [one for one in OPERATIONS if (one.method, one.path) == (method, f"/api/v1{path}")]
    return found


def test_every_operation_is_there_once() -> None:
    documented = {(method.upper(), path) for path, there in DOCUMENT["paths"].items() for method in there}
    assert {(one.method, one.path) for one in OPERATIONS} == documented
    assert len({one.id for one in OPERATIONS}) == len(OPERATIONS) == len(documented)
    assert all(one.summary and one.status for one in OPERATIONS)


def test_what_is_said_of_one() -> None:
    made = find("POST", "/tokens")
    assert (made.required_role, made.recent_sign_in, made.status) == ("user", True, "201")
    fields = {field.name: field for field in made.body}
    assert (fields["name"].required, fields["expires_at"].required) == (True, False)
    assert fields["expires_at"].type == "date-time | null"
    assert fields["scopes"].type.startswith("list of ")
    assert '"mcp:read"' in fields["scopes"].type
    assert {"id", "token"} <= {field.name for field in made.answer}
    page = {field.name for field in find("GET", "/users").answer}
    assert {"items", "items[].email", "next_cursor"} <= {name.replace("items.[]", "items[]") for name in page}
    assert ("limit", "integer, query") in [(one.name, one.type) for one in find("GET", "/users").parameters]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
def test_the_example_is_a_command_with_what_is_required(operation: OperationEntry) -> None:
    words = shlex.split(operation.example.replace("\\\n", " "))
    assert words[0] == "curl"
    assert URL + operation.path in words
    assert (words[words.index("-X") + 1] if "-X" in words else "GET") == operation.method
    required = {field.name for field in operation.body if field.required and "." not in field.name}
    if "-d" in words:
        body = json.loads(words[words.index("-d") + 1])
        assert required <= set(body) if isinstance(body, dict) else not required
    else:
        assert not operation.body


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("role-mappings", {("GET", "/role-mappings"), ("POST", "/role-mappings")}),
        ("SCIM token create", {("POST", "/scim-tokens")}),
        ("idempotency-key tokens", {("POST", "/tokens")}),
        ("nothing of this kind", set()),
    ],
)
def test_a_search_finds_paths_words_and_fields(query: str, found: set[tuple[str, str]]) -> None:
    groups = search_reference(GROUPS, query)
    hits = {(one.method, one.path.removeprefix("/api/v1")) for group in groups for one in group.operations}
    assert found <= hits
    assert bool(found) == bool(hits)
    assert all(group.operations for group in groups)


def test_an_empty_search_finds_everything_and_a_long_one_costs_nothing() -> None:
    assert search_reference(GROUPS, "  ") == GROUPS
    assert search_reference(GROUPS, "zzq " * 1_000_000) == ()


@pytest.fixture
async def people(database: ScratchDatabase) -> AsyncIterator[People]:
    async with people_on(database) as made:
        yield made


async def browser_of(people: People, *, signed_in: bool) -> httpx2.AsyncClient:
    async def fetch_document() -> Mapping[str, Any]:
        return DOCUMENT

    parts = build_web_dependencies(Settings(home=Path("/nowhere"), public_url=URL), IdentitySettings(), people.clock)
    app = build_identity_app(parts, build_api_reference_routes(parts, people.sessions, fetch_document))
    headers: dict[str, str] = {}
    if signed_in:
        tenant = await people.tenant("acme")
        session: Secret = await people.sessions.begin(tenant, await people.user(tenant, "ada@acme.test"), "test")
        headers["Cookie"] = f"__Host-mcpist-session={session.reveal()}"
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=URL, headers=headers)


async def test_a_stranger_is_sent_to_the_sign_in(people: People) -> None:
    async with await browser_of(people, signed_in=False) as browser:
        answer = await browser.get("/docs?q=tokens")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fdocs")


async def test_the_page_holds_everything_and_asks_for_nothing_else(people: People) -> None:
    async with await browser_of(people, signed_in=True) as browser:
        page = await browser.get("/docs")
        japanese = await browser.get("/docs", headers={"Accept-Language": "ja"})
    assert page.status_code == 200
    assert all(f"{one.method} {one.path}" in page.text for one in OPERATIONS)
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script|<iframe|<img|\son\w+=|\sstyle=|\ssrc=", page.text)
    links = set(re.findall(r'href="([^"]*)"', page.text))
    assert all(link.startswith(("#", "/", "data:")) for link in links)
    assert "リファレンス" in japanese.text


async def test_a_search_by_the_address_and_attack_strings_in_it(people: People) -> None:
    async with await browser_of(people, signed_in=True) as browser:
        found = await browser.get("/docs", params={"q": "scim-tokens"})
        hostile = await browser.get("/docs", params={"q": '"><script>alert(1)</script>'})
        long = await browser.get("/docs", params={"q": "x" * 5_000})
    assert "/api/v1/scim-tokens" in found.text
    assert "/api/v1/allow-list" not in found.text
    assert "<script" not in hostile.text
    assert (hostile.status_code, long.status_code) == (200, 200)
