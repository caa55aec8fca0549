"""A person's tools: found, shown with their connection and parameters, asked for, in a real browser."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from broker.connections.oauth_client_store import OAuthClientRegistration, OAuthClientStore
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.vault.credential_store import CredentialOwner, CredentialStore
from core.directory.roles import find_role
from core.secret import Secret
from tests.console.console_app import SHORT_VIEW, VIEWS, ConsoleApp, confirm_by_typing, in_every_view
from tests.support.product import ACTOR, Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@dataclass(frozen=True, slots=True)
class Carla:
    """Somebody whose services stand in every way there is."""

    person: Person
    app: ConsoleApp

    async def open(self, path: str = "/tools", **options: object) -> Page:
        return await self.app.open(self.person, path, **options)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def carla(app: ConsoleApp) -> AsyncIterator[Carla]:
    acme = app.admin.tenant
    modules = ("notion.*", "github:read", "jira.*", "google_calendar.*", "microsoft_todo.*", "knowledge_graph.*")
    person = await app.product.person(acme, "carla@acme.test", allow=[*modules])
    role = await find_role(app.product.console, acme.id, person.email)
    zone = app.identity.zone
    store = CredentialStore(zone.database, zone.vault, clock=zone.clock)
    own = CredentialOwner("personal", person.id)
    await store.put(ACTOR, acme.id, "github", own, Secret("a key"), "carla-at-github")
    await store.put(ACTOR, acme.id, "notion", own, Secret("a lost key"), "Carla’s pages")
    await store.put(ACTOR, acme.id, "jira", CredentialOwner("shared", role.id), Secret("a team key"), "Team")
    clients = OAuthClientStore(zone.database, zone.vault, ProviderRegistry(load_builtin_providers()))
    await clients.register(ACTOR, acme.id, OAuthClientRegistration("google", "a-client", Secret("of Google")))
    async with app.product.database.admin_connection() as admin:
        await admin.execute("UPDATE vault.credentials SET state = 'broken', cause = 'revoked' WHERE module = 'notion'")
    yield Carla(person, app)


def _card(page: Page, title: str):
    return page.locator("section").filter(has=page.get_by_role("button", name=title, exact=True))


async def test_each_service_says_how_it_is_connected(carla: Carla) -> None:
    page = await carla.open()
    await expect(_card(page, "GitHub")).to_contain_text("Connected")
    await expect(_card(page, "GitHub")).to_contain_text("carla-at-github")
    await expect(_card(page, "Notion")).to_contain_text("Broken")
    await expect(_card(page, "Notion")).to_contain_text("You can repair this.")
    await expect(_card(page, "Jira")).to_contain_text("shared by role carla@acme.test")
    await expect(_card(page, "Google Calendar")).to_contain_text("Needs connect")
    await expect(_card(page, "Microsoft To Do")).to_contain_text("Not set up")
    await expect(_card(page, "Microsoft To Do")).to_contain_text("Ask an administrator to set it up.")
    await expect(_card(page, "Microsoft To Do").get_by_role("button", name=re.compile("Connect"))).to_have_count(0)
    await expect(_card(page, "Knowledge graph")).to_contain_text("Needs no account")
    assert await page.get_by_text("Supabase").count() == 0
    await carla.app.look(page, "tools")


@in_every_view
async def test_the_page_in_every_view(carla: Carla, view: str) -> None:
    page = await carla.open("/tools?open=github,notion", **VIEWS[view])
    await page.get_by_role("list", name=re.compile("GitHub")).wait_for()
    await carla.app.look(page, f"tools-{view}")


async def test_a_module_unfolds_and_the_address_keeps_it(carla: Carla) -> None:
    page = await carla.open()
    await page.get_by_role("button", name="GitHub", exact=True).click()
    await page.wait_for_url(re.compile("open=github"))
    tools = page.get_by_role("list", name="Tools of GitHub")
    await tools.get_by_text("Reads").first.wait_for()
    assert await tools.get_by_text("Destroys").count() == 0, "her role only reads"
    await page.reload()
    await tools.get_by_text("Reads").first.wait_for()


@pytest.mark.long
async def test_the_search_folds_letters_and_asks_once(carla: Carla) -> None:
    page = await carla.open()
    await page.get_by_role("button", name="GitHub", exact=True).wait_for()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/v1/tools?" in request.url else None)
    await page.keyboard.press("/")
    await page.keyboard.type("ｃａｌｅｎｄａｒ")
    await page.get_by_role("list", name="Tools of Google Calendar").wait_for()
    await expect(page.get_by_role("button", name="GitHub", exact=True)).to_have_count(0)
    await carla.app.look(page, "tools-search")
    assert len(asked) == 1, asked
    await page.get_by_role("searchbox").fill("zzqq")
    await page.get_by_text("Nothing matches “zzqq”").wait_for()
    await carla.app.look(page, "tools-no-match")
    await page.get_by_role("button", name="Clear all").click()
    await page.get_by_role("button", name="GitHub", exact=True).wait_for()


async def test_the_filter_keeps_what_needs_connect(carla: Carla) -> None:
    page = await carla.open()
    await page.get_by_role("button", name="Any connection").click()
    await page.get_by_role("option", name="Needs connect").click()
    await page.wait_for_url(re.compile("state=needs_connect"))
    await expect(_card(page, "Google Calendar")).to_be_visible()
    await expect(page.get_by_role("button", name="GitHub", exact=True)).to_have_count(0)
    await page.get_by_role("button", name="Remove the filter Needs connect").click()
    await page.get_by_role("button", name="GitHub", exact=True).wait_for()


async def test_a_tool_opens_with_its_parameters_and_keys_walk_the_rows(carla: Carla) -> None:
    page = await carla.open("/tools?open=github")
    await page.get_by_role("list", name="Tools of GitHub").wait_for()
    await page.keyboard.press("j")
    await expect(page.get_by_role("button", name="GitHub", exact=True)).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    panel = page.get_by_role("dialog")
    await panel.get_by_role("heading", name="Parameters").wait_for()
    await expect(panel).to_contain_text("required")
    await carla.app.look(page, "tool-panel")
    await page.keyboard.press("Escape")
    await page.wait_for_url(re.compile(r"/tools\?open=github$"))
    hidden = await carla.open("/tools?tool=github.delete_file")
    await hidden.get_by_role("dialog").get_by_role("alert").wait_for()
    assert "It does not exist" in await hidden.get_by_role("alert").inner_text()


@pytest.mark.long
async def test_access_is_asked_for_and_withdrawn(carla: Carla) -> None:
    page = await carla.open("/tools?q=supabase")
    await page.get_by_role("button", name="Tools that you may not use").click()
    rows = page.get_by_role("list", name="Tools that you may not use")
    await rows.get_by_role("button", name=re.compile("^Request access")).first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("What for").fill("Monthly figures")
    await carla.app.look(page, "tools-request")
    await page.keyboard.press("Control+Enter")
    await dialog.wait_for(state="detached")
    await rows.get_by_text("Requested").wait_for()
    await carla.app.look(page, "tools-hidden")
    await rows.get_by_role("button", name=re.compile("^Withdraw")).click()
    await expect(rows.get_by_text("Requested")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await rows.get_by_text("Requested").wait_for()
    await rows.get_by_role("button", name=re.compile("^Withdraw")).click()
    await expect(rows.get_by_text("Requested")).to_have_count(0)


@pytest.mark.long
async def test_whose_tenant_takes_no_requests_sees_no_button(carla: Carla) -> None:
    await _set_tenant(carla.app, accepts_access_requests=False)
    page = await carla.open("/tools?hidden=1")
    await page.get_by_text("Ask an administrator in person").wait_for()
    assert await page.get_by_role("button", name=re.compile("^Request access")).count() == 0
    await _set_tenant(carla.app, shows_hidden_tools=False)
    page = await carla.open("/tools?hidden=1")
    await page.get_by_role("button", name="GitHub", exact=True).wait_for()
    assert await page.get_by_text("may not use").count() == 0
    await _set_tenant(carla.app, accepts_access_requests=True, shows_hidden_tools=True)


async def test_whoever_has_no_tools_is_told_whom_to_ask(app: ConsoleApp) -> None:
    page = await app.open(app.other_admin, "/tools")
    await page.get_by_role("heading", name="No tools yet").wait_for()
    await app.look(page, "tools-empty")


async def test_a_service_that_is_not_set_up_says_who_can_change_that(carla: Carla) -> None:
    page = await carla.open("/tools?connect=microsoft_todo")
    dialog = page.get_by_role("dialog", name="Connect Microsoft To Do")
    await dialog.get_by_text("no OAuth client is registered for it. Ask an administrator").wait_for()
    await expect(dialog.get_by_role("button", name="Continue")).to_have_count(0)
    await carla.app.look(page, "tools-not-set-up")
    boss = await carla.app.product.person(carla.person.tenant, "boss@acme.test", allow=["microsoft_todo.*"])
    async with carla.app.product.database.admin_connection() as admin:
        await admin.execute("UPDATE core.users SET system_role = 'admin' WHERE id = $1", boss.id)
    page = await carla.app.open(boss, "/tools", **VIEWS[SHORT_VIEW])
    await page.get_by_text("接続できるサービスがまだありません").wait_for()
    await expect(page.get_by_role("button", name="すべて接続")).to_have_count(0)
    await carla.app.look(page, f"tools-none-set-up-{SHORT_VIEW}")
    await page.get_by_role("link", name="Microsoft To Do を設定").click()
    await page.get_by_role("dialog", name="Microsoft To Do").get_by_label("クライアント ID").wait_for()


@pytest.mark.long
async def test_what_cannot_be_connected_says_who_can_change_that(carla: Carla) -> None:
    page = await carla.open("/tools?connect=knowledge_graph")
    await page.get_by_text("This service needs no account.").wait_for()
    page = await carla.open("/tools?connect=supabase")
    await page.get_by_text("None of your roles allows a tool of this service.").wait_for()
    page = await carla.open("/tools?connect=no_such_service")
    await page.get_by_role("dialog").get_by_role("alert").wait_for()


async def test_a_key_is_forgotten_and_the_page_says_where_it_still_works(carla: Carla) -> None:
    page = await carla.open()
    await page.get_by_role("button", name="More actions for GitHub").click()
    await page.get_by_role("menuitem", name="Disconnect").click()
    dialog = page.get_by_role("alertdialog", name="Disconnect GitHub (carla-at-github)?")
    await expect(dialog).to_contain_text("stop working")
    await carla.app.look(page, "tools-disconnect")
    await confirm_by_typing(page, "carla-at-github", "Disconnect")
    await page.get_by_role("dialog", name="GitHub was disconnected").wait_for()
    await carla.app.look(page, "tools-disconnected")
    await page.keyboard.press("Escape")
    await expect(_card(page, "GitHub")).to_contain_text("Needs connect")


@pytest.mark.long
async def test_an_error_of_the_list_can_be_tried_again(carla: Carla) -> None:
    page = await carla.open("/profile-that-is-none")
    await page.route("**/api/v1/tool-modules?*", lambda route: route.fulfill(status=503, json={"code": "unavailable"}))
    await page.goto(f"{carla.app.identity.url}/console/tools")
    await page.get_by_role("alert").first.wait_for()
    await carla.app.look(page, "tools-error")
    await page.unroute_all()
    await page.get_by_role("button", name="Try again").first.click()
    await page.get_by_role("button", name="Notion", exact=True).wait_for()


async def _set_tenant(app: ConsoleApp, **changes: bool) -> None:
    page = await app.open(app.admin, "/no-page")
    headers = {"Origin": app.identity.url}
    answer = await page.request.patch(f"{app.identity.url}/api/v1/tenant", data=changes, headers=headers)
    assert answer.ok, await answer.text()
