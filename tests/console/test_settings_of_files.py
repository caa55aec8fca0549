"""Identity providers and senders of identity.toml and notices.toml: shown, and changed in the files only."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.console.console_app import SHORT_VIEW, VIEWS, ConsoleApp, console_app
from tests.support import postgres

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
NOTICES = """
[mail]
server = "smtp.acme.test"
sender = "MCPist <mcpist@acme.test>"
user = "mcpist"
password = "made-up-password-77"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(
    share_browser: None, database_server: postgres.DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ConsoleApp]:
    """A console whose identity provider and mail server stand in files."""
    folder = tmp_path_factory.mktemp("console")
    notices = tmp_path_factory.mktemp("files") / "notices.toml"
    notices.touch(mode=0o600)
    notices.write_text(NOTICES)
    async with (
        database_server.database() as database,
        console_app(database, folder, providers=True, notices_file=notices) as running,
    ):
        yield running
        running.check()


async def test_an_identity_provider_of_the_file_is_read_only(app: ConsoleApp) -> None:
    page = await app.open(await app.add_operator(), "/identity")
    row = page.get_by_role("row").filter(has_text="Company")
    await expect(row).to_contain_text("File")
    await row.get_by_role("link").click()
    panel = page.get_by_role("dialog", name="Company")
    await expect(panel).to_contain_text("It stands in identity.toml and is changed there")
    await expect(panel).to_contain_text(app.identity.company.issuer)
    await expect(panel.locator("input:not([readonly])")).to_have_count(0)
    await expect(panel.get_by_role("button", name="Remove provider")).to_have_count(0)
    assert app.identity.company.client_secret not in await page.content()
    await app.look(page, "identity-of-file")


async def test_a_mail_server_of_the_file_is_read_only_and_the_webhook_is_set(app: ConsoleApp) -> None:
    page = await app.open(await app.add_operator(), "/senders")
    await page.get_by_text("It stands in notices.toml and is changed there").wait_for()
    await page.get_by_text("smtp.acme.test").wait_for()
    assert "made-up-password-77" not in await page.content()
    await expect(page.get_by_role("form", name="Mail server")).to_have_count(0)
    form = page.get_by_role("form", name="Webhook")
    secret = form.get_by_label("Signing secret")
    await expect(form).to_contain_text("whsec_ and at least 24 random bytes")
    await form.get_by_label("URL").fill("https://127.0.0.1:1/events")
    await secret.fill("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    await form.get_by_role("button", name="Try").click()
    await expect(form.get_by_role("list", name="Trial")).to_contain_text("the receiver did not answer 2xx")
    await form.get_by_text("Save it although a check fails").click()
    await form.get_by_role("button", name="Save").click()
    await page.get_by_text("The webhook was saved").wait_for()
    await expect(secret).to_have_value("")
    await expect(form).to_contain_text("it is needed again if the address changes.")
    await app.look(page, "senders-webhook")
    narrow = await app.open(await app.add_operator(), "/senders", **VIEWS[SHORT_VIEW])
    await narrow.get_by_text("smtp.acme.test").wait_for()
    await app.look(narrow, f"senders-of-file-{SHORT_VIEW}")
