"""Keys and doctor: what stands, and what to do, in a real browser."""

import pytest
from playwright.async_api import expect

from tests.console.console_app import NARROW, ConsoleApp

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_an_operator_sees_the_keys_and_the_checks(app: ConsoleApp) -> None:
    operator = await app.add_operator()
    page = await app.open(operator, "/keys")
    await page.get_by_text("Every key that is needed is here and right").wait_for()
    await expect(page.get_by_role("list", name="Keys")).to_contain_text("Active")
    await page.get_by_text("no rotation is under way").wait_for()
    await app.look(page, "keys")
    await page.get_by_role("link", name="Doctor").click()
    checks = page.get_by_role("list", name="Checks")
    await expect(checks).to_contain_text("Vault keys")
    await expect(checks).to_contain_text("Database role mcpist_console")
    await app.look(page, "doctor-operator")
    narrow = await app.open(operator, "/keys", viewport=NARROW, locale="ja-JP", color_scheme="dark")
    await narrow.get_by_role("list", name="鍵の一覧").wait_for()
    await app.look(narrow, "keys-narrow-ja")
    await narrow.goto(f"{app.identity.url}/console/doctor")
    checks = narrow.get_by_role("list", name="確認項目")
    await expect(checks).to_contain_text("封印待ちの記録")
    await expect(checks.locator("[lang=en]")).to_have_count(0)
    await app.look(narrow, "doctor-narrow-ja")


async def test_an_administrator_sees_the_tenant_and_no_keys(app: ConsoleApp) -> None:
    page = await app.open(app.admin, "/doctor")
    await page.get_by_role("button", name="Check again").wait_for()
    await page.get_by_text("No errors").wait_for()
    await expect(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Keys")).to_have_count(0)
    assert "Vault keys" not in await page.get_by_role("main").inner_text()
    await app.look(page, "doctor")
    await page.goto(f"{app.identity.url}/console/keys")
    await page.get_by_role("heading", name="This page is for the operator").wait_for()
