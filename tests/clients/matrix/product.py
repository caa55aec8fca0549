"""`mcpist up` as every client of the matrix meets it: with a module that has all there is (that of the conformance
scenarios), from which one tool is hidden, and with a person who is signed in in a browser."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import aiohttp

import tests.conformance.conftest  # noqa: F401 makes the package of the scenarios importable
from tests.clients.matrix.plan import HIDDEN
from tests.conformance.deployment import install_module
from tests.support.chromium import chromium
from tests.support.running_product import (
    MCPIST,
    START_SECONDS,
    command,
    data_folder,
    environment,
    free_port,
    log_of,
    read_ready,
)

MODULE = "test"
IDENTITY = "[authorization_server]\ndynamic_registration = true\nclient_metadata = false\n"


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """The running product. `cookies` are those of the signed-in person, as playwright stores them."""

    home: Path
    port: int
    mcp_url: str
    token: str
    cookies: Path


@contextlib.asynccontextmanager
async def running_matrix_product(folder: Path) -> AsyncGenerator[MatrixProduct]:
    """`mcpist up`, until the block is left."""
    site = folder / "site"
    site.mkdir()
    install_module(site)
    with data_folder() as home:
        port, identity = free_port(), home.with_name("identity.toml")
        identity.write_text(IDENTITY)
        identity.chmod(0o600)
        variables = {"PYTHONPATH": str(site), "MCPIST_IDENTITY_FILE": str(identity)}
        log = log_of(home)
        server = await asyncio.create_subprocess_exec(
            MCPIST, "up", "--json", env=environment(home, port, **variables), stdout=asyncio.subprocess.PIPE, stderr=log
        )
        os.close(log)
        assert server.stdout is not None
        try:
            ready = read_ready(await server.stdout.readline())
            scopes = ("--scope", "admin:read", "--scope", "admin:write")
            admin = (await command(home, port, "token", "create", "--name", "matrix", *scopes))["token"]
            await _hide_one_tool(ready["mcp_url"].removesuffix("mcp") + "api/v1/", admin)
            await command(home, port, "service", "enable", MODULE, **variables)
            cookies = folder / "cookies.json"
            await _sign_in((await command(home, port, "user", "link", "admin@localhost"))["sign_in_link"], cookies)
            yield MatrixProduct(home, port, ready["mcp_url"], ready["api_token"], cookies)
        finally:
            with contextlib.suppress(ProcessLookupError):
                server.send_signal(signal.SIGTERM)
            async with asyncio.timeout(START_SECONDS):
                await server.wait()
            shutil.rmtree(site)


async def _hide_one_tool(api_url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers, raise_for_status=True) as client:
        async with client.get(f"{api_url}roles") as answer:
            role = next(one for one in (await answer.json())["items"] if "*" in one["allow"])
        permissions = {"allow": ["*"], "deny": [f"{MODULE}.{HIDDEN}"]}
        async with client.put(f"{api_url}roles/{role['id']}/permissions", json=permissions):
            pass


async def _sign_in(link: str, cookies: Path) -> None:
    async with chromium() as program:
        context = await program.new_context()
        page = await context.new_page()
        await page.goto(link)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(lambda url: "/sign-in" not in url)
        cookies.write_text(json.dumps(await context.storage_state()))
        await context.close()
