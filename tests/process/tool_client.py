"""A client of one person, of a product that is a process."""

from dataclasses import dataclass
from typing import Any

from aiohttp import ClientSession

from tests.support.mcp_client import NEWEST, envelope, headers_for, messages_in


@dataclass(slots=True)
class ToolClient:
    """One person's client."""

    http: ClientSession
    url: str
    token: str

    async def tool(self, name: str, arguments: dict[str, Any], revision: str = NEWEST) -> Any:
        params: dict[str, Any] = {"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}}
        message = envelope(revision, "tools/call", params, 1)
        headers = {**headers_for(revision, "tools/call", params), "Authorization": f"Bearer {self.token}"}
        async with self.http.post(self.url, json=message, headers=headers) as answer:
            body = await answer.read()
        return messages_in(body, answer.headers.get("content-type", ""))[-1]["result"]

    async def call(self, tool: str, revision: str = NEWEST, **params: Any) -> Any:
        return await self.tool("call", {"module": "shop", "tool_name": tool, "params": params}, revision)
