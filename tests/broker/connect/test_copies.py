"""A restored copy that nobody has adopted connects nothing and ends nothing: no vendor hears a word, and the person
reads why."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import urlsplit

import httpx2

from broker.vault.deployment_guard import mark_as_copy
from tests.broker.connect.connect_app import ConnectApp, shown
from tests.support.identity import identity_on


@contextlib.asynccontextmanager
async def copied(app: ConnectApp) -> AsyncIterator[ConnectApp]:
    """The same app, as a process sees it that has started on a copy."""
    await mark_as_copy(app.identity.zone.database)
    hosts = [urlsplit(one).netloc for one in (app.vendor.issuer, app.other.issuer, app.shop.url)]
    async with identity_on(app.product, providers=False, allowed_private_hosts=hosts) as identity:
        yield replace(app, identity=identity)


def names_the_copy(page: httpx2.Response) -> bool:
    return page.status_code == 503 and "a copy" in shown(page) and "mcpist adopt" in shown(page)


async def test_nothing_is_asked_of_any_vendor(app: ConnectApp) -> None:
    ada = await app.person("ada@acme.test", allow=["shop.*", "till.*", "kiosk.*"])
    app.shop.tokens["good-key"] = "Ada"
    async with app.browser(ada) as browser:
        await browser.connect("till")
        await browser.follow("/connect/kiosk/key", key="good-key")
        back = await browser.consent(await browser.start())
        browser.leave_vendors()
        await app.vendor.sign_in_as("second", email="second@vendor.test")
        question = urlsplit(str((await browser.connect("till")).url)).path
        before, keys = await app.accounts(), await app.rows("SELECT * FROM vault.credentials ORDER BY id")
        counters, asked = (await app.vendor.told())["counters"], list(app.shop.asked)
        async with copied(app) as copy:
            browser.url = copy.url  # the same browser, session and all
            for page in (
                await browser.post("/connect/shop", provider="vendor"),
                await browser.get("/connect/callback/vendor?" + urlsplit(back).query),
                await browser.post("/connect/kiosk/key", key="good-key"),
                await browser.post("/connect/till/disconnect"),
                await browser.post("/connect/kiosk/disconnect"),
                await browser.get(question),
                await browser.post(question, decision="connect"),
                await browser.post(question, decision="keep"),
            ):
                assert names_the_copy(page), (page.status_code, shown(page))
            browser.http.headers["Accept-Language"] = "ja"
            page = await browser.post("/connect/kiosk/key", key="good-key")
            assert "コピー" in shown(page)
            assert "mcpist adopt" in shown(page)
            assert (await browser.get("/connect")).status_code == 200
    assert (await app.vendor.told())["counters"] == counters
    assert app.shop.asked == asked
    assert await app.accounts() == before
    assert await app.rows("SELECT * FROM vault.credentials ORDER BY id") == keys
