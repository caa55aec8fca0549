"""Services: switched, set up, given an OAuth client; providers looked at and added; in a real browser."""

import json
import re
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from core.directory.services import list_services
from tests.console.console_app import NARROW, SHORT_VIEW, VIEWS, ConsoleApp

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SECRET = "zq-made-up-secret-77"


async def _is_enabled(app: ConsoleApp, tenant_id: UUID, module: str) -> bool:
    stored = await list_services(app.product.console, tenant_id)
    return any(service.enabled for service in stored if service.module == module)


async def _stored_settings(app: ConsoleApp, module: str) -> dict[str, object]:
    stored = await list_services(app.product.console, app.admin.tenant.id)
    return next(dict(service.settings) for service in stored if service.module == module)


async def test_a_service_is_switched_and_set(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/services")
    services = page.get_by_role("table", name="Services")
    await services.wait_for()
    for name, state in (("Google Calendar", "To set up"), ("Notion", "Ready"), ("Knowledge graph", "Needs no account")):
        await expect(services.get_by_role("row", name=re.compile(name))).to_contain_text(state)
    await app.look(page, "services")
    await page.get_by_label("Search by name").fill("no such service")
    await page.get_by_text("Nothing matches “no such service”").wait_for()
    await page.get_by_label("Search by name").fill("KNOWLEDGE")
    await expect(services.get_by_role("link")).to_have_count(1)
    await services.get_by_role("button", name="Service").click()
    await page.wait_for_url(re.compile("sort=-title"))
    await page.get_by_role("link", name="Knowledge graph").click()
    panel = page.get_by_role("dialog")
    await panel.get_by_role("button", name="Switch off").wait_for()
    await app.look(page, "service-general")
    japanese = await app.open(app.admin, "/services", **VIEWS[SHORT_VIEW])
    await expect(japanese.get_by_role("row", name=re.compile("Google カレンダー"))).to_contain_text("未設定")
    await app.look(japanese, f"services-{SHORT_VIEW}")
    await japanese.get_by_role("link", name="ナレッジグラフ").click()
    await expect(japanese.get_by_role("dialog", name="ナレッジグラフ").locator("[lang=en]")).to_have_count(0)
    await app.look(japanese, f"service-general-{SHORT_VIEW}")
    await panel.get_by_role("button", name="Switch off").click()
    await page.get_by_text("nobody has its tools any more").wait_for()
    assert not await _is_enabled(app, app.admin.tenant.id, "knowledge_graph")
    assert await _is_enabled(app, app.other_admin.tenant.id, "knowledge_graph"), "another tenant's stays on"
    await page.get_by_role("button", name="Undo").click()
    await panel.get_by_role("button", name="Switch off").wait_for()
    await panel.get_by_role("tab", name="Settings").click()
    field = panel.get_by_role("textbox", name=re.compile("Entities"))
    await field.fill("0")
    await panel.get_by_role("button", name="Save").click()
    await expect(panel.get_by_role("alert").first).to_be_visible()
    await app.look(page, "service-settings-error")
    await field.fill("4321")
    await panel.get_by_role("button", name="Save").click()
    await page.get_by_text("Settings of Knowledge graph were saved").wait_for()
    assert 4321 in (await _stored_settings(app, "knowledge_graph")).values()
    await field.fill("")
    await panel.get_by_role("button", name="Save").click()
    await expect(panel.get_by_role("button", name="Save")).to_be_disabled()
    assert await _stored_settings(app, "knowledge_graph") == {}


async def test_an_oauth_client_is_stored_tested_and_removed(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/services?id=notion&tab=oauth")
    panel = page.get_by_role("dialog")
    await expect(panel).to_contain_text(f"{app.identity.url}/connect/callback/notion")
    await expect(panel).to_contain_text("Make a new public connection")
    await panel.get_by_label("Client ID").fill("console-client")
    await panel.get_by_label("Client secret").fill(SECRET)
    await panel.get_by_role("button", name="Save").click()
    clients = panel.get_by_role("list", name="Registered clients")
    await expect(clients).to_contain_text("console-client")
    await expect(panel.get_by_label("Client secret")).to_have_value("")
    await panel.get_by_role("button", name="Test").click()
    await panel.get_by_text("Not known").wait_for()
    await app.look(page, "service-oauth")
    assert SECRET not in await page.content()
    other = await app.open(app.admin, "/services?id=notion&tab=oauth")
    await expect(other.get_by_label("Client ID")).to_have_value("console-client")
    await panel.get_by_label("Client ID").fill("console-client-2")
    await other.get_by_label("Client ID").fill("client-of-another")
    for where in (other, page):
        await where.get_by_label("Client secret").fill(SECRET)
        await where.get_by_role("button", name="Save").click()
    await panel.get_by_text("Somebody else has changed this").wait_for()
    await app.look(page, "service-oauth-conflict")
    await panel.get_by_role("button", name="Take the new state").click()
    await expect(panel.get_by_label("Client ID")).to_have_value("client-of-another")
    await panel.get_by_label("Client ID").fill("console-client")
    await panel.get_by_label("Client secret").fill(SECRET)
    await panel.get_by_role("button", name="Save").click()
    await expect(clients).to_contain_text("console-client")
    await panel.get_by_role("button", name="Everybody For").click()
    await page.get_by_role("option", name="Role ben@acme.test").click()
    await expect(panel.get_by_label("Client ID")).to_have_value("")
    await panel.get_by_label("Client ID").fill("client-of-a-role")
    await panel.get_by_label("Client secret").fill(SECRET)
    await panel.get_by_role("button", name="Save").click()
    await expect(clients).to_contain_text("client-of-a-role")
    await expect(clients).to_contain_text("console-client")
    await _remove_client(page)
    await app.look(page, "service-oauth-remove")
    await page.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
    await expect(clients).not_to_contain_text("console-client")
    await expect(clients).to_contain_text("client-of-a-role")
    narrow = await app.open(
        app.admin, "/services?id=notion&tab=oauth", viewport=NARROW, locale="ja-JP", color_scheme="dark"
    )
    await narrow.get_by_role("dialog").get_by_text("リダイレクト URI", exact=True).wait_for()
    await app.look(narrow, "service-oauth-narrow-ja")


async def _remove_client(page: Page) -> None:
    await page.get_by_role("button", name="Remove the client for Everybody").click()
    question = page.get_by_role("alertdialog", name="Remove the OAuth client at Notion for Everybody?")
    await question.get_by_label("Type console-client to confirm").fill("console-client")


async def test_a_provider_is_added_and_changed(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/services")
    await page.get_by_role("link", name="Providers").click()
    await page.get_by_role("table", name="Providers").wait_for()
    await app.look(page, "providers")
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Add provider")
    await dialog.get_by_label("Address").fill("https://localhost/")
    await dialog.get_by_role("button", name="Read the metadata").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("This was not done")
    await app.look(page, "provider-refused")
    await dialog.get_by_role("button", name="Cancel").click()
    document = {
        "title": "Shop",
        "oauth": {"authorize_url": "https://shop.example/a", "token_url": "https://shop.example/t"},
    }
    send = """document => fetch('/api/v1/providers/shop', {method: 'PUT', body: JSON.stringify({document}),
        headers: {'Content-Type': 'application/json'}}).then(answer => answer.status)"""
    assert await page.evaluate(send, document) == 201
    await page.goto(f"{app.identity.url}/console/services?view=providers&id=shop")
    panel = page.get_by_role("dialog", name="Shop")
    await panel.get_by_role("textbox", name="Document").fill(json.dumps(document | {"title": "Market"}))
    await panel.get_by_role("button", name="Save").click()
    await page.get_by_role("dialog", name="Market").wait_for()
    await app.look(page, "provider")
    await page.get_by_role("button", name="Remove provider").click()
    question = page.get_by_role("alertdialog", name="Remove provider shop?")
    await question.get_by_label("Type shop to confirm").fill("shop")
    await question.get_by_role("button", name="Remove provider").click()
    await page.get_by_text("Provider shop was removed").wait_for()
    forbidden = await app.open(app.user, "/services")
    await forbidden.get_by_role("heading", name="This page is for administrators").wait_for()
