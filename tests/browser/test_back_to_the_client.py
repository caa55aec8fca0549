"""The last step back to a client, where a form of ours began the chain: Chromium holds redirects against its page."""

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser.test_sign_in import ADA, app
from tests.support.postgres import ScratchDatabase

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_one_time_link_leads_to_a_client_that_was_allowed_before(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    async with app(database, tmp_path, providers=False) as now:
        acme = await now.product.tenant("acme")
        ada = await now.product.person(acme, ADA)
        registered = await now.identity.client(acme, "http://127.0.0.1/callback", name="Claude Code")
        await now.page.goto(await now.identity.link(ada, "/account"))
        await now.page.get_by_role("button", name="Sign in").click()
        await now.page.wait_for_url("**/account")
        asked = now.client.authorize(now.identity.url, registered.id)
        await now.page.goto(asked)
        first = await now.allow()
        await now.watched.context.clear_cookies()
        link = await now.identity.link(ada)
        await now.page.goto(f"{link}&next={quote(asked.removeprefix(now.identity.url), safe='')}")
        await now.page.get_by_role("button", name="Sign in").click()
        assert (await now.answered())["code"] != first["code"]
        now.check()
