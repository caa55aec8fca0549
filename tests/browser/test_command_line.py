"""`mcpist login` with a real browser: sign in, agree, come back to a port of this machine; again, when that is old."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.test_sign_in import ADA, SignInApp, app
from tests.cli.laptop import Goes, Laptop
from tests.support.postgres import ScratchDatabase

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def person(now: SignInApp, seen: list[str]) -> Goes:
    """They follow the link, sign in where they are asked to, and agree."""

    async def goes(link: str) -> None:
        await now.page.goto(link)
        if await now.page.inner_text("h1") == "Sign in":
            seen.append(await now.page.inner_text("main"))
            await now.page.get_by_role("button", name="Company").click()
        await now.page.wait_for_selector("h1:has-text('Allow MCPist command line')")
        seen.append(await now.page.inner_text("main"))
        await now.page.get_by_role("button", name="Allow").click()
        await now.page.wait_for_url("http://127.0.0.1:*/callback?**")
        seen.append(await now.page.inner_text("main"))
        now.watched.origins.discard("http://" + urlsplit(now.page.url).netloc)

    return goes


async def test_login_and_a_token_that_needs_a_new_sign_in(database: ScratchDatabase, tmp_path: Path) -> None:
    async with app(database, tmp_path / "product") as now:
        acme = await now.product.tenant("acme")
        await now.identity.let_in(acme, "@acme.test")
        await now.identity.company.sign_in_as(ADA)
        laptop, seen = Laptop(tmp_path / "laptop"), list[str]()
        login = await laptop.run("login", now.identity.url, "--no-browser", goes=person(now, seen))
        assert login.code == 0, login.err
        assert "this computer" in seen[1]
        assert "You can close this window" in seen[2]
        async with now.product.database.admin_connection() as admin:
            for table in ("sessions", "grants"):
                await admin.execute(f"UPDATE auth.{table} SET authenticated_at = now() - interval '11 minutes'")
        seen.clear()
        made = await laptop.run("token", "create", "--json", goes=person(now, seen))
        assert made.code == 0, made.err
        assert "Sign in again to confirm" in seen[0]
        now.watched.check(*now.identity.origins)
