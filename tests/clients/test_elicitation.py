"""An account is connected while a call waits for it: the official Python client, in both eras."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitCompleteNotification, ElicitRequestURLParams, ElicitResult

from tests.support.canary import SUITE
from tests.support.fork_server import create_forked_process
from tests.support.github_double import github_double
from tests.support.running_product import MCPIST, data_folder, environment, free_port, running
from tests.support.vendor_contract import contract

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzCD"
CALL = {"module": "github", "tool_name": "list_repositories"}

pytestmark = pytest.mark.timeout(180)


@dataclass
class Person:
    """In front of a client, with a product in which an account can be connected; `asked` are the links shown."""

    url: str
    token: str
    variables: dict[str, str]
    asked: list[str] = field(default_factory=list[str])
    heard: asyncio.Queue[str] = field(default_factory=asyncio.Queue[str])
    connecting: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def connect(self) -> None:
        SUITE.watch(TOKEN)
        process = await create_forked_process(
            str(MCPIST), "credential", "set", "github", "--user", "admin@localhost", "--stdin",
            env=self.variables, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        await process.communicate(TOKEN.encode())
        assert process.returncode == 0

    async def agree(self, context: Any, params: Any) -> ElicitResult:
        """Agree at once, as a client does that opens a browser, and be done later."""
        assert isinstance(params, ElicitRequestURLParams)
        self.asked.append(params.url)
        if not self.connecting:
            self.connecting.add(asyncio.create_task(self.connect()))
        return ElicitResult(action="accept")

    async def listen(self, message: Any) -> None:
        if isinstance(message, ElicitCompleteNotification):
            self.heard.put_nowait(message.params.elicitation_id)

    @contextlib.asynccontextmanager
    async def client(self, mode: str) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
            Client(
                streamable_http_client(self.url, http_client=http),
                mode=mode,
                elicitation_callback=self.agree,
                message_handler=self.listen,
            ) as client,
        ):
            yield client


@pytest.fixture
async def person() -> AsyncIterator[Person]:
    contract("github")  # skips where the description is missing
    async with github_double("/api/v3") as github:
        github.world.token(TOKEN, "mona")
        github.world.repository("mona", "app", description="アプリ")
        with data_folder() as home:
            port, allowed = free_port(), {"MCPIST_ALLOWED_PRIVATE_HOSTS": github.url.split("/")[2]}
            variables = environment(home, port, **allowed)
            async with running(home, port, **allowed) as product:
                setting = await create_forked_process(
                    str(MCPIST), "service", "set", "github", f"base_url={github.url}",
                    env=variables, stdout=asyncio.subprocess.DEVNULL,
                )  # fmt: skip
                assert await setting.wait() == 0
                yield Person(product.url, product.ready["api_token"], variables)


async def test_a_modern_client_waits_and_the_call_goes_through(person: Person) -> None:
    async with person.client("2026-07-28") as client:
        result = await client.call_tool("call", CALL)
    assert not result.is_error
    assert "アプリ" in result.content[0].text  # type: ignore[union-attr]
    assert person.asked == [f"{person.url.removesuffix('mcp')}connect/github"]


async def test_a_handshake_client_is_told_when_it_is_done(person: Person) -> None:
    async with person.client("legacy") as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("call", CALL)
        assert refused.value.error.code == -32042
        (asked,) = refused.value.error.data["elicitations"]
        assert asked["url"].endswith("/connect/github")
        await person.connect()
        async with asyncio.timeout(10):
            assert await person.heard.get() == asked["elicitationId"]
        result = await client.call_tool("call", CALL)
    assert not result.is_error
