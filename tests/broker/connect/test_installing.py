"""A GitHub App is installed and authorized in one step: state, and what of the answer counts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.broker.connect.connect_app import Browser, parameters, shown
from tests.broker.connect.test_vendor_habits import PROVIDER, Market, market_of
from tests.support.postgres import ScratchDatabase

INSTALLATIONS = "/user/installations"


@asynccontextmanager
async def installable(database: ScratchDatabase, folder: Path, installed: int) -> AsyncIterator[Market]:
    """A tenant whose OAuth client knows the page of its App, which is installed so many times."""
    async with market_of("github", database, folder) as market:
        client, tenant = market.vendor.client, market.ada.tenant
        settings = {**client.settings, "install_url": f"{market.vendor.url}/apps/mcpist/installations/new?from=us"}
        assert client.secret is not None
        await market.app.register(tenant, PROVIDER, client.client_id, client.secret.reveal(), settings=settings)
        market.vendor.resources[INSTALLATIONS] = {"total_count": installed, "installations": []}
        yield market


async def installed(market: Market, browser: Browser, **more: str) -> str:
    """Begin, and install at the vendor: the address to which it sends the browser back."""
    url = await browser.start("shop", PROVIDER, install="on")
    assert url.startswith(f"{market.vendor.url}/apps/mcpist/installations/new?")
    asked = parameters(url)
    assert asked.keys() == {"from", "state"}
    redirect_uri = f"{market.app.url}/connect/callback/{PROVIDER}"
    code = market.vendor.state.consent([], redirect_uri, "", (), {})
    answer = {"code": code, "installation_id": "1", "setup_action": "install", "state": asked["state"], **more}
    return f"/connect/callback/{PROVIDER}?{urlencode(answer)}"


async def test_install_and_connect_in_one_step(database: ScratchDatabase, tmp_path: Path) -> None:
    async with installable(database, tmp_path, 1) as market, market.app.browser(market.ada) as browser:
        assert "Install and connect at GitHub" in shown(await browser.get("/connect/shop"))
        page = await browser.get(await installed(market, browser))
        assert "Shop is connected" in shown(page), shown(page)
        assert "installed nowhere" not in shown(page)
        assert "Install and connect" not in shown(page)
        (account,) = await market.app.accounts()
        assert account["vendor_account_id"] == "583231"
        assert "installation" not in str(dict(account))
        assert market.vendor.wrong == []


async def test_a_grant_that_reaches_nothing_is_led_to_the_same_step(database: ScratchDatabase, tmp_path: Path) -> None:
    async with installable(database, tmp_path, 0) as market, market.app.browser(market.ada) as browser:
        _, back = await market.answer(browser)
        page = await browser.get(back)
        assert "installed nowhere" in shown(page)
        assert "Install and connect at GitHub" in shown(page)
        market.vendor.resources[INSTALLATIONS] = {"total_count": 1}
        assert "installed nowhere" not in shown(await browser.get(await installed(market, browser)))


async def test_what_the_vendor_says_of_the_installation_is_not_believed(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    """Anybody can write an address with an installation's id."""
    async with installable(database, tmp_path, 0) as market, market.app.browser(market.ada) as browser:
        page = await browser.get(await installed(market, browser, installation_id="999999"))
        assert "installed nowhere" in shown(page)


async def test_an_answer_counts_once_and_in_its_session(database: ScratchDatabase, tmp_path: Path) -> None:
    async with installable(database, tmp_path, 1) as market:
        eve = await market.app.person("eve@acme.test", allow=["shop.*"])
        async with market.app.browser(market.ada) as browser, market.app.browser(eve) as other:
            back = await installed(market, browser)
            assert "not started in this browser" in shown(await other.get(back))
            assert "Shop is connected" in shown(await browser.get(back))
            assert "not started in this browser" in shown(await browser.get(back))


@pytest.mark.parametrize("action", ["install", "update", "request"])
async def test_who_comes_from_an_installation_of_their_own_is_led_to_the_list(
    database: ScratchDatabase, tmp_path: Path, action: str
) -> None:
    async with installable(database, tmp_path, 1) as market, market.app.browser(market.ada) as browser:
        code = market.vendor.state.consent([], f"{market.app.url}/connect/callback/{PROVIDER}", "", (), {})
        answer = {"code": code, "installation_id": "1", "setup_action": action}
        page = await browser.get(f"/connect/callback/{PROVIDER}?{urlencode(answer)}")
        assert page.url.path == "/connect"
        await market.app.nothing_stored()
        assert market.vendor.asked == []
        for other in ({"code": code}, {**answer, "state": "made-up"}, {**answer, "setup_action": "x"}):
            refused = await browser.get(f"/connect/callback/{PROVIDER}?{urlencode(other)}")
            assert "not started in this browser" in shown(refused)


async def test_who_may_only_ask_an_owner_reads_so(database: ScratchDatabase, tmp_path: Path) -> None:
    async with installable(database, tmp_path, 0) as market, market.app.browser(market.ada) as browser:
        back = await installed(market, browser, code="", setup_action="request", installation_id="")
        page = await browser.get(back)
        assert "an owner was asked to" in shown(page)
        await market.app.nothing_stored()


async def test_without_the_page_there_is_no_such_step(database: ScratchDatabase, tmp_path: Path) -> None:
    async with market_of("github", database, tmp_path) as market, market.app.browser(market.ada) as browser:
        market.vendor.resources[INSTALLATIONS] = {"total_count": 1}
        assert "Install and connect" not in shown(await browser.get("/connect/shop"))
        page = await browser.follow("/connect/shop", provider=PROVIDER, install="on")
        assert page.status_code == 400
