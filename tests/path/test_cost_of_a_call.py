"""What a call costs, in bytecodes of our own code: the same on every machine, so a growth is one of the code.

``UPDATE_SNAPSHOTS=1 make test T=tests/path/test_cost_of_a_call.py`` takes a wanted change over. A count holds for one
minor version of Python; where the file has none for the running one, the test says so.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import orjson
import pytest

from tests.path.conftest import People
from tests.path.shop_app import ShopApp, people
from tests.support.http_server import served
from tests.support.product import Node

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("broker", "core", "gateway", "modules", "server")
BASELINE = Path(__file__).with_name("cost_of_a_call.json")
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
WARM_UP, SERIES, CALLS = 10, 5, 10
MOST_GROWTH = 1.05
MOST_DIFFERENCE = 1.01
BESIDE = (
    "core/audit/chain.py",
    "core/audit/seal_batch.py",
    "core/audit/sealer.py",
    "core/audit/slices.py",
    "core/generations.py",
    "core/postgres_arrays.py",
)
"""Work beside calls, which comes when its time has come."""


class BytecodeCounter:
    """Counts the bytecodes that run in our packages."""

    def __init__(self) -> None:
        self.count = 0
        self._folders = tuple(f"{REPOSITORY / package}{os.sep}" for package in PACKAGES)
        self._beside = tuple(str(REPOSITORY / name) for name in BESIDE)

    def trace(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(self._folders) or name.startswith(self._beside):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._count

    def _count(self, _frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode":
            self.count += 1
        return self._count

    async def measure(self, call: Callable[[], Awaitable[Any]]) -> int:
        """The average of a call in the cheapest of some series: one that something disturbs costs more."""
        for _ in range(WARM_UP):
            await call()
        averages: list[float] = []
        for _ in range(SERIES):
            self.count = 0
            sys.settrace(self.trace)
            try:
                for _ in range(CALLS):
                    await call()
            finally:
                sys.settrace(None)
            averages.append(self.count / CALLS)
        return round(min(averages))


async def cost(app: Any, token: str, module: str, tool: str, params: dict[str, Any], *, plain: bool = False) -> int:
    """Bytecodes of a call over a kept connection; with `plain`, of the plain tool."""
    async with served(app) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        called = {"name": "call", "arguments": {"module": module, "tool_name": tool, "params": params}}
        path = "/mcp"
        if plain:
            path = f"/mcp/plain/{module}"
            called = {"name": f"{module}_{tool}", "arguments": params}
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called})
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
            "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            f"MCP-Protocol-Version: 2025-11-25\r\nContent-Length: {len(body)}\r\n\r\n"
        )

        async def call() -> None:
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            (length,) = (line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            result = orjson.loads(await reader.readexactly(int(length.partition(b":")[2])))["result"]
            assert not result["isError"], result

        found = await BytecodeCounter().measure(call)
        writer.close()
        return found


def check(name: str, found: int) -> None:
    """Compare with the baseline, or write it."""
    baseline: dict[str, dict[str, int]] = json.loads(BASELINE.read_text())
    if os.environ.get("UPDATE_SNAPSHOTS"):
        baseline.setdefault(VERSION, {})[name] = found
        BASELINE.write_text(json.dumps(baseline, indent=2, sort_keys=True) + "\n")
    known = baseline.get(VERSION, {}).get(name)
    if known is None:
        pytest.skip(f"{BASELINE.name} has no count for Python {VERSION}: run with UPDATE_SNAPSHOTS=1")
    assert found <= known * MOST_GROWTH, f"{name}: {found} bytecodes, {known} before; shorten the path of a call"
    assert found >= known / MOST_GROWTH, f"{name}: {found} bytecodes, {known} before; run with UPDATE_SNAPSHOTS=1"


async def test_a_tool_that_asks_a_vendor(app: ShopApp) -> None:
    ada, _ = await people(app)
    await app.add(ada, "adas-token-0123456789")
    check("vendor", await cost(app.node.gateway.app, ada.token, "shop", "look", {"what": "tea"}))


async def test_a_tool_that_asks_nobody(node: Node, people: People) -> None:
    called = await cost(node.gateway.app, people.admin.token, "lab", "look", {"at": "x"})
    check("no vendor", called)
    plain = await cost(node.gateway.app, people.admin.token, "lab", "look", {"at": "x"}, plain=True)
    assert plain <= called * MOST_DIFFERENCE, (
        f"a plain tool takes {plain} bytecodes, call {called}: it has the same path"
    )
