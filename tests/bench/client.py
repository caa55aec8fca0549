"""The smallest client that can call tools: for what is timed one call at a time, and to see that an answer is right."""

import http.client
import itertools
import json
from typing import Any

REVISION = "2025-11-25"
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": REVISION,
}


class Client:
    """One kept connection."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {**HEADERS, "Authorization": f"Bearer {token}"}
        self._ids = itertools.count(1)

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request.

        Raises:
            RuntimeError: an error instead.
        """
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        self._connection.request("POST", "/mcp", json.dumps(message), self._headers)
        response = self._connection.getresponse()
        content = response.read()
        answer = json.loads(content) if response.status == 200 else {}
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{method}: {response.status} {content[:300]!r}")
        return answer["result"]

    def tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of tools/call."""
        return self.request("tools/call", {"name": name, "arguments": arguments})

    def call(self, module: str, tool_name: str, **params: Any) -> dict[str, Any]:
        """The result of a module's tool."""
        return self.tool("call", {"module": module, "tool_name": tool_name, "params": params})

    def close(self) -> None:
        self._connection.close()


def tools_call(name: str, arguments: dict[str, Any]) -> str:
    """The body of tools/call with ``@N@`` as its id; arguments may hold it too."""
    return rpc("tools/call", {"name": name, "arguments": arguments})


def rpc(method: str, params: dict[str, Any]) -> str:
    """The body of a request with ``@N@`` as its id."""
    content = json.dumps({"method": method, "params": params}, separators=(",", ":"), ensure_ascii=False)
    return '{"jsonrpc":"2.0","id":@N@,' + content[1:]
