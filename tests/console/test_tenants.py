"""Tenants of the deployment: made, changed, suspended, removed by its operator, in a real browser."""

import pytest
from playwright.async_api import expect

from core.directory.tenants import find_tenant
from core.errors import NotFound
from tests.console.console_app import SHORT_VIEW, VIEWS, ConsoleApp

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_an_operator_keeps_the_tenants(app: ConsoleApp) -> None:
    console = app.product.console
    root = await app.add_operator()
    page = await app.open(root, "/tenants")
    table = page.get_by_role("table", name="Tenants")
    await expect(table).to_contain_text("umbrella")
    await app.look(page, "tenants")

    await page.keyboard.press("n")
    form = page.get_by_role("dialog", name="Add tenant")
    await form.get_by_label("Short name").fill("globex")
    await form.get_by_label("Name", exact=False).last.fill("Globex <img src=x>")
    await form.get_by_label("First administrator").fill("boss@globex.test")
    await form.get_by_role("button", name="Add").click()
    await page.get_by_text("mcpist user link boss@globex.test --tenant globex").wait_for()
    await app.look(page, "tenant-added")
    await page.get_by_role("button", name="Close").last.click()

    await page.get_by_label("Search by name or short name").fill("GLOBEX")
    await expect(table.get_by_role("link")).to_have_count(1)
    await table.get_by_role("link", name="Globex <img src=x>").click()
    panel = page.get_by_role("dialog", name="Globex <img src=x>")
    await expect(panel).to_contain_text("1 person")
    await panel.get_by_label("Name").fill("Globex")
    await panel.get_by_role("button", name="Save").click()
    panel = page.get_by_role("dialog", name="Globex", exact=True)
    await app.look(page, "tenant")

    await panel.get_by_role("button", name="Suspend").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Suspend").click()
    await panel.get_by_role("button", name="Let in again").wait_for()
    assert (await find_tenant(console, "globex")).status == "suspended"
    await panel.get_by_role("button", name="Remove tenant").click()
    question = page.get_by_role("alertdialog", name="Remove tenant globex?")
    await expect(question).to_contain_text("1 person")
    await question.get_by_label("Type globex to confirm").fill("globex")
    await app.look(page, "tenant-remove")
    await question.get_by_role("button", name="Remove tenant").click()
    await page.get_by_text("Nothing matches").wait_for()
    with pytest.raises(NotFound):
        await find_tenant(console, "globex")

    narrow = await app.open(root, "/tenants", **VIEWS[SHORT_VIEW])
    await narrow.get_by_role("table", name="テナント").wait_for()
    await app.look(narrow, f"tenants-{SHORT_VIEW}")
    await narrow.get_by_role("link", name="operators").click()
    await narrow.get_by_text("自分のテナントです").wait_for()
    await app.look(narrow, f"tenant-own-{SHORT_VIEW}")


async def test_tenants_are_for_the_operator_alone(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/tenants")
    await page.get_by_role("heading", name="This page is for the operator").wait_for()
    menu = page.get_by_role("navigation", name="Pages")
    await expect(menu.get_by_role("heading", name="Operator")).to_have_count(0)
