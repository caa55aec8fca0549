"""The official Python SDK client over a real socket: every revision that it speaks."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import mcp.client.session
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.clients.story import WRONG_TOKEN, Gateway, assert_story, planned_calls

MODERN = "2026-07-28"
HANDSHAKES = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


@contextlib.asynccontextmanager
async def connected(gateway: Gateway, mode: str, answers: list[httpx2.Response] | None = None) -> AsyncIterator[Client]:
    """A client in its context; `answers` collects every HTTP answer that it sees."""

    async def seen(response: httpx2.Response) -> None:
        if answers is not None:
            answers.append(response)

    headers = {"Authorization": f"Bearer {gateway.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=10, trust_env=False, event_hooks={"response": [seen]}) as http,
        Client(streamable_http_client(gateway.mcp_url, http_client=http), mode=mode) as client,
    ):
        yield client


async def tell(client: Client, entity: str) -> dict[str, Any]:
    """The story, as `assert_story` takes it."""
    listed = await client.list_tools()
    answers: dict[str, Any] = {}
    for call in planned_calls(entity):
        progress = _ignore_progress if call.progress else None
        result = await client.call_tool(call.tool, call.arguments, progress_callback=progress)
        answers[call.label] = _answer(result)
    server = client.server_info.name if client.server_info else None
    tools = [tool.name for tool in listed.tools]
    return {"server": server, "version": client.protocol_version, "tools": tools, "answers": answers}


async def _ignore_progress(progress: float, total: float | None, message: str | None) -> None:
    """The request carries a progress token only if somebody listens."""


def _answer(result: CallToolResult) -> dict[str, Any]:
    text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
    return {"is_error": bool(result.is_error), "text": text, "structured": result.structured_content}


async def test_story_in_the_modern_era(gateway: Gateway) -> None:
    async with connected(gateway, "auto") as client:
        assert_story(await tell(client, "Ada auto"), "Ada auto", MODERN)


async def test_story_in_the_modern_era_without_discovery(gateway: Gateway) -> None:
    async with connected(gateway, MODERN) as client:
        story = await tell(client, "Ada modern")
    assert story["server"] is None, "the client should not have asked who it talks to"
    assert_story(story | {"server": "mcpist"}, "Ada modern", MODERN)


@pytest.mark.parametrize("version", HANDSHAKES)
async def test_story_after_a_handshake(gateway: Gateway, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The client asks for its newest handshake revision only; an older client is the same one with an older newest.
    monkeypatch.setattr(mcp.client.session, "LATEST_HANDSHAKE_VERSION", version)
    async with connected(gateway, "legacy") as client:
        assert_story(await tell(client, f"Ada {version}"), f"Ada {version}", version)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_wrong_token(gateway: Gateway, mode: str) -> None:
    answers: list[httpx2.Response] = []
    stranger = Gateway(gateway.mcp_url, WRONG_TOKEN)
    with pytest.RaisesGroup(MCPError, flatten_subgroups=True, allow_unwrapped=True):
        async with connected(stranger, mode, answers) as client:
            await client.list_tools()
    assert [answer.status_code for answer in answers] == [401]
    assert answers[0].headers["www-authenticate"].startswith("Bearer")
