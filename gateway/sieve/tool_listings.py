"""Listings of tools in ``get_module_schema``: built at the first use of a tool, or soon after the start."""

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson

from gateway.catalogue import Catalogue, CatalogueTool
from gateway.sieve.schema_summary import summarize_schema
from gateway.sieve.tool_documents import LoadTranslations, ToolDocuments, load_nothing
from modules.kit import Hints

PREPARE_AFTER_SECONDS = 1.0
PREPARE_PAUSE_SECONDS = 0.002
MAX_SENTENCE_LENGTH = 160


CONTENT = "content to look at: texts, images, sounds or resources"
"""What a tool returns that has no data to refer to."""


class ToolListings:
    """Listings of one catalogue's tools; callers with different permissions share them. So they do `documents`, which
    searches look at."""

    def __init__(self, load_translations: LoadTranslations = load_nothing) -> None:
        self.documents = ToolDocuments(load_translations)
        self._listings: dict[CatalogueTool, Mapping[str, Any]] = {}
        self._sizes: dict[CatalogueTool, int] = {}

    def get(self, tool: CatalogueTool) -> Mapping[str, Any]:
        """Return the listing of a tool."""
        listing = self._listings.get(tool)
        if listing is None:
            listing = self._listings[tool] = _build_listing(tool)
        return listing

    def measure(self, tool: CatalogueTool) -> int:
        """Return how many bytes a listing has as JSON."""
        size = self._sizes.get(tool)
        if size is None:
            size = self._sizes[tool] = len(orjson.dumps(self.get(tool)))
        return size

    def summarize(self, tool: CatalogueTool) -> Mapping[str, str]:
        """Build the listing of a tool in one line: its name, and the first sentence of its description."""
        return {"name": tool.name, "description": cut_to_sentence(tool.tool.description)}

    async def prepare_later(self, catalogue: Catalogue) -> None:
        """Build the validators and listings of all tools once the start is over, one tool in a turn of the loop: each
        takes 1 to 5 ms, all of them half a second that a start need not wait for."""
        await asyncio.sleep(PREPARE_AFTER_SECONDS)
        for tool in (tool for tools in catalogue.tools.values() for tool in tools):
            self.prepare(tool)
            await asyncio.sleep(PREPARE_PAUSE_SECONDS)

    def prepare(self, tool: CatalogueTool) -> None:
        """Build what the first call of a tool and its first listing would build."""
        tool.tool.arguments.model_rebuild()
        tool.tool.result.model_rebuild()
        self.measure(tool)
        self.documents.get(tool)


def cut_to_sentence(text: str) -> str:
    """Cut a description to its first sentence."""
    line = text.partition("\n")[0]
    sentence, full_stop, _ = line.partition(". ")
    sentence += full_stop.rstrip()
    return sentence if len(sentence) <= MAX_SENTENCE_LENGTH else f"{sentence[: MAX_SENTENCE_LENGTH - 1]}…"


def _build_listing(tool: CatalogueTool) -> Mapping[str, Any]:
    return {
        "name": tool.tool.name,
        "description": tool.tool.description,
        "params": tool.input_schema,
        "returns": CONTENT if tool.output_schema is None else summarize_schema(tool.output_schema),
        "hints": _list_hints(tool.tool.hints),
    }


def _list_hints(hints: Hints) -> list[str]:
    flags = {
        "read-only": hints.read_only,
        "destructive": hints.destructive,
        "idempotent": hints.idempotent,
        "open-world": hints.open_world,
    }
    return [name for name, true in flags.items() if true]
