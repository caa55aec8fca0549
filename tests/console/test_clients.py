"""Clients: connected ones ended, own ones registered, changed and removed, issuers trusted; in a real browser."""

import pytest
from playwright.async_api import expect

from tests.console.console_app import NARROW, ConsoleApp, confirm_by_typing

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_client_is_registered_changed_and_removed(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/clients?view=registered")
    await page.get_by_role("heading", name="No registered clients").wait_for()
    await app.look(page, "clients-empty")
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="Register a client")
    await dialog.get_by_label("Name").fill("Reports")
    await dialog.get_by_label("Redirect URIs").fill("javascript:alert(1)")
    await dialog.get_by_role("button", name="Register").click()
    await expect(dialog).to_contain_text("This was not done")
    await app.look(page, "client-form-error")
    await dialog.get_by_role("button", name="Kind").click()
    await page.get_by_role("option", name="Web app with a secret").click()
    await dialog.get_by_label("Redirect URIs").fill("https://reports.acme.test/callback")
    await dialog.get_by_role("button", name="Register").click()
    done = page.get_by_role("dialog", name="Registered")
    secret = await done.get_by_role("textbox", name="Client secret").inner_text()
    await app.look(page, "client-secret-once")
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name="Reports").click()
    panel = page.get_by_role("dialog", name="Reports")
    await panel.get_by_text("Enabled", exact=True).click()
    await panel.get_by_label("Largest result in tokens").fill("20000")
    await panel.get_by_role("button", name="Save").click()
    await page.get_by_text("Reports was changed").wait_for()
    assert secret not in await page.content()
    clients = (await (await page.request.get(f"{app.identity.url}/api/v1/oauth/clients")).json())["items"]
    assert [one["result_tokens"] for one in clients] == [20_000]
    await app.look(page, "client")
    await panel.get_by_role("button", name="Remove client").click()
    question = page.get_by_role("alertdialog", name="Remove the client Reports?")
    await question.get_by_label("Type Reports to confirm").fill("Reports")
    await question.get_by_role("button", name="Remove client").click()
    await page.get_by_role("heading", name="No registered clients").wait_for()


@pytest.mark.long
async def test_access_of_an_application_is_ended_and_an_issuer_trusted(app: ConsoleApp) -> None:
    await app.connect_client(app.user, "Sharp Editor")
    page = await app.open(app.admin, "/clients")
    await expect(page.get_by_role("table", name="Connected")).to_contain_text("ben@acme.test")
    await app.look(page, "clients")
    theirs = await app.open(app.other_admin, "/clients", viewport=NARROW, locale="ja-JP", color_scheme="dark")
    await theirs.get_by_role("heading", name="接続済みのアプリケーションはありません").wait_for()
    await app.look(theirs, "clients-narrow-ja")
    await page.get_by_role("table", name="Connected").get_by_role("link").first.click()
    await page.get_by_role("button", name="End access").click()
    await app.look(page, "client-revoke")
    await confirm_by_typing(page, "Sharp Editor", "End access")
    await page.get_by_role("heading", name="No connected applications").wait_for()
    await page.get_by_role("link", name="Trusted issuers").click()
    await expect(page.get_by_role("navigation", name="Lists").locator("[aria-current]")).to_have_text("Trusted issuers")
    await page.get_by_role("button", name="Trust an issuer").first.click()
    dialog = page.get_by_role("dialog", name="Trust an issuer")
    await dialog.get_by_label("Issuer").fill("https://idp.acme.test")
    await dialog.get_by_label("Address of its keys").fill("https://idp.acme.test/keys")
    await dialog.get_by_role("button", name="Trust an issuer").click()
    await page.get_by_role("link", name="https://idp.acme.test").click()
    await app.look(page, "issuer")
    await page.get_by_role("button", name="Stop trusting").click()
    await confirm_by_typing(page, "https://idp.acme.test", "Stop trusting")
    await page.get_by_role("heading", name="No trusted issuers").wait_for()
