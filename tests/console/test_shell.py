"""What is around every page of the console, in a real browser under the real policy."""

import pytest

from tests.console.console_app import NARROW, ConsoleApp

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


@pytest.mark.parametrize("view", ["light", "dark", "narrow", "japanese"])
async def test_the_shell_in_every_view(app: ConsoleApp, view: str) -> None:
    options = {
        "light": {},
        "dark": {"color_scheme": "dark"},
        "narrow": {"viewport": NARROW},
        "japanese": {"locale": "ja-JP"},
    }[view]
    page = await app.open(app.admin, "/users", **options)
    await page.get_by_role("table").wait_for()
    await app.look(page, f"users-{view}")
    assert await page.get_attribute("html", "lang") == ("ja" if view == "japanese" else "en")
