"""A person revokes an API token of theirs with the keyboard alone, on a phone, in Japanese and in the dark."""

from pathlib import Path

import pytest

from core.secret import Secret
from tests.browser.gallery import VIEWS
from tests.browser.test_sign_in import app
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize(
    ("view", "label"),
    [
        pytest.param("light", "Revoke laptop", marks=pytest.mark.long),
        ("narrow-japanese", "laptop を無効にする"),
    ],
)
async def test_a_token_is_revoked_by_keyboard(database: ScratchDatabase, tmp_path: Path, view: str, label: str) -> None:
    async with app(database, tmp_path, providers=False, **VIEWS[view]) as now:
        ada = await now.product.person(await now.product.tenant("acme"), "ada@acme.test")
        _, laptop = await now.product.tokens.create(ACTOR, ada.tenant.id, ada.id, "laptop")
        await now.page.goto(await now.identity.link(ada))
        await now.page.locator("main button").first.press("Enter")
        await now.page.goto(f"{now.identity.url}/account")
        tokens = now.page.locator("section[aria-labelledby=tokens]")
        assert await tokens.locator("li").count() == 2
        for _ in range(40):
            await now.page.keyboard.press("Tab")
            if await now.page.evaluate("document.activeElement.getAttribute('aria-label')") == label:
                break
        focused = await now.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert focused != "none", "whoever uses the keyboard sees where they are"
        await now.page.keyboard.press("Enter")
        await now.page.get_by_role("button", name=label).wait_for()
        assert await tokens.locator("li").count() == 2, "the first press only says what the second ends"
        await now.page.keyboard.press("Tab")
        await now.page.keyboard.press("Enter")
        await now.page.wait_for_url("**/account?done=token_revoked")
        assert await now.page.get_by_role("status").count() == 1
        assert await tokens.locator("li").count() == 1
        assert hasattr(await now.identity.zone.tokens.verify(laptop), "reason")
        assert not hasattr(await now.identity.zone.tokens.verify(Secret(ada.token)), "reason")
        now.watched.check(now.identity.url)
