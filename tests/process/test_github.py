"""GitHub from the first start to the last answer: set up at the command line, used by the official Python client."""

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.canary import SUITE
from tests.support.fork_server import create_forked_process
from tests.support.github_double import GitHubDouble, github_double
from tests.support.running_product import MCPIST, data_folder, environment, free_port, hear_command, start
from tests.support.vendor_contract import contract

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"  # GitHub's form; the double knows it, nobody else

pytestmark = pytest.mark.timeout(180)


async def run(home: Path, port: int, allowed: str, *arguments: str, secret: str = "") -> str:
    process = await create_forked_process(
        str(MCPIST), *arguments, env=environment(home, port, MCPIST_ALLOWED_PRIVATE_HOSTS=allowed),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    SUITE.watch(secret)
    out, _ = await process.communicate(secret.encode())
    hear_command(arguments, out, b"")
    assert process.returncode == 0, out.decode()
    return out.decode()


def furnish(github: GitHubDouble) -> None:
    github.world.token(TOKEN, "mona")
    app = github.world.repository("mona", "app", description="アプリ")
    github.world.commit(app, {"README.md": "# アプリ\n".encode()}, "First")


async def text_of(client: Client, tool: str, **params: Any) -> tuple[bool, str]:
    arguments = {"module": "github", "tool_name": tool, "params": params}
    result = await client.call_tool("call", arguments)
    return bool(result.is_error), result.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_github_from_the_command_line_to_a_client(mode: str) -> None:
    contract("github")  # skips where the description is missing
    async with github_double("/api/v3") as github:
        furnish(github)
        allowed = github.url.split("/")[2]
        with data_folder() as home:
            port = free_port()
            product = await start(home, port, MCPIST_ALLOWED_PRIVATE_HOSTS=allowed)
            try:
                await run(home, port, allowed, "service", "set", "github", f"base_url={github.url}")
                headers = {"Authorization": f"Bearer {product.ready['api_token']}"}
                async with (
                    httpx2.AsyncClient(headers=headers) as http,
                    Client(streamable_http_client(product.url, http_client=http), mode=mode) as client,
                ):
                    failed, text = await text_of(client, "list_repositories")
                    assert failed
                    assert "not connected" in text
                    said = await run(
                        home, port, allowed, "credential", "set", "github", "--user", "admin@localhost", secret=TOKEN
                    )
                    assert TOKEN not in said
                    await works(client)
                    failed, text = await text_of(client, "list_commits", owner="mona", repo="app")
                    assert (failed, "First" in text) == (False, True)
                    failed, text = await text_of(client, "get_commit", owner="mona", repo="none", ref="main")
                    assert failed
                    known = dict(github.world.tokens)
                    github.world.tokens.clear()
                    for _ in range(2):
                        failed, text = await text_of(client, "list_repositories")
                        assert failed
                        assert "refuses your account or key just now" in text
                    assert "is asked again before anybody has to do something" in await run(
                        home, port, allowed, "doctor"
                    )
                    github.world.tokens.update(known)
                    assert "it works" in await run(home, port, allowed, "credential", "test", "github")
                    await works(client)
                assert TOKEN not in await run(home, port, allowed, "audit", "--json")
            finally:
                assert await product.end() == 0
        assert github.wrong == []
    assert TOKEN not in str(os.environ)


async def works(client: Client) -> None:
    """The new credential counts within a second."""
    async with asyncio.timeout(5):
        while True:
            failed, text = await text_of(client, "list_repositories")
            if not failed:
                assert "アプリ" in text
                return
            await asyncio.sleep(0.05)
