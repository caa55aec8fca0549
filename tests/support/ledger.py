"""A module ``ledger`` whose tools write at a vendor and then do something else, for a vendor that is played by hand."""

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, Field, field_serializer

from modules.kit import AccountRequest, Context, Hints, Module, ToolError, VendorApi, VendorProblem, tool

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=True)
WRITES = Hints(read_only=False, destructive=False, idempotent=False, open_world=True)

Text = Annotated[str, Field(description="What to enter", max_length=100)]


class Entry(BaseModel):
    """One entry, as the vendor describes it."""

    id: int
    url: str


class Garbled(Entry):
    """An entry that cannot be written as JSON."""

    @field_serializer("url")
    def _fail(self, _url: str) -> str:
        raise ValueError("no text of this reaches anybody")


@tool(hints=READS, scopes=["ledger"])
async def read_entry(context: Context) -> Entry:
    """Read an entry."""
    return (await context.vendor.request("GET", "/entries/1")).read(Entry)


@tool(hints=WRITES, scopes=["ledger"])
async def add_entry(context: Context, text: Text = "tea") -> Entry:
    """Add an entry."""
    return (await context.vendor.request("POST", "/entries", json={"text": text})).read(Entry)


@tool(hints=WRITES, scopes=["ledger"])
async def put_entry(context: Context, text: Text = "tea") -> Entry:
    """Put an entry in the place of another; doing it twice does no harm."""
    return (await context.vendor.request("PUT", "/entries/1", json={"text": text}, repeatable=True)).read(Entry)


@tool(hints=WRITES, scopes=["ledger"])
async def add_and_look_up(context: Context, text: Text = "tea") -> Entry:
    """Add an entry, then read it."""
    await context.vendor.request("POST", "/entries", json={"text": text})
    return (await context.vendor.request("GET", "/entries/1")).read(Entry)


@tool(hints=WRITES, scopes=["ledger"])
async def add_and_refuse(context: Context, text: Text = "tea") -> Entry:
    """Add an entry, then say that something is not right."""
    await context.vendor.request("POST", "/entries", json={"text": text})
    raise ToolError("the second half is not possible here", retry="try again later")


@tool(hints=WRITES, scopes=["ledger"])
async def add_and_reword(context: Context, text: Text = "tea") -> Entry:
    """Add an entry, and tell of problems in words of its own."""
    try:
        return (await context.vendor.request("POST", "/entries", json={"text": text})).read(Entry)
    except VendorProblem:
        raise VendorProblem("unavailable", "the ledger is closed", retry="try again later") from None


@tool(hints=WRITES, scopes=["ledger"])
async def add_and_crash(context: Context, text: Text = "tea") -> Entry:
    """Add an entry, then fail as no tool should."""
    made = await context.vendor.request("POST", "/entries", json={"text": text})
    return Entry(id=made.json()["no such field"], url="")


@tool(hints=WRITES, scopes=["ledger"])
async def add_and_garble(context: Context, text: Text = "tea") -> Garbled:
    """Add an entry, and give a result that cannot be written."""
    return (await context.vendor.request("POST", "/entries", json={"text": text})).read(Garbled)


@tool(hints=WRITES, scopes=["ledger"])
async def crash_first(context: Context) -> Entry:
    """Fail before anything is written."""
    raise RuntimeError("at the beginning")


@dataclass(slots=True)
class Gate:
    """Where :func:`add_and_wait` waits."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)


def ledger_module(base_url: str, gate: Gate | None = None) -> Module:
    """The module; its vendor is at `base_url`."""
    waits = gate or Gate()

    @tool(hints=WRITES, scopes=["ledger"])
    async def add_and_wait(context: Context, text: Text = "tea") -> Entry:
        """Add an entry, then wait."""
        made = await context.vendor.request("POST", "/entries", json={"text": text})
        waits.reached.set()
        await waits.opened.wait()
        return made.read(Entry)

    @tool(hints=WRITES, scopes=["ledger"])
    async def wait_first(context: Context) -> Entry:
        """Wait before anything is written."""
        waits.reached.set()
        await waits.opened.wait()
        return Entry(id=0, url="")

    tools = (
        read_entry,
        add_entry,
        put_entry,
        add_and_look_up,
        add_and_refuse,
        add_and_reword,
        add_and_crash,
        add_and_garble,
        crash_first,
        add_and_wait,
        wait_first,
    )
    api = VendorApi(base_url=base_url, account=AccountRequest("/me", name="/name"))
    return Module("ledger", "Ledger", "Enter things in a ledger.", frozenset({"ledger"}), tools, vendor=api)
