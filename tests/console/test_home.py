"""The start for people: roles, services, connecting a client, and whether it has worked; the dashboard of
administrators; in a real browser."""

import re

import pytest
from playwright.async_api import Page, expect

from core.audit.call_counts import CallCounter
from core.audit.sealer import seal_pending_events
from core.directory import access_requests
from server.role_database import get_utc_now
from tests.console.console_app import SHORT_VIEW, VIEWS, ConsoleApp, in_every_view
from tests.support.canary import SUITE
from tests.support.mcp_client import Client
from tests.support.product import ACTOR

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@in_every_view
async def test_the_start_in_every_view(app: ConsoleApp, view: str) -> None:
    page = await app.open(app.user, "", **VIEWS[view])
    await page.get_by_text("claude mcp add", exact=False).first.wait_for()
    await expect(page.get_by_role("list").filter(has_text="ben@acme.test")).to_be_visible()
    await page.set_viewport_size({"width": 360 if "narrow" in view else 1280, "height": 1300})
    await app.look(page, f"home-{view}")


@pytest.mark.long
async def test_the_address_of_clients_is_what_the_server_tells_them(app: ConsoleApp) -> None:
    page = await app.open(app.user)
    await expect(page.get_by_role("textbox", name="URL for clients")).to_have_text(f"{app.identity.url}/mcp")
    await page.get_by_role("button", name=re.compile("Client")).click()
    await page.get_by_role("option", name="Codex CLI").click()
    await page.wait_for_url(re.compile("client=codex-cli"))
    await page.get_by_text(f"codex mcp add mcpist --url {app.identity.url}/mcp").wait_for()
    await page.get_by_text("With an API token").click()
    await page.get_by_text(f'url = "{app.identity.url}/mcp"').wait_for()
    await page.locator("summary", has_text="Redirect URI").click()
    await page.get_by_text("http://127.0.0.1/callback").wait_for()
    await app.look(page, "home-codex")
    await page.reload()
    await page.get_by_text("codex mcp login mcpist").wait_for()


async def test_it_turns_green_at_the_first_call_of_a_client(app: ConsoleApp) -> None:
    person = await app.product.person(app.admin.tenant, "first@acme.test", allow=["knowledge_graph.*"])
    page = await app.open(person)
    await page.get_by_text("Waiting for the first call").wait_for()
    client = Client(app.identity.gateway.app, SUITE.hear)
    # Somebody else's call is none of this person's.
    await client.call(app.user.token, "knowledge_graph", "read_graph", {})
    await client.call(person.token, "knowledge_graph", "read_graph", {})
    await seal_pending_events(app.product.console, get_utc_now)
    await page.get_by_text("It has. First call:").wait_for()
    # The exact time shows for who comes there by keyboard.
    time = page.get_by_role("status").filter(has_text="First call").locator("[aria-describedby]")
    await expect(time.get_by_role("tooltip")).to_have_count(0)
    await time.focus()
    await expect(time.get_by_role("tooltip")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(time.get_by_role("tooltip")).to_have_count(0)
    await expect(page.get_by_role("status").filter(has_text="First call")).to_contain_text("knowledge_graph.read_graph")
    await app.look(page, "home-worked")
    await page.reload()
    await page.get_by_text("Waiting for the first call").wait_for()
    await page.get_by_text("Before that:").wait_for()


@pytest.mark.long
async def test_whoever_has_no_role_is_told_so(app: ConsoleApp) -> None:
    page = await app.open(app.other_admin, "?view=own")
    await page.get_by_text("You have no role yet.").wait_for()
    await page.get_by_text("No service yet").wait_for()
    await app.look(page, "home-empty")


async def _reads_a_chart_by_keyboard(page: Page) -> None:
    """The point that the arrows choose is said, and shown until Escape."""
    chart = page.get_by_role("slider", name="Calls")
    newest = re.compile("Without error [1-9].*, Errors 0, Denied 1")
    await chart.focus()
    await expect(chart).to_have_attribute("aria-valuetext", newest)
    await expect(chart.get_by_text(newest)).to_be_visible()
    await page.keyboard.press("Home")
    await expect(chart).to_have_attribute("aria-valuetext", re.compile("Without error 0"))
    await page.keyboard.press("ArrowRight")
    await expect(chart).to_have_attribute("aria-valuenow", "1")
    await page.keyboard.press("Escape")
    await expect(chart.get_by_text("Without error")).to_have_count(0)


async def test_administrators_begin_with_the_dashboard(app: ConsoleApp) -> None:
    page = await app.open(app.other_admin)
    await page.get_by_text("No service has calls or accounts yet.").wait_for()
    await app.look(page, "dashboard-empty")

    tenant, console = app.admin.tenant, app.product.console
    person = await app.product.person(tenant, "busy@acme.test", allow=["knowledge_graph.*"])
    asks = await app.product.person(tenant, "asks@acme.test", allow=[])
    await access_requests.create_request(console, ACTOR, tenant.id, asks.id, "notion", "search_pages", "")
    client = Client(app.identity.gateway.app, SUITE.hear)
    for module, tool in (
        ("knowledge_graph", "read_graph"),
        ("knowledge_graph", "read_graph"),
        ("notion", "search_pages"),
    ):
        await client.call(person.token, module, tool, {})
    await seal_pending_events(console, get_utc_now)
    await CallCounter(console).count_pending()
    page = await app.open(app.admin)
    await page.get_by_text("Decide on what people ask for").wait_for()
    await expect(page.get_by_role("listitem").filter(has_text="Knowledge graph")).to_contain_text("errors 0")
    await page.get_by_text("Active people as a table").click()
    await expect(page.get_by_role("region", name="Active people")).to_be_visible()
    await page.set_viewport_size({"width": 1280, "height": 1300})
    await app.look(page, "dashboard")
    await _reads_a_chart_by_keyboard(page)
    other = await app.open(app.admin, "?range=30d", **VIEWS[SHORT_VIEW])
    await other.locator("figure details").first.wait_for()
    await other.set_viewport_size({"width": 360, "height": 1500})
    await app.look(other, f"dashboard-{SHORT_VIEW}")
    await page.get_by_role("link", name="Your own start").click()
    await page.get_by_role("heading", name="Your roles").wait_for()
    await page.get_by_role("link", name="Dashboard").click()
    await page.get_by_text("What to do next").wait_for()
    await page.get_by_role("term").filter(has_text="Denied").locator("..").get_by_role("link").click()
    await page.wait_for_url(re.compile("/logs.*outcome=denied"))


@pytest.mark.long
async def test_the_guided_start_leads_to_the_first_call(app: ConsoleApp) -> None:
    fresh = await app.product.tenant("fresh")
    person = await app.product.person(fresh, "cleo@fresh.test", allow=["*"])
    async with app.product.database.admin_connection() as admin:
        await admin.execute(
            "UPDATE core.users SET system_role = 'admin', guided_start = true, name = '' WHERE id = $1", person.id
        )
    page = await app.open(person)
    await page.get_by_role("link", name="Continue set-up").first.click()
    await page.get_by_role("heading", name="Who are you?").wait_for()
    await app.look(page, "start-name")
    await page.get_by_role("textbox", name="Company").fill("Fresh 果物 GmbH")
    await page.get_by_role("textbox", name="Your name").fill("Cleo")
    await page.get_by_role("button", name="Save").click()
    # Services that take a key are ready from the beginning.
    await page.get_by_role("heading", name="Connect an account of yours").wait_for()
    await expect(page.get_by_role("link", name=re.compile("^Name.*done"))).to_be_visible()
    await page.get_by_role("button", name="Connect Notion").wait_for()
    await app.look(page, "start-account")
    await page.get_by_role("link", name=re.compile("^Service.*done")).click()
    await page.get_by_role("heading", name="Choose a first service").wait_for()
    await expect(page.get_by_role("navigation", name="Steps").locator("[aria-current]")).to_contain_text("Service")
    await app.look(page, "start-service")
    # Left, and gone on with where it was.
    await page.get_by_role("link", name="Leave for now").click()
    await page.get_by_role("link", name="Continue set-up").first.click()
    await page.get_by_role("link", name="First call", exact=True).click()
    await page.get_by_text("Waiting for the first call").wait_for()
    await Client(app.identity.gateway.app, SUITE.hear).call(person.token, "knowledge_graph", "read_graph", {})
    await seal_pending_events(app.product.console, get_utc_now)
    await page.get_by_role("button", name="Finish the set-up").wait_for()
    await app.look(page, "start-called")
    other = await app.open(person, "?start=client", **VIEWS[SHORT_VIEW])
    await other.get_by_text("claude mcp add", exact=False).first.wait_for()
    await app.look(other, f"start-client-{SHORT_VIEW}")
    await page.get_by_role("button", name="Finish the set-up").click()
    await page.get_by_text("What to do next").wait_for()
    await expect(page.get_by_role("link", name="Continue set-up")).to_have_count(0)
