"""People sign in and agree, in a real browser, with a real identity provider and a client on this computer."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from playwright.async_api import Page

from tests.support.chromium import Watched, chromium, watch
from tests.support.directory import create_tenant
from tests.support.identity import Identity, identity_on
from tests.support.loopback_client import LoopbackClient, loopback_client
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Product, product_on

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ADA = "ada@acme.test"


@dataclass(slots=True)
class SignInApp:
    """One browser, one product, one client."""

    identity: Identity
    client: LoopbackClient
    watched: Watched
    page: Page

    @property
    def product(self) -> Product:
        return self.identity.product

    def check(self) -> None:
        """Nothing happened that should not, and nobody else was asked for anything."""
        self.watched.check(self.client.origin, *self.identity.origins)

    async def allow(self) -> dict[str, str]:
        """Press Allow; what the client hears."""
        await self.page.get_by_role("button", name="Allow").click()
        return await self.answered()

    async def answered(self) -> dict[str, str]:
        await self.page.wait_for_url(f"{self.client.redirect_uri}?**")
        return self.client.answers[-1]


@contextlib.asynccontextmanager
async def app(
    database: ScratchDatabase, folder: Path, *, providers: bool = True, server: Any = None, **context: Any
) -> AsyncIterator[SignInApp]:
    async with (
        chromium() as browser,
        product_on(database, folder) as product,
        identity_on(product, providers=providers, server=server) as identity,
        loopback_client() as client,
    ):
        watched = watch(await browser.new_context(**context))
        page = await watched.page()
        page.set_default_timeout(15_000)
        yield SignInApp(identity, client, watched, page)


async def _token(app: SignInApp, client_id: str, code: str) -> httpx2.Response:
    async with httpx2.AsyncClient() as http:
        return await http.post(f"{app.identity.url}/oauth/token", data=app.client.redemption(code, client_id))


async def _listed_tools(app: SignInApp, token: str) -> httpx2.Response:
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    async with httpx2.AsyncClient(headers=headers) as http:
        return await http.post(f"{app.identity.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})


async def test_from_the_client_through_sign_in_and_consent_and_back(database: ScratchDatabase, tmp_path: Path) -> None:
    async with app(database, tmp_path) as now:
        acme = await now.product.tenant("acme")
        await now.identity.let_in(acme, "@acme.test")
        await now.identity.company.sign_in_as(ADA)
        registered = await now.identity.client(acme, "http://127.0.0.1/callback", name="Claude Code")
        await now.page.goto(now.client.authorize(now.identity.url, registered.id))
        assert await now.page.inner_text("h1") == "Sign in"
        await now.page.get_by_role("button", name="Company").click()
        await now.page.wait_for_selector("h1:has-text('Allow Claude Code')")
        facts = await now.page.inner_text("dl")
        assert ADA in facts
        assert now.client.origin.removeprefix("http://") in facts
        answer = await now.allow()
        assert answer["state"] == now.client.state
        assert answer["iss"] == now.identity.url
        tokens = await _token(now, registered.id, answer["code"])
        assert tokens.status_code == 200, tokens.text
        listed = await _listed_tools(now, tokens.json()["access_token"])
        assert listed.status_code == 200, listed.text
        # The second time nobody is asked anything.
        await now.page.goto(now.client.authorize(now.identity.url, registered.id))
        assert (await now.answered())["code"] != answer["code"]
        now.check()


async def test_without_javascript_in_japanese_on_a_narrow_screen(database: ScratchDatabase, tmp_path: Path) -> None:
    view = {"viewport": {"width": 320, "height": 640}, "locale": "ja-JP", "java_script_enabled": False}
    async with app(database, tmp_path, **view) as now:
        acme = await now.product.tenant("acme")
        await now.identity.let_in(acme, ADA)
        await now.identity.company.sign_in_as(ADA)
        registered = await now.identity.client(acme, "http://127.0.0.1/callback")
        await now.page.goto(now.client.authorize(now.identity.url, registered.id))
        await now.page.get_by_role("button", name="Company で続ける").click()
        await now.page.get_by_role("button", name="許可する").click()
        assert "code" in await now.answered()
        now.check()


async def test_deny(database: ScratchDatabase, tmp_path: Path) -> None:
    async with app(database, tmp_path, providers=False) as now:
        acme = await now.product.tenant("acme")
        ada = await now.product.person(acme, ADA)
        registered = await now.identity.client(acme, "http://127.0.0.1/callback")
        await now.page.goto(await now.identity.link(ada, "/account"))
        assert ADA in await now.page.inner_text("main")
        await now.page.get_by_role("button", name="Sign in").click()
        await now.page.wait_for_url("**/account")
        await now.page.goto(now.client.authorize(now.identity.url, registered.id))
        await now.page.get_by_role("button", name="Deny").click()
        answer = await now.answered()
        assert (answer["error"], answer["state"], answer["iss"]) == (
            "access_denied",
            now.client.state,
            now.identity.url,
        )
        assert "code" not in answer
        now.check()


async def test_a_refused_person_reads_why_and_whom_to_ask(database: ScratchDatabase, tmp_path: Path) -> None:
    async with app(database, tmp_path) as now:
        acme = await now.product.tenant("acme")
        await now.identity.let_in(acme, "@acme.test")
        await now.identity.company.sign_in_as("eve@elsewhere.test")
        await now.page.goto(f"{now.identity.url}/sign-in")
        await now.page.get_by_role("button", name="Company").click()
        await now.page.wait_for_selector("h1:has-text('no access')")
        text = await now.page.inner_text("main")
        assert "eve@elsewhere.test" in text
        assert "administrator" in text
        assert not [one for one in await now.watched.context.cookies() if one.get("name") == "mcpist-session"]
        now.check()


async def test_who_is_in_several_tenants_chooses(database: ScratchDatabase, tmp_path: Path) -> None:
    async with app(database, tmp_path) as now:
        for slug in ("acme", "umbrella"):
            tenant = await create_tenant(now.product.console, ACTOR, slug, slug.capitalize())
            await now.identity.let_in(tenant, ADA)
        await now.identity.company.sign_in_as(ADA)
        await now.page.goto(f"{now.identity.url}/sign-in?next=%2Faccount")
        await now.page.get_by_role("button", name="Company").click()
        await now.page.get_by_role("button", name="Umbrella").click()
        await now.page.wait_for_url("**/account")
        assert f"{ADA} in Umbrella" in await now.page.inner_text("main")
        await now.page.get_by_role("button", name="Sign out").last.click()
        await now.page.wait_for_url("**/signed-out")
        await now.page.goto(f"{now.identity.url}/account")
        assert await now.page.inner_text("h1") == "Sign in"
        now.check()


async def test_an_application_that_named_itself_is_announced_as_one(database: ScratchDatabase, tmp_path: Path) -> None:
    async with app(database, tmp_path, providers=False, server={"dynamic_registration": True}) as now:
        ada = await now.product.person(await now.product.tenant("acme"), ADA)
        async with httpx2.AsyncClient() as http:
            asked = {"client_name": f"Claude {PAYLOAD}", "redirect_uris": [now.client.redirect_uri]}
            made = await http.post(f"{now.identity.url}/oauth/register", json=asked)
        assert made.status_code == 201, made.text
        await now.page.goto(await now.identity.link(ada, "/account"))
        await now.page.get_by_role("button", name="Sign in").click()
        await now.page.wait_for_url("**/account")
        await now.page.goto(now.client.authorize(now.identity.url, made.json()["client_id"]))
        text = await now.page.inner_text("main")
        assert "Nobody has verified this application" in text
        assert "You will be sent back to a program on this computer" in text
        assert "alert(1)" in text
        await now.allow()
        now.check()


PAYLOAD = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
AGENT = "<img/src=x/onerror=alert(3)>"


@pytest.mark.no_canary("it sends attacks that other tests send as well for a code")
@pytest.mark.long
async def test_names_that_others_chose_stay_text(database: ScratchDatabase, tmp_path: Path) -> None:
    async with app(database, tmp_path, user_agent=AGENT) as now:
        acme = await create_tenant(now.product.console, ACTOR, "acme", IMAGE)
        other = await create_tenant(now.product.console, ACTOR, "other", PAYLOAD)
        for tenant in (acme, other):
            await now.identity.let_in(tenant, "@acme.test")
        await now.identity.company.sign_in_as(ADA, name=PAYLOAD)
        registered = await now.identity.client(acme, "http://127.0.0.1/callback", name=f"Tool {PAYLOAD}")
        await now.page.goto(now.client.authorize(now.identity.url, registered.id))
        await now.page.get_by_role("button", name="Company").click()
        await now.page.wait_for_selector("h1:has-text('Choose')")
        assert PAYLOAD in await now.page.inner_text("main")
        await now.page.get_by_role("button", name=IMAGE).click()
        await now.page.wait_for_selector("h1:has-text('Allow Tool')")
        text = await now.page.inner_text("main")
        assert PAYLOAD in text
        assert IMAGE in text
        answer = await now.allow()
        assert (await _token(now, registered.id, answer["code"])).status_code == 200
        hostile = quote(f"\"{IMAGE}'{PAYLOAD}")
        for path in ("/account", f"/account?done={hostile}", f"/sign-in?next={hostile}&notice={hostile}"):
            await now.page.goto(f"{now.identity.url}{path}")
            assert await now.page.locator("main img, main script").count() == 0
            if path.startswith("/account"):
                text = await now.page.inner_text("main")
                assert PAYLOAD in text
                assert IMAGE in text
                assert AGENT in text
        for path in (f"/sign-in/callback/company?error={hostile}&state=x", f"/sign-in/link?code={hostile}"):
            await now.page.goto(f"{now.identity.url}{path}")
            assert await now.page.locator("main img, main script").count() == 0
        await now.page.goto(f"{now.identity.url}/oauth/authorize?client_id={hostile}&redirect_uri={hostile}")
        assert await now.page.locator("main img, main script").count() == 0
        now.check()


async def test_keyboard_only(database: ScratchDatabase, tmp_path: Path) -> None:
    async with app(database, tmp_path, providers=False) as now:
        acme = await now.product.tenant("acme")
        ada = await now.product.person(acme, ADA)
        registered = await now.identity.client(acme, "http://127.0.0.1/callback")
        await now.page.goto(await now.identity.link(ada, "/account"))
        await _press_by_keyboard(now.page, "Sign in")
        await now.page.wait_for_url("**/account")
        await now.page.goto(now.client.authorize(now.identity.url, registered.id))
        await _press_by_keyboard(now.page, "Allow")
        assert "code" in await now.answered()
        now.check()


async def _press_by_keyboard(page: Page, name: str) -> None:
    for _ in range(20):
        await page.keyboard.press("Tab")
        if await page.evaluate("() => document.activeElement.textContent.trim()") == name:
            await page.keyboard.press("Enter")
            return
    raise AssertionError(f"{name} cannot be reached by Tab")


async def test_a_one_time_link_leads_on_to_a_provider_whose_account_it_links(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    async with app(database, tmp_path, java_script_enabled=False) as now:
        ada = await now.product.person(await now.product.tenant("acme"), ADA)
        await now.identity.company.sign_in_as("ada@home.test")
        await now.page.goto(await now.identity.link(ada, "/account"))
        assert "signs you in as" in await now.page.inner_text("main")
        await now.page.get_by_role("button", name="Sign in with Company").click()
        await now.page.wait_for_url("**/account*")
        linked = now.page.locator("section[aria-labelledby=identities]")
        assert "ada@home.test" in await linked.inner_text()
        await now.page.get_by_role("button", name="Sign out", exact=True).click()
        await now.page.wait_for_url("**/signed-out")
        await now.page.goto(f"{now.identity.url}/sign-in?next=%2Faccount")
        await now.page.get_by_role("button", name="Company").click()
        await now.page.wait_for_url("**/account")
        assert f"{ADA} in acme" in await now.page.inner_text("main")
        now.check()


async def test_a_one_time_link_works_once_and_in_one_browser(database: ScratchDatabase, tmp_path: Path) -> None:
    async with app(database, tmp_path, providers=False) as now:
        acme = await now.product.tenant("acme")
        ada = await now.product.person(acme, ADA)
        link = await now.identity.link(ada, "/account")
        await now.page.goto(link)
        await now.page.get_by_role("button", name="Sign in").click()
        await now.page.wait_for_url("**/account")
        await now.watched.context.clear_cookies()
        await now.page.goto(link)
        assert await now.page.inner_text("h1") == "This link no longer works"
        await now.page.goto(f"{now.identity.url}/account")
        assert "one-time link" in await now.page.inner_text("main")
        now.check()
