"""Modules that the API's tests know: `kg` needs no account, `notes` has a resource and a prompt alone, `shop` has a
vendor."""

from typing import Annotated

from pydantic import BaseModel, Field

from core.module_manifest import ModuleManifest, list_vendor_manifests
from gateway.catalogue import Catalogue, build_catalogue
from gateway.module_manifests import build_module_manifests
from modules.kit import (
    Context,
    Hints,
    Module,
    PromptMessages,
    ResourceContents,
    build_user_prompt,
    prompt,
    read_text_resource,
    resource,
    tool,
)
from tests.support.toy_vendor import shop_module

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
WRITES = Hints(read_only=False, destructive=False, idempotent=False, open_world=False)
DESTROYS = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)
Word = Annotated[str, Field(description="A word", max_length=100)]


class Found(BaseModel):
    """Something that was found."""

    found: str


@tool(hints=READS, scopes=["kg:read"])
async def search(context: Context, query: Word) -> Found:
    """Search the graph for `entities`. Newest first."""
    return Found(found=query)


@tool(hints=WRITES, scopes=["kg:write"])
async def write(context: Context, text: Word) -> Found:
    """Write a note."""
    return Found(found=text)


@tool(hints=DESTROYS, scopes=["kg:write"])
async def delete(context: Context, name: Word) -> Found:
    """Delete an entity."""
    return Found(found=name)


@resource("resource://notes/{topic}", mime_type="text/plain", scopes=["notes:read"])
async def note(context: Context, topic: Word) -> ResourceContents:
    """A note about a `topic`."""
    return read_text_resource(topic)


@prompt(scopes=["notes:read"])
async def sum_up(context: Context, topic: Word) -> PromptMessages:
    """Sum up the notes about a topic."""
    return build_user_prompt(topic)


def toy_catalogue() -> Catalogue:
    """The catalogue of all."""
    kg = Module("kg", "Graph", "A graph.", frozenset({"kg:read", "kg:write"}), (search, write, delete))
    notes = Module("notes", "Notes", "Notes.", frozenset({"notes:read"}), (), resources=(note,), prompts=(sum_up,))
    return build_catalogue([kg, notes, shop_module("https://shop.example")])


def toy_vendors() -> tuple[ModuleManifest, ...]:
    """The manifests of those with a vendor."""
    return list_vendor_manifests(build_module_manifests(toy_catalogue()))
