"""A new data folder: from the link that `mcpist up` prints to the first call of a client, by clicks alone."""

import re

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import Page, expect

from tests.console.console_app import DEFAULT_OPTIONS, PICTURES, TIMEOUT_MS, require_console
from tests.support.chromium import chromium, watch
from tests.support.running_product import Product, data_folder, running

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_the_printed_link_leads_to_the_first_call() -> None:
    require_console()
    PICTURES.mkdir(parents=True, exist_ok=True)
    with data_folder() as home:
        async with running(home) as product, chromium() as browser:
            context = await browser.new_context(**DEFAULT_OPTIONS)
            watched = watch(context)
            page = await watched.page()
            page.set_default_timeout(TIMEOUT_MS)
            await _sign_in(page, product)
            await _name(page)
            await _leave_and_resume(page)
            await _call(page, product)
            await page.screenshot(path=PICTURES / "first-run-called.png")
            await page.get_by_role("button", name="Finish the set-up").click()
            await page.get_by_text("What to do next").wait_for()
            await expect(page.get_by_role("link", name="Continue set-up")).to_have_count(0)
            watched.check(product.url.removesuffix("/mcp"))
            await context.close()


async def _sign_in(page: Page, product: Product) -> None:
    await page.goto(product.ready["sign_in_link"])
    await page.screenshot(path=PICTURES / "first-run-link.png")
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/console**")
    await page.get_by_role("heading", name="Who are you?").wait_for()
    await page.screenshot(path=PICTURES / "first-run-start.png")


async def _name(page: Page) -> None:
    await page.get_by_role("textbox", name="Company").fill("Fresh 果物 GmbH")
    await page.get_by_role("textbox", name="Your name").fill("Cleo")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_role("heading", name="Connect an account of yours").wait_for()
    await expect(page.get_by_role("link", name=re.compile("^Name.*done"))).to_be_visible()


async def _leave_and_resume(page: Page) -> None:
    await page.get_by_role("link", name="Leave for now").click()
    await page.get_by_role("link", name="Continue set-up").first.click()
    await page.get_by_role("heading", name="Connect an account of yours").wait_for()
    await page.get_by_role("link", name="Client", exact=True).click()
    await page.get_by_text(re.compile("claude mcp add .*/mcp")).first.wait_for()


async def _call(page: Page, product: Product) -> None:
    """The page says that a call has come, without being read anew."""
    await page.get_by_role("link", name="First call", exact=True).click()
    await page.get_by_text("Waiting for the first call").wait_for()
    headers = {"Authorization": f"Bearer {product.ready['api_token']}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(product.url, http_client=http)) as connected,
    ):
        arguments = {"module": "knowledge_graph", "tool_name": "read_graph", "params": {}}
        assert not (await connected.call_tool("call", arguments)).is_error
    await page.get_by_role("button", name="Finish the set-up").wait_for()
