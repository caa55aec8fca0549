"""An OAuth client at a service, and a provider that was found by its metadata, at a real authorization server."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from tests.broker.connect.connect_app import provider_document
from tests.console.console_app import ConsoleApp, console_app
from tests.support import postgres

expect.set_options(timeout=15_000)
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
WRONG = "none-of-theirs-77"
SEND = """([name, document]) => fetch(`/api/v1/providers/${name}`, {method: 'PUT', body: JSON.stringify({document}),
    headers: {'Content-Type': 'application/json'}}).then(answer => answer.status)"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(
    share_browser: None, database_server: postgres.DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ConsoleApp]:
    """The console beside an authorization server that MCPist may ask."""
    async with (
        database_server.database() as database,
        console_app(database, tmp_path_factory.mktemp("console"), providers=True, in_file=False) as running,
    ):
        yield running
        running.check()


async def _store(section: Locator, client_id: str, secret: str) -> None:
    await section.get_by_label("Client ID").fill(client_id)
    await section.get_by_label("Client secret").fill(secret)
    await section.get_by_role("button", name="Save").click()
    await expect(section.get_by_label("Client secret")).to_have_value("")


@pytest.mark.long
async def test_the_test_of_a_client_says_what_is_wrong(app: ConsoleApp) -> None:
    vendor = app.identity.company
    page = await app.open(app.admin, "/services?view=providers")
    document = provider_document(vendor, modules=("notion",), title="Shop")
    assert await page.evaluate(SEND, ["shop", document]) == 201
    await page.goto(f"{app.identity.url}/console/services?id=notion&tab=oauth")
    section = page.get_by_role("dialog").locator("section").filter(has=page.get_by_role("heading", name="Shop"))
    verdict = section.get_by_role("status").last
    test = section.get_by_role("button", name="Test")
    await _store(section, vendor.client_id, vendor.client_secret)
    await test.click()
    await expect(verdict).to_contain_text("Accepted The vendor knows the client ID and takes its secret.")
    await vendor.control({"faults": [_refuse("redirect_uri_mismatch")]})
    await test.click()
    await expect(verdict).to_contain_text("Refused The vendor refuses the redirect URI. Register the one above.")
    await vendor.control({"faults": [{"grant": "authorization_code", "kind": "hang_up_before", "times": 9}]})
    await test.click()
    await expect(verdict).to_contain_text("The vendor cannot be reached now.")
    await app.look(page, "service-oauth-away")
    await vendor.control({"faults": []})
    await _store(section, vendor.client_id, WRONG)
    await test.click()
    await expect(verdict).to_contain_text("Refused The vendor refuses the client ID or its secret.")
    await app.look(page, "service-oauth-refused")
    assert WRONG not in await page.content()


def _refuse(error: str) -> dict[str, object]:
    return {"grant": "authorization_code", "kind": "status", "status": 400, "body": {"error": error}}


async def test_a_provider_is_found_by_its_metadata(app: ConsoleApp) -> None:
    vendor = app.identity.company
    page = await app.open(app.admin, "/services?view=providers&dialog=add-provider")
    dialog = page.get_by_role("dialog", name="Add provider")
    await dialog.get_by_label("Address").fill(vendor.issuer)
    await dialog.get_by_role("button", name="Read the metadata").click()
    field = dialog.get_by_role("textbox", name="Document")
    await field.wait_for()
    oauth = json.loads(await field.input_value())["oauth"]
    assert (oauth["issuer"], oauth["token_url"]) == (vendor.issuer, f"{vendor.issuer}/token")
    assert "/" not in await dialog.get_by_label("Identifier").input_value(), "not the address that was typed before"
    await app.look(page, "provider-found")
    await dialog.get_by_label("Identifier").fill("found")
    await dialog.get_by_role("button", name="Add provider").or_(dialog.get_by_role("button", name="Add")).last.click()
    await page.get_by_text("Provider found was added").wait_for()
    await page.wait_for_url("**/services?view=providers&id=found")
