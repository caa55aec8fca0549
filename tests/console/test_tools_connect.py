"""Accounts are connected and lost from the console, at real OAuth servers."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from core.directory.roles import find_role
from core.directory.users import create_user
from tests.broker.connect.connect_app import ConnectApp, vendors_on
from tests.console.console_app import SHORT_VIEW, VIEWS, ConsoleApp, confirm_by_typing, require_console
from tests.support import postgres
from tests.support.chromium import chromium
from tests.support.product import ACTOR, Person

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def vendors(
    database_server: postgres.DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ConnectApp]:
    require_console()
    async with (
        database_server.database() as database,
        vendors_on(database, tmp_path_factory.mktemp("vendors")) as running,
    ):
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(vendors: ConnectApp) -> AsyncIterator[ConsoleApp]:
    """The console of a product whose services are at the two vendors."""
    acme, umbrella = await vendors.tenant("acme"), await vendors.tenant("umbrella")
    ben = await vendors.person("ben@acme.test", allow=["shop.*", "till:read", "stall:read"])
    users = [await create_user(vendors.product.console, ACTOR, acme.id, "ada@acme.test", system_role="admin")]
    users += [await create_user(vendors.product.console, ACTOR, umbrella.id, "eve@umbrella.test", system_role="admin")]
    admin, other = Person(acme, users[0], "ada@acme.test"), Person(umbrella, users[1], "eve@umbrella.test")
    async with chromium() as browser:
        app = ConsoleApp(vendors.identity, browser, admin, ben, other)
        yield app
        app.check(vendors.vendor.issuer, vendors.other.issuer)


def _card(page: Page, title: str):
    return page.locator("section").filter(has=page.get_by_role("button", name=title, exact=True))


async def test_a_person_connects_loses_and_regains_an_account(app: ConsoleApp, vendors: ConnectApp) -> None:
    await vendors.vendor.sign_in_as("ben-there", email="ben@vendor.test")
    page = await app.open(app.user, "/tools")
    await _card(page, "Shop").get_by_role("button", name="Connect Shop").click()
    dialog = page.get_by_role("dialog", name="Connect Shop")
    await dialog.get_by_text("No client, model or module sees it").wait_for()
    assert page.url.endswith("/tools?connect=shop")
    await app.look(page, "tools-connect")
    await dialog.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Continue to Vendor").click()
    await page.wait_for_url(re.compile(r"/console/tools\?returned=1"))
    await expect(page.get_by_role("region", name="What came of connecting")).to_contain_text("ben@vendor.test")
    await expect(_card(page, "Shop")).to_contain_text("Connected")
    await expect(_card(page, "Shop")).to_contain_text(re.compile("renewed"))
    await app.look(page, "tools-returned")
    await page.get_by_role("button", name="Close").click()
    await page.wait_for_url(re.compile(r"/console/tools$"))
    await vendors.execute("UPDATE vault.accounts SET status = 'needs_reauth', reason = 'revoked'")
    await page.reload()
    await expect(_card(page, "Shop")).to_contain_text("Broken")
    await _card(page, "Shop").get_by_role("button", name="Connect again: Shop").click()
    await page.get_by_role("dialog").get_by_role("button", name="Connect again").click()
    await page.get_by_role("button", name="Continue to Vendor").click()
    await page.wait_for_url(re.compile(r"/console/tools\?returned=1"))
    await expect(_card(page, "Shop")).to_contain_text("Connected")


@pytest.mark.long
async def test_all_are_connected_in_one_go_and_one_is_disconnected(app: ConsoleApp, vendors: ConnectApp) -> None:
    """Disconnecting says what ends, and tells the vendor."""
    await vendors.vendor.sign_in_as("ben-there", email="ben@vendor.test")
    await vendors.other.sign_in_as("ben-elsewhere", email="ben@other.test")
    page = await app.open(app.user, "/tools")
    connect_all = page.get_by_role("button", name="Connect all", exact=True)
    await connect_all.wait_for()
    await page.context.set_offline(True)
    await expect(connect_all).to_be_disabled()
    await page.context.set_offline(False)
    await connect_all.click()
    await page.wait_for_url(re.compile("/connect/"))
    while "/console/" not in page.url:
        await page.get_by_role("button", name=re.compile("^Continue to")).click()
        await page.wait_for_url(re.compile(r"/connect/\w+\?|/console/tools"))
    await expect(page.get_by_role("button", name="Connect all", exact=True)).to_have_count(0)
    await expect(page.get_by_text("Needs connect").filter(visible=True)).to_have_count(0)

    page = await app.open(app.user, "/tools?disconnect=shop")
    dialog = page.get_by_role("alertdialog")
    await expect(dialog).to_contain_text("Disconnect Shop (ben@vendor.test)?")
    await expect(dialog).to_contain_text("The same account is used by till.")
    await app.look(page, "tools-disconnect-account")
    before = await vendors.revoked()
    await confirm_by_typing(page, "ben@vendor.test", "Disconnect")
    await page.get_by_text("Shop was disconnected").wait_for()
    await expect(_card(page, "Till")).to_contain_text("Needs connect")
    assert await vendors.revoked() == before + 1


@pytest.mark.long
async def test_whoever_turns_back_and_what_is_not_set_up_any_more(app: ConsoleApp, vendors: ConnectApp) -> None:
    person = await vendors.person("kim@gamma.test", "gamma", allow=["stall:read"])
    page = await app.open(person, "/tools")
    await page.get_by_role("button", name="Connect all").click()
    await page.get_by_role("link", name="Back without connecting").click()
    await page.wait_for_url(re.compile("/console/tools"))
    await expect(page.get_by_role("region", name="What came of connecting")).to_contain_text("Not connected")
    japanese = await app.open(person, "/tools", **VIEWS[SHORT_VIEW])
    await japanese.get_by_role("button", name="すべて接続").click()
    await japanese.get_by_role("link", name="接続せずに戻る").click()
    await japanese.wait_for_url(re.compile("/console/tools"))
    await expect(japanese.get_by_role("region", name="接続の結果")).to_contain_text("未接続")
    await app.look(japanese, f"tools-turned-back-{SHORT_VIEW}")
    # The page is open while an administrator takes the client away.
    await vendors.execute("DELETE FROM vault.oauth_clients WHERE tenant_id = $1", person.tenant.id)
    for opened, name, told in (
        (page, "Connect all", "None of these services can be connected yet."),
        (japanese, "すべて接続", "接続できるサービスがまだありません。"),
    ):
        await opened.get_by_role("button", name=name).click()
        await opened.get_by_role("alert").filter(has_text=told).wait_for()
        await opened.reload()
        await opened.get_by_text(told).wait_for()
        await expect(opened.get_by_role("button", name=name)).to_have_count(0)


async def test_a_role_shares_an_account(app: ConsoleApp, vendors: ConnectApp) -> None:
    await vendors.vendor.sign_in_as("team-there", email="team@vendor.test")
    role = await find_role(app.product.console, app.admin.tenant.id, app.user.email)
    page = await app.open(app.admin, f"/roles?id={role.id}&tab=accounts")
    accounts = page.get_by_role("list", name="Accounts")
    await expect(accounts).to_contain_text("No shared account")
    await accounts.get_by_role("button", name="Connect Shop for the role").click()
    await page.get_by_role("button", name="Continue to Vendor").click()
    await page.wait_for_url(re.compile(r"/console/roles\?id=.*tab=accounts"))
    await expect(accounts).to_contain_text("team@vendor.test")
    await app.look(page, "role-accounts")
    narrow = await app.open(app.admin, f"/roles?id={role.id}&tab=accounts", **VIEWS[SHORT_VIEW])
    await narrow.get_by_text("team@vendor.test").first.wait_for()
    await app.look(narrow, f"role-accounts-{SHORT_VIEW}")
    await accounts.get_by_role("button", name="Disconnect Shop from the role").click()
    question = page.get_by_role("alertdialog", name="Disconnect Shop (team@vendor.test) from the role?")
    await expect(question).to_contain_text("1 person has the role")
    await expect(question).to_contain_text("The same account is used by till.")
    await confirm_by_typing(page, "team@vendor.test", "Disconnect")
    await expect(accounts).not_to_contain_text("team@vendor.test")
    await page.get_by_role("link", name="OAuth client of the role for Shop").click()
    await page.get_by_role("button", name=f"Role {app.user.email} For").wait_for()
