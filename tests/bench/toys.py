"""Modules that exist for measuring only: tools that do next to nothing, and as many tools as one likes."""

import asyncio
from dataclasses import replace
from typing import Annotated

import aiohttp
import orjson
from pydantic import BaseModel, Field

from modules.kit import Context, Hints, Module, Tool, tool

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
WRITES = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)
SCOPE = "bench:use"
NAP_SECONDS = 0.05

Text = Annotated[str, Field(max_length=200, description="Text to give back")]


class Said(BaseModel):
    text: str


@tool(hints=READS, scopes=[SCOPE])
async def echo(context: Context, text: Text) -> Said:
    """Give a text back."""
    return Said(text=text)


@tool(hints=WRITES, scopes=[SCOPE])
async def write(context: Context, text: Text) -> Said:
    """Give a text back; declared as writing, so its audit record is durable before it runs."""
    return Said(text=text)


@tool(hints=READS, scopes=[SCOPE])
async def nap(context: Context, text: Text) -> Said:
    """Give a text back after 50 ms."""
    await asyncio.sleep(NAP_SECONDS)
    return Said(text=text)


def bench_module(upstream_port: int) -> Module:
    """The tools above, and `hop` and `slow_hop`, which ask the upstream at `upstream_port`."""
    tools = (echo, write, nap, _hop("hop", upstream_port, "/now"), _hop("slow_hop", upstream_port, "/later"))
    return Module("bench", "Bench", "Tools that do next to nothing", frozenset({SCOPE}), tools)


def filling(modules: int, tools_each: int) -> list[Module]:
    """Modules named m0000, m0001 and so on, whose tools are named tool_000 and so on."""
    tools = tuple(replace(echo, name=f"tool_{number:03}") for number in range(tools_each))
    return [
        Module(f"m{number:04}", f"M{number}", f"Made-up service number {number:04}", frozenset({SCOPE}), tools)
        for number in range(modules)
    ]


def _hop(name: str, port: int, path: str) -> Tool:
    """What a vendor's module does: one request on one kept session, and the answer's text."""
    sessions: list[aiohttp.ClientSession] = []

    @tool(hints=READS, scopes=[SCOPE])
    async def hop(context: Context, text: Text) -> Said:
        """Give back a text that the upstream gave back."""
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256)))
        async with sessions[0].post(f"http://127.0.0.1:{port}{path}", data=orjson.dumps({"text": text})) as response:
            return Said(text=orjson.loads(await response.read())["text"])

    return replace(hop, name=name)
