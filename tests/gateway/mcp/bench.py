"""What the transport costs a request, without socket and server: ``python -m tests.gateway.mcp.bench``. Run by hand."""

import time
from typing import Any

import orjson
import uvloop

from tests.gateway.mcp.client import headers_for
from tests.gateway.mcp.toys import CALLER, PUBLIC_URL, TOOLS, Toys
from tests.support.mcp_client import envelope

ROUNDS, CALLS = 9, 3000
ARGUMENTS = {"module": "knowledge_graph", "tool_name": "search", "params": {"query": "hello world"}}
CASES: list[tuple[str, str, Any]] = [
    ("2024-11-05", "tools/call", {"name": "call", "arguments": ARGUMENTS}),
    ("2025-11-25", "tools/call", {"name": "call", "arguments": ARGUMENTS}),
    ("2026-07-28", "tools/call", {"name": "call", "arguments": ARGUMENTS}),
    ("2024-11-05", "tools/list", None),
    ("2025-11-25", "tools/list", None),
    ("2026-07-28", "tools/list", None),
    ("2025-11-25", "ping", None),
]


async def bare(_scope: Any, receive: Any, send: Any) -> None:
    """The least that an ASGI application does."""
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}", "more_body": False})


async def call(_context: Any, _params: Any) -> Any:
    return {"content": [{"type": "text", "text": "hello world"}], "structuredContent": {"ok": True}, "isError": False}


async def tools(_context: Any, _params: Any) -> Any:
    return {"tools": [*TOOLS, TOOLS[0]]}


async def authenticate(_authorization: Any, _address: Any) -> Any:
    return CALLER


def admit(_caller: Any) -> Any:
    return released


def released() -> None:
    pass


async def spent(app: Any, scope: Any, body: bytes) -> float:
    """Microseconds of CPU a request."""
    message = {"type": "http.request", "body": body, "more_body": False}

    async def receive() -> Any:
        return message

    async def send(_message: Any) -> None:
        pass

    begun = time.process_time()
    for _ in range(CALLS):
        await app(scope, receive, send)
    return (time.process_time() - begun) / CALLS * 1e6


async def main() -> None:
    toys = Toys()
    endpoint = toys.endpoint(handlers={"tools/call": call, "tools/list": tools})
    endpoint._authenticate, endpoint._admit, endpoint._observe = authenticate, admit, None
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for revision, method, params in CASES:
            headers = [("user-agent", "bench/1"), *headers_for(revision, method, params)]
            raw = [(name.encode(), value.encode()) for name, value in headers]
            body = orjson.dumps(envelope(revision, method, params))
            scope = {"type": "http", "method": "POST", "headers": raw, "client": ("::1", 1), "server": ("::1", 8080)}
            for name, app in ((f"{revision} {method}", endpoint), ("bare ASGI", bare)):
                best[name] = min(best.get(name, 1e9), await spent(app, scope, body))
    for name, microseconds in best.items():
        print(f"{name:24}{microseconds:7.2f} µs")


if __name__ == "__main__":
    assert PUBLIC_URL.endswith(":8080")
    uvloop.run(main())
