"""Paths that do not exist, over HTTP: programs read JSON with the way out, browsers a page; nobody a wrong reason."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from admin_ui.console_files import is_console_built
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import product_on

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Sec-Fetch-Mode": "navigate"}
PROGRAMS = ({}, {"Accept": "*/*"}, {"Accept": "application/json"}, {"Accept": "application/json, text/event-stream"})
UNKNOWN = ("/nowhere", "/mcp/", "/sse", "/token", "/.well-known/nothing", "/.well-known/oauth-protected-resource/x")
REGISTRATION = {"redirect_uris": ["http://127.0.0.1/callback"], "client_name": "Agent"}


@pytest.fixture(params=[False, True], ids=["registration off", "registration on"])
async def identity(
    request: pytest.FixtureRequest, database: ScratchDatabase, tmp_path: Path
) -> AsyncIterator[Identity]:
    server = {"dynamic_registration": request.param}
    async with (
        product_on(database, tmp_path / "home") as product,
        identity_on(product, providers=False, server=server) as running,
    ):
        yield running


@pytest.fixture
async def http(identity: Identity) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=identity.url) as client:
        client.headers.pop("Accept")
        yield client


def registers(identity: Identity) -> bool:
    return identity.zone.identity.authorization_server.dynamic_registration


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_a_program_reads_json_that_names_the_endpoint(
    identity: Identity, http: httpx2.AsyncClient, method: str
) -> None:
    for path in UNKNOWN:
        for headers in (*PROGRAMS, {"Origin": "https://evil.example"}, {"Origin": identity.url}):
            answer = await http.request(method, path, headers=headers)
            assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json"), (path, headers)
            told = answer.json()
            assert told["error"] == "not_found"
            assert f"{identity.url}/mcp" in told["error_description"]


async def test_a_browser_reads_a_page(http: httpx2.AsyncClient) -> None:
    for method in ("GET", "POST"):
        answer = await http.request(method, "/nowhere", headers=BROWSER)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "There is nothing here" in answer.text
        assert "another site" not in answer.text


async def test_an_answer_for_programs_varies_with_accept(http: httpx2.AsyncClient) -> None:
    for headers in (BROWSER, {}):
        assert "accept" in (await http.get("/nowhere", headers=headers)).headers["vary"].lower()


@pytest.mark.parametrize("path", ["/register", "/oauth/register"])
async def test_who_may_not_register_reads_how_to_be_registered(
    identity: Identity, http: httpx2.AsyncClient, path: str
) -> None:
    """MCP's client SDKs POST to /register where the metadata names no registration endpoint."""
    for headers in (*PROGRAMS, BROWSER, {"Origin": "https://web-client.example"}):
        answer = await http.post(path, json=REGISTRATION, headers=headers)
        if registers(identity) and path == "/oauth/register":
            assert answer.status_code == 201
            continue
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["access-control-allow-origin"] == "*"
        told = answer.json()
        if registers(identity):
            assert (answer.status_code, told["error"]) == (404, "invalid_request")
            assert f"{identity.url}/oauth/register" in told["error_description"]
        else:
            assert (answer.status_code, told["error"]) == (403, "access_denied")
            assert "administrator" in told["error_description"]
            assert "mcpist client add" in told["error_description"]


async def test_a_path_that_exists_still_refuses_other_sites(http: httpx2.AsyncClient) -> None:
    for headers in ({}, {"Origin": "https://evil.example"}):
        answer = await http.post("/account/sessions/end", data={"id": "x"}, headers={**headers, **BROWSER})
        assert (answer.status_code, "came from another site" in answer.text) == (403, True)


async def test_the_first_address_that_a_person_types_leads_to_their_page(
    identity: Identity, http: httpx2.AsyncClient
) -> None:
    tenants = [await identity.product.tenant(slug) for slug in ("acme", "umbrella")]
    ada, bob = [await identity.product.person(tenant, f"ada@{tenant.slug}.test") for tenant in tenants]
    first = await http.get("/", headers=BROWSER)
    home = "/console" if is_console_built() else "/account"
    assert (first.status_code, first.headers["location"]) == (303, home)
    signing_in = await http.get("/account", headers=BROWSER, follow_redirects=True)
    assert (signing_in.status_code, "Sign in" in signing_in.text) == (200, True)
    assert signing_in.url.params["next"] == "/account"
    for person in (ada, bob):
        headers = {**BROWSER, "Cookie": await identity.session(person)}
        way = await http.get("/", headers=headers)
        assert way.headers["location"] == home
        page = await http.get("/account", headers=headers)
        assert (page.status_code, page.url.path, person.email in page.text) == (200, "/account", True)


async def test_a_client_that_left_out_the_path_reads_where_the_endpoint_is(
    identity: Identity, http: httpx2.AsyncClient
) -> None:
    for method in ("GET", "POST", "DELETE"):
        for headers in PROGRAMS:
            answer = await http.request(method, "/", headers=headers)
            assert (answer.status_code, f"{identity.url}/mcp" in answer.json()["error_description"]) == (404, True)
