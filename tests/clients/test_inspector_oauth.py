"""The MCP Inspector with nothing but the URL: discovery, registration, sign-in and consent in a browser, list, call."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.clients.browser_person import BrowserPerson
from tests.clients.deployment import ClientsDeployment, signed_in
from tests.clients.story import META_TOOLS
from tests.clients.test_inspector import AUTH_REQUIRED, ERAS, OK, call_arguments, result_of, run_inspector
from tests.support.chromium import chromium
from tests.support.node import NodeRun, node_running, package_file
from tests.support.running_product import command, free_port

pytestmark = pytest.mark.usefixtures("node_packages")
LAUNCHER = package_file("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
SECONDS = 60.0
Browser = Callable[[str], Coroutine[Any, Any, None]]
"""Goes where the Inspector sends the person, and comes back to it."""


class Inspector:
    """One person's Inspector; `home` keeps what it knows."""

    def __init__(self, deployment: ClientsDeployment, home: Path, era: str, *known_as: str) -> None:
        self._home = home
        callback = f"http://127.0.0.1:{free_port()}/callback"
        self._always = [
            "--cli",
            deployment.mcp_url,
            "--transport",
            "http",
            "--protocol-era",
            era,
            "-q",
            "--format",
            "json",
        ]
        self._known_as = ["--callback-url", callback, *known_as]

    async def stored(self, method: str, *arguments: str) -> NodeRun:
        """A command that asks nobody."""
        return await run_inspector(self._home, *self._always, "--stored-auth-only", "--method", method, *arguments)

    async def asking(self, browser: Browser, method: str, *arguments: str) -> NodeRun:
        """A command for which the person signs in."""
        asked = [*self._always, *self._known_as, "--method", method, *arguments]
        async with node_running(LAUNCHER, *asked, home=self._home) as process, asyncio.timeout(SECONDS):
            assert process.stderr is not None
            said = ""
            while not (found := re.search(r"Please navigate to: (http\S+)\n", said)):
                line = (await process.stderr.readline()).decode()
                assert line, f"it asked for no browser: {said}"
                said += line
            await browser(found[1])
            out, more = await process.communicate()
            return NodeRun(process.returncode or 0, out.decode(), said + more.decode())


def browser_of(person: BrowserPerson) -> Browser:
    async def go(url: str) -> None:
        back = await person.browser.get(await person.way_back(url))
        assert back.status_code == 200, back.text

    return go


async def known_as(deployment: ClientsDeployment, kind: str) -> list[str]:
    """The options by which the Inspector becomes known."""
    if kind == "document":
        return ["--client-metadata-url", deployment.host.client_id]
    if kind == "registered":
        redirect = "http://127.0.0.1/callback"
        made = await command(deployment.home, deployment.port, "client", "add", "Inspector", "--redirect-uri", redirect)
        return ["--client-id", made["client_id"]]
    return []


def assert_listed(run: NodeRun) -> None:
    assert [tool["name"] for tool in result_of(run, OK)["tools"]] == META_TOOLS


async def assert_works(inspector: Inspector, entity: str) -> None:
    """Afterwards nobody is asked any more."""
    assert_listed(await inspector.stored("tools/list"))
    created = result_of(await inspector.stored("tools/call", *call_arguments("created", entity)), OK)
    assert not created.get("isError"), created
    assert entity in json.dumps(created)


WAYS = [
    pytest.param(kind, era, marks=() if (kind, era) == ("dynamic", "modern") else pytest.mark.long)
    for kind in ("dynamic", "document", "registered")
    for era in ERAS
]


@pytest.mark.parametrize(("kind", "era"), WAYS)
async def test_a_url_is_enough(deployment: ClientsDeployment, tmp_path: Path, kind: str, era: str) -> None:
    inspector = Inspector(deployment, tmp_path, era, *await known_as(deployment, kind))
    refused = await inspector.stored("tools/list")
    assert refused.exit_code == AUTH_REQUIRED, refused
    async with signed_in(deployment) as person:
        assert_listed(await inspector.asking(browser_of(person), "tools/list"))
    await assert_works(inspector, f"Ada of the Inspector, {kind} {era}")


@pytest.mark.browser
@pytest.mark.long
async def test_in_chromium(deployment: ClientsDeployment, tmp_path: Path) -> None:
    """The person has no session: the consent page comes after the one-time link, and then the Inspector's own page."""
    inspector = Inspector(deployment, tmp_path, "modern")
    link = (await command(deployment.home, deployment.port, "user", "link", "admin@localhost"))["sign_in_link"]
    async with chromium() as program:
        page = await (await program.new_context()).new_page()
        page.set_default_timeout(15_000)

        async def go(url: str) -> None:
            await page.goto(url)
            assert await page.inner_text("h1") == "Sign in"
            await page.goto(link)
            await page.get_by_role("button", name="Sign in").click()
            await page.wait_for_url(re.compile("/(?:account|console)$"))
            await page.goto(url)
            await page.get_by_role("button", name="Allow").click()
            await page.wait_for_url("http://127.0.0.1:*/callback?**")
            assert "code=" in page.url

        assert_listed(await inspector.asking(go, "tools/list"))
    await assert_works(inspector, "Ada of the Inspector in Chromium")
