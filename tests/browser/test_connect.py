"""An account is connected in a real browser, at a real OAuth server."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from tests.broker.connect.connect_app import ConnectApp, vendors_on
from tests.support.chromium import Watched, chromium, watch
from tests.support.postgres import ScratchDatabase

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@dataclass(slots=True)
class Seen:
    """One browser and what it looks at."""

    app: ConnectApp
    watched: Watched
    page: Page

    def check(self) -> None:
        self.watched.check(self.app.url, self.app.vendor.issuer, self.app.other.issuer)


@contextlib.asynccontextmanager
async def seen(database: ScratchDatabase, folder: Path, **view: Any) -> AsyncIterator[Seen]:
    """Ada, signed in, whose roles give her all of the shop and the till, and the stall."""
    async with chromium() as browser, vendors_on(database, folder) as app:
        watched = watch(await browser.new_context(**view))
        page = await watched.page()
        page.set_default_timeout(20_000)
        ada = await app.person("ada@acme.test", allow=["shop.*", "till.*", "stall:read"])
        await page.goto(await app.identity.link(ada, "/account"))
        await page.locator("main button").click()
        await page.wait_for_url("**/account")
        yield Seen(app, watched, page)


async def test_connect_more_disconnect(database: ScratchDatabase, tmp_path: Path) -> None:
    async with seen(database, tmp_path, java_script_enabled=False) as now:
        await now.app.vendor.sign_in_as("ada-there", email="ada@vendor.test")
        await now.page.goto(f"{now.app.url}/connect")
        await now.page.get_by_role("link", name="Connect: Shop").click()
        assert "Tools that only read (1)" in await now.page.inner_text("main")
        await now.page.get_by_role("button", name="Continue to Vendor").click()
        await now.page.wait_for_url("**/connect/shop?done=connected")
        text = await now.page.inner_text("main")
        assert "Shop is connected" in text
        assert "Connected as ada@vendor.test" in text
        await now.page.get_by_role("button", name="Allow changes too").click()
        await now.page.wait_for_url("**/connect/shop?done=connected")
        assert await now.page.get_by_role("button", name="Allow changes too").count() == 0
        await now.page.get_by_text("Disconnect…").click()
        await now.page.get_by_role("button", name="Disconnect").click()
        await now.page.wait_for_url("**/connect/shop?done=disconnected")
        await now.app.nothing_stored()
        now.check()


@pytest.mark.long
async def test_all_of_them_in_japanese_on_a_narrow_screen_without_a_script(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    view = {"viewport": {"width": 320, "height": 640}, "locale": "ja-JP", "java_script_enabled": False}
    async with seen(database, tmp_path, **view) as now:
        await now.page.goto(f"{now.app.url}/connect")
        await now.page.get_by_role("button", name="3 件を順番に接続する").click()
        assert "3 件中 1 件目" in await now.page.inner_text("main")
        await now.page.get_by_role("checkbox", name="Till").uncheck()
        await now.page.get_by_role("button", name="Vendor に進む").click()
        await now.page.wait_for_url("**/connect/stall?*after=shop*")
        assert "Shop を接続しました" in await now.page.inner_text("main")
        await now.page.get_by_role("link", name="このサービスを飛ばす").click()
        assert "3 件中 3 件目" in await now.page.inner_text("main")
        await now.page.get_by_role("button", name="Vendor に進む").click()
        await now.page.wait_for_url("**/connect?done=connected*")
        rows = await now.app.rows("SELECT module FROM vault.credentials ORDER BY module")
        assert [row["module"] for row in rows] == ["shop", "till"]
        now.check()
