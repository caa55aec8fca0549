"""The upstream of the peers: an MCP server over Streamable HTTP with one tool, `echo`, which gives a text back.

Stateless, JSON answers, hand-written: about as much work as tests/bench/servers/upstream.py does for MCPist.
"""

import asyncio
import socket
from typing import Any

import httptools
import orjson
import uvloop

from tests.bench.servers.serving import announce

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
TEXT = {"type": "string", "description": "Text to give back"}
ECHO = {
    "name": "echo",
    "description": "Give a text back",
    "inputSchema": {"type": "object", "properties": {"text": TEXT}, "required": ["text"]},
}


class Mcp(asyncio.Protocol):
    """One connection; requests on it come one after the other."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._body = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._body = b""

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(self._answer())
        if not self._parser.should_keep_alive():
            self._transport.close()

    def _answer(self) -> bytes:
        method = self._parser.get_method()
        if method != b"POST":  # no stream of its own, no session to end
            return _rendered(b"200 OK" if method == b"DELETE" else b"405 Method Not Allowed", {})
        asked = orjson.loads(self._body)
        if "id" not in asked:
            return b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
        return _rendered(b"200 OK", {"jsonrpc": "2.0", "id": asked["id"], **_result(asked)})


def _result(asked: dict[str, Any]) -> dict[str, Any]:
    params = asked.get("params") or {}
    match asked["method"]:
        case "tools/call":
            content = [{"type": "text", "text": params["arguments"]["text"]}]
            return {"result": {"content": content, "isError": False}}
        case "tools/list":
            return {"result": {"tools": [ECHO]}}
        case "initialize":
            wanted = params.get("protocolVersion")
            revision = wanted if wanted in REVISIONS else REVISIONS[-1]
            about = {"name": "bench", "version": "1"}
            return {"result": {"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": about}}
        case "ping":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def _rendered(status: bytes, answer: dict[str, Any]) -> bytes:
    body = orjson.dumps(answer)
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(body))
    return head + body


async def _serve() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = await asyncio.get_running_loop().create_server(Mcp, sock=listener)
    announce(listener)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve())
