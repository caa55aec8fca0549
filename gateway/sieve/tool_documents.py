"""Documents of tools for the search over them: the weight of each token in names, titles, descriptions, parameters.

A document is made of one tool alone and shared by all callers who may use it.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from gateway.catalogue import CatalogueTool
from search.tokens import tokenize

STEP_TOOLS = 5
MAX_TEXT_LENGTH = 2_000
"""Characters of one text of a tool that count."""

# How much an occurrence in a text counts, in tenths, by where the text stands.
_NAME, _TITLE, _DESCRIPTION, _KEYWORD, _PARAMETER, _MODULE, _MODULE_DESCRIPTION = 30, 20, 10, 20, 4, 15, 2

Translations = Mapping[str, Mapping[str, Any]]
"""Texts in another language by module: `title`, `description`, and `tools` with a title by tool."""
LoadTranslations = Callable[[], Translations]
Document = Mapping[str, int]
"""Weight of each token, in tenths of an occurrence."""


def load_nothing() -> Translations:
    """Load the translations where there are none."""
    return {}


class ToolDocuments:
    """What a search compares with, by tool: the weight of each of its tokens. Built at the first search of a tool, or
    soon after the start. `load_translations` is called once, at the first tool."""

    def __init__(self, load_translations: LoadTranslations = load_nothing) -> None:
        self._load_translations = load_translations
        self._translations: Translations | None = None
        self._documents: dict[CatalogueTool, tuple[Document, int]] = {}

    def get(self, tool: CatalogueTool) -> tuple[Document, int]:
        """Return the weights of a tool's tokens, and their sum."""
        document = self._documents.get(tool)
        if document is None:
            document = self._documents[tool] = self._build(tool)
        return document

    async def prepare(self, tools: Iterable[CatalogueTool]) -> None:
        """Build the documents that are missing, a few in a turn of the event loop: each takes a quarter of a ms."""
        missing = [tool for tool in tools if tool not in self._documents]
        for number, tool in enumerate(missing, 1):
            self.get(tool)
            if number % STEP_TOOLS == 0:
                await wait_for_turn(LARGE_STEP_BYTES + 1)

    def _build(self, tool: CatalogueTool) -> tuple[Document, int]:
        if self._translations is None:
            self._translations = self._load_translations()
        weights: dict[str, int] = {}
        for weight, text in _list_texts(tool, self._translations.get(tool.module, {})):
            for token in map(sys.intern, tokenize(text[:MAX_TEXT_LENGTH])):  # ten thousand tools share their words
                weights[token] = weights.get(token, 0) + weight
        return weights, sum(weights.values())


def _list_texts(tool: CatalogueTool, translation: Mapping[str, Any]) -> Iterable[tuple[int, str]]:
    declared, module = tool.tool, tool.owner
    yield from ((_NAME, name.replace("_", " ")) for name in dict.fromkeys((declared.name, *declared.aliases)))
    yield _TITLE, declared.title
    yield _TITLE, translation.get("tools", {}).get(declared.name, "")
    yield _DESCRIPTION, declared.description
    yield _KEYWORD, declared.keywords
    yield _MODULE, f"{module.name} {module.title} {translation.get('title', '')}"
    yield _MODULE_DESCRIPTION, f"{module.description} {translation.get('description', '')}"
    for name, parameter in declared.arguments.model_fields.items():
        yield _PARAMETER, f"{name} {parameter.description or ''}"
