"""Answers of tools in the place of /mcp's own, for what a vendor's account would hold."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from playwright.async_api import Page, Route

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Makes a tool's structured result of its parameters."""


async def answer_tools(page: Page, answers: Mapping[str, Answer]) -> None:
    """Answer calls of these tools, such as `activity.summary`; all others reach the product."""

    async def answer(route: Route) -> None:
        message = route.request.post_data_json or {}
        call = message.get("params", {}).get("arguments", {})
        make = answers.get(f"{call.get('module')}.{call.get('tool_name')}")
        if make is None:
            await route.continue_()
            return
        result = {"content": [], "structuredContent": make(call.get("params", {}))}
        body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        await route.fulfill(status=200, content_type="application/json", body=json.dumps(body))

    await page.route("**/mcp", answer)
