"""Tools that change what the client can list, for whoever listens for that: as an administrator does, through the admin
API, they take something out of the client's role or put it back."""

import json
import os
from pathlib import Path
from typing import Any

import aiohttp
from conformance_fixture.content import say
from conformance_fixture.samples import READ, READS, WRITE, WRITES

from modules.kit import ContentResult, Context, PromptMessages, build_user_prompt, prompt, tool

ACCESS_VARIABLE = "CONFORMANCE_ACCESS"
"""Names the file with `permissions_url`, that of the client's role, and `token`, an administrator's."""


@tool(hints=READS, scopes=READ)
async def changing_tool(context: Context) -> ContentResult:
    """Be there at times."""
    return say("here")


@prompt(scopes=READ)
async def test_changing_prompt(context: Context) -> PromptMessages:
    """Be there at times."""
    return build_user_prompt("here")


@tool(hints=WRITES, scopes=WRITE)
async def trigger_tool_change(context: Context) -> ContentResult:
    """Change the list of tools."""
    return say(await _toggle("test.changing_tool"))


@tool(hints=WRITES, scopes=WRITE)
async def trigger_prompt_change(context: Context) -> ContentResult:
    """Change the list of prompts."""
    return say(await _toggle("test.test_changing_prompt"))


async def _toggle(permission: str) -> str:
    access = json.loads(Path(os.environ[ACCESS_VARIABLE]).read_text("utf-8"))
    headers = {"Authorization": f"Bearer {access['token']}"}
    async with aiohttp.ClientSession(headers=headers, raise_for_status=True) as client:
        async with client.get(access["permissions_url"].removesuffix("/permissions")) as answer:
            is_denied = permission in (await answer.json())["deny"]
        change: dict[str, Any] = {"remove" if is_denied else "add": {"deny": [permission]}}
        async with client.patch(access["permissions_url"], json=change):
            return "back" if is_denied else "gone"


CHANGE_TOOLS = (changing_tool, trigger_tool_change, trigger_prompt_change)
