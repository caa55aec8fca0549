"""The MCP Inspector's web pages with nothing but the URL, in Chromium: sign-in, consent, list, call."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, Route

from tests.clients.deployment import ClientsDeployment
from tests.clients.test_inspector import ERAS
from tests.clients.test_inspector_oauth import LAUNCHER, SECONDS
from tests.support.chromium import chromium
from tests.support.node import node_running
from tests.support.running_product import command, free_port

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.usefixtures("node_packages")]


@contextlib.asynccontextmanager
async def inspector(deployment: ClientsDeployment, home: Path, era: str) -> AsyncIterator[str]:
    """Its server, on ports of its own; the URL that it tells the person."""
    names = ("CLIENT_PORT", "MCP_SANDBOX_PORT", "MCP_APP_ORIGIN_PORT")
    variables = {name: str(free_port()) for name in names} | {"MCP_AUTO_OPEN_ENABLED": "false"}
    target = ["--server-url", deployment.mcp_url, "--transport", "http", "--protocol-era", era]
    async with node_running(LAUNCHER, "--web", *target, home=home, **variables) as process:
        assert process.stdout is not None
        said = ""
        async with asyncio.timeout(SECONDS):
            while not (found := re.search(r"(http://\S+MCP_INSPECTOR_API_TOKEN=\w+)\s", said)):
                line = (await process.stdout.readline()).decode()
                assert line, f"it ended: {said}"
                said += line
        yield found[1]


@contextlib.asynccontextmanager
async def browser_page() -> AsyncIterator[Page]:
    """It reaches this machine only: the Inspector's pages ask for a font of somebody else's."""

    async def routed(route: Route) -> None:
        await (route.continue_() if "//127.0.0.1:" in route.request.url else route.abort())

    async with chromium() as program:
        context = await program.new_context(viewport={"width": 1300, "height": 900})
        await context.route("**/*", routed)
        page = await context.new_page()
        page.set_default_timeout(30_000)
        yield page


@pytest.mark.parametrize("era", ERAS)
async def test_a_url_is_enough(deployment: ClientsDeployment, tmp_path: Path, era: str) -> None:
    link = (await command(deployment.home, deployment.port, "user", "link", "admin@localhost"))["sign_in_link"]
    async with inspector(deployment, tmp_path, era) as url, browser_page() as page:
        await page.goto(link)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(re.compile("/(?:account|console)$"))
        await page.goto(url)
        await page.get_by_role("switch", name="Connect or disconnect").click(force=True)
        await page.wait_for_url(f"{deployment.issuer}/oauth/authorize?**")
        assert await page.inner_text("h1") == "Allow MCP Inspector to use MCPist?"
        await page.get_by_role("button", name="Allow").click()
        await page.get_by_text("Authorization complete").wait_for()
        assert ERAS[era] in await page.inner_text("body")
        await page.get_by_text("Tools", exact=True).first.click()
        await page.get_by_text("get_module_schema").first.click()
        await page.get_by_role("textbox", name="module, Cursor").fill('"knowledge_graph"')
        await page.get_by_role("button", name="Execute Tool").click()
        await page.get_by_text("create_entities").first.wait_for()
