"""Modules that exist for measuring only: tools that do next to nothing, and as many tools as one likes."""

from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, Field

from modules.kit import Context, Hints, Module, ResourceContents, read_text_resource, resource, tool

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
WRITES = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)
SCOPE = "bench:use"

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


@resource("resource://bench/watched", mime_type="text/plain", scopes=[SCOPE])
async def watched(context: Context) -> ResourceContents:
    """What clients subscribe to."""
    return read_text_resource("watched")


BENCH = Module(
    "bench", "Bench", "Tools that do next to nothing", frozenset({SCOPE}), (echo, write), resources=(watched,)
)


def filling(modules: int, tools_each: int) -> list[Module]:
    """Modules named m0000, m0001 and so on, whose tools are named tool_000 and so on."""
    tools = tuple(replace(echo, name=f"tool_{number:03}") for number in range(tools_each))
    return [
        Module(f"m{number:04}", f"M{number}", f"Made-up service number {number:04}", frozenset({SCOPE}), tools)
        for number in range(modules)
    ]
