"""Attacks are stored in every text that others see, and every page is visited: nothing runs, leaves or breaks.

The texts of the admin API are those of its OpenAPI document: a new one fails until `attacks.py` says what becomes of
it.
"""

import contextlib
from collections.abc import AsyncIterator
from urllib.parse import quote, urlencode

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from broker.vault.credential_store import CredentialOwner, CredentialStore
from core.directory.services import set_service
from core.secret import Secret
from tests.console.attack_writer import AttackWriter, open_writer
from tests.console.attacks import ATTACKS, FIELDS, MARK, REFUSED, STORED, find_kind, find_text_fields
from tests.console.console_app import LOADING, SHORT_VIEW, VIEWS, ConsoleApp, in_every_view
from tests.console.test_views import PAGES, PAGES_OF_OPERATORS
from tests.support.canary import SUITE
from tests.support.mcp_client import Client
from tests.support.product import ACTOR, Person
from tools.openapi_document import build_openapi_document

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
TEXTS = list(find_text_fields(build_openapi_document()))
SCIM_USER = "urn:ietf:params:scim:schemas:core:2.0:User"
SEARCHES = ("/roles?q=alert", "/services?view=providers&q=alert", "/clients?view=registered&q=alert")
"""What is found there names itself by an attack."""
PAGES_OF_PEOPLE = ("", "/tools", "/profile")
USER_TABS = ("general", "roles", "access", "connections")
ASKED = "/access-requests?all_owners=true&limit=8&state="
PANELS = (
    (
        "admin",
        "/users?q=alert&limit=8",
        "id",
        "/users?id={id}",
        ("general", "roles", "access", "connections", "activity"),
    ),
    ("admin", "/users?q=scim.test&limit=8", "id", "/users?id={id}", ("general", "access")),
    ("admin", "/roles?limit=8", "id", "/roles?id={id}", ("general", "permissions", "accounts")),
    ("admin", f"{ASKED}open", "id", "/requests?id={id}", ("",)),
    (
        "admin",
        f"{ASKED}declined",
        "id",
        "/requests?state=declined&id={id}",
        ("",),
    ),
    ("admin", "/providers?q=alert&limit=8", "id", "/services?view=providers&id={id}", ("",)),
    ("admin", "/oauth/clients?limit=8", "id", "/clients?view=registered&id={id}", ("",)),
    ("admin", "/oauth/issuers?limit=8", "issuer", "/clients?view=issuers&id={id}", ("",)),
    ("operator", "/deployment/identity-providers?limit=8", "id", "/identity?id={id}", ("",)),
    ("operator", "/tenants?limit=8", "id", "/tenants?id={id}", ("",)),
)
"""Who sees it, the list, what names a row of it, its panel, and the panel's tabs."""
INJECTED = """() => [...document.querySelectorAll('main script, main img[src="x"], [onclick], [onerror], [onload]')]
  .map((found) => found.outerHTML.slice(0, 200))
  .concat([...document.links].filter(({href}) => !/^https?:/.test(href)).map(({href}) => href))"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def attacked(app: ConsoleApp) -> AsyncIterator[AttackWriter]:
    """A product with attacks in every text."""
    async with contextlib.AsyncExitStack() as stack:
        writer = await open_writer(app, stack)
        await _provision(writer)
        for text in sorted(TEXTS, key=lambda text: text.operation):  # changes before new things of the same name
            await writer.write(text)
        await _store_accounts(writer)
        await _write_with_a_tool(app, app.user)
        yield writer


async def _provision(writer: AttackWriter) -> None:
    """People and groups as an identity provider sends them."""
    made = (await writer.people["admin"].post("/api/v1/scim-tokens", json={"name": "x"})).raise_for_status().json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    async with httpx2.AsyncClient(base_url=writer.app.identity.url, headers=headers) as scim:
        for name, attack in ATTACKS.items():
            user = {"schemas": [SCIM_USER], "userName": f"{name}@scim.test", "displayName": attack[:200]}
            answer = await scim.post("/scim/v2/Users", json=user)
            assert answer.is_success or name == "direction", (name, answer.text)
            answer = await scim.post("/scim/v2/Groups", json={"displayName": attack[:200]})
            assert answer.status_code < 500, (name, answer.text)


async def _store_accounts(writer: AttackWriter) -> None:
    """Accounts as vendors name them."""
    app = writer.app
    store = CredentialStore(app.identity.zone.database, app.identity.zone.vault, clock=app.identity.zone.clock)
    for module, attack in zip(("github", "notion", "jira", "confluence"), ATTACKS.values(), strict=False):
        await set_service(app.product.console, ACTOR, app.admin.tenant.id, module, enabled=True)
        await store.put(
            ACTOR, app.admin.tenant.id, module, CredentialOwner("personal", app.user.id), Secret("x"), attack[:200]
        )


async def _write_with_a_tool(app: ConsoleApp, person: Person) -> None:
    """Results of a tool that a person's model has been given by others."""
    entities = [{"name": text[:150], "entityType": "x", "observations": [text[:500]]} for text in ATTACKS.values()]
    client = Client(app.identity.gateway.app, SUITE.hear)
    answer = await client.call(person.token, "knowledge_graph", "create_entities", {"entities": entities})
    assert not answer.result.get("isError"), answer


async def test_every_text_of_the_api_is_attacked(attacked: AttackWriter) -> None:
    keys = {text.key for text in TEXTS}
    assert {key for key in keys if find_kind(key) is None} == set(), "say in attacks.py what becomes of them"
    assert {key for key in FIELDS if not key.endswith(" *")} - keys == set(), "there are no such texts any more"
    kept = {key for key in keys if find_kind(key) == STORED}
    assert kept - attacked.taken.keys() == set(), "none of the attacks was stored"
    assert {key for key in attacked.taken if find_kind(key) == REFUSED} == set()


@in_every_view
async def test_every_page_with_attacks(app: ConsoleApp, attacked: AttackWriter, view: str) -> None:
    visits = [(app.admin, path) for path in (*PAGES.values(), *SEARCHES)]
    visits += [(app.user, path) for path in PAGES_OF_PEOPLE]
    visits += [(await app.add_operator(), path) for path in PAGES_OF_OPERATORS.values()]
    pages: dict[str, Page] = {}
    for person, path in visits:
        page = pages.get(person.email) or await app.open(person, path, **VIEWS[view])
        pages[person.email] = page
        await _visit(app, page, path)
        if path in SEARCHES or (person is app.user and path == "/tools"):
            await expect(page.locator("main")).to_contain_text(MARK)


async def _visit(app: ConsoleApp, page: Page, path: str) -> None:
    """Open a page in a tab and look at it."""
    if not page.url.endswith(f"/console{path}"):
        await page.goto(f"{app.identity.url}/console{path}")
    await page.get_by_role("heading", level=1).first.wait_for()
    await expect(page.locator(LOADING)).to_have_count(0)
    assert await page.evaluate(INJECTED) == [], path
    wide, visible = await page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= visible, f"{path} scrolls sideways: {wide} px of {visible}"


async def test_the_result_of_a_tool_with_attacks(app: ConsoleApp, attacked: AttackWriter) -> None:
    page = await app.open(app.user, "/tools?try=knowledge_graph.read_graph", **VIEWS[SHORT_VIEW])
    await page.get_by_role("tabpanel").get_by_role("button").first.wait_for()
    await page.get_by_role("button", name="実行", exact=True).click()
    await page.get_by_text("alert(1)").first.wait_for()
    assert await page.evaluate(INJECTED) == []


@pytest.mark.long
async def test_the_consent_page_with_attacks(app: ConsoleApp, attacked: AttackWriter) -> None:
    """Clients name themselves, people and tenants are named by anybody."""
    page = await app.open(app.admin, "/profile", **{**VIEWS[SHORT_VIEW], "java_script_enabled": True})
    trust = {"dynamic_registration": True, "client_metadata_hosts": ["*"]}
    (await attacked.people["operator"].put("/api/v1/deployment/client-trust", json=trust)).raise_for_status()
    async with httpx2.AsyncClient(base_url=app.identity.url) as client:
        for name, attack in ATTACKS.items():
            body = {"redirect_uris": ["http://127.0.0.1/callback"], "client_name": attack}
            answer = await client.post("/oauth/register", json=body)
            assert answer.status_code == 201, (name, answer.text)
            query = {
                "client_id": answer.json()["client_id"],
                "redirect_uri": "http://127.0.0.1/callback",
                "response_type": "code",
                "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
                "code_challenge_method": "S256",
                "state": "x",
            }
            await page.goto(f"{app.identity.url}/oauth/authorize?{urlencode(query)}")
            await page.get_by_role("button").first.wait_for()
            assert await page.locator("button[value=allow]").count() == 1, name
            assert await page.evaluate(INJECTED) == [], name
            wide, visible = await page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
            assert wide <= visible, f"{name} scrolls sideways: {wide} px of {visible}"


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_every_panel_with_attacks(app: ConsoleApp, attacked: AttackWriter) -> None:
    """The first eight of each list, in a panel each, with its tabs."""
    pages: dict[str, Page] = {}
    for who, api_path, key, address, tabs in PANELS:
        person = await app.add_operator() if who == "operator" else app.admin
        rows = (await attacked.people[who].get(f"/api/v1{api_path}")).raise_for_status().json()["items"]
        assert rows, api_path
        for row in rows:
            for tab in tabs:
                path = address.format(id=quote(str(row[key]), safe="")) + (f"&tab={tab}" if tab else "")
                page = pages.get(who) or await app.open(person, path)
                pages[who] = page
                await _visit(app, page, path)
                assert await page.get_by_role("dialog").count() == 1, path
                inside = await page.get_by_role("dialog").evaluate("(panel) => [panel.scrollWidth, panel.clientWidth]")
                assert inside[0] <= inside[1], f"{path} scrolls sideways: {inside}"
