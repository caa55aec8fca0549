"""Search over the tools that exist for a caller: BM25 of their names, titles, descriptions and parameters.

Documents are made once a tool and shared; whatever depends on other tools (how many have a token, their mean length)
is counted at each search over the permitted ones alone, so that no order or number tells of a hidden one. A scan is
enough: an inverted index for each policy would take as much memory again for each.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from gateway.catalogue import CatalogueTool
from gateway.sieve.query_words import list_related_tokens
from search.tokens import tokenize, tokenize_query

MAX_QUERY_LENGTH = 500
MAX_QUERY_TOKENS = 40
"""Related ones included."""
STEP_TOOLS = 250
"""Tools that are looked at in one turn of the event loop: about half a millisecond."""
MAX_TEXT_LENGTH = 2_000
"""Characters of one text of a tool that count."""

# How much an occurrence in a text counts, by where the text stands.
_NAME, _TITLE, _DESCRIPTION, _PARAMETER, _MODULE, _MODULE_DESCRIPTION = 3.0, 2.0, 1.0, 0.4, 1.5, 0.2
_RELATED = 0.4
"""How much a related word counts beside the one that was asked."""
# The usual saturation; less weight on length than for prose, because a long schema is no less about its subject.
_SATURATION, _LENGTH = 1.2, 0.4

Translations = Mapping[str, Mapping[str, Any]]
"""Texts in another language by module: `title`, `description`, and `tools` with a title by tool."""
LoadTranslations = Callable[[], Translations]
Document = Mapping[str, float]


class ToolDocuments:
    """What a search compares with, by tool: the weight of each of its tokens. Built at the first search of a tool, or
    soon after the start. `load_translations` is called once, at the first tool."""

    def __init__(self, load_translations: LoadTranslations = dict) -> None:
        self._load_translations = load_translations
        self._translations: Translations | None = None
        self._documents: dict[CatalogueTool, tuple[Document, float]] = {}

    def get(self, tool: CatalogueTool) -> tuple[Document, float]:
        """Return the weights of a tool's tokens, and their sum."""
        document = self._documents.get(tool)
        if document is None:
            document = self._documents[tool] = self._build(tool)
        return document

    def _build(self, tool: CatalogueTool) -> tuple[Document, float]:
        if self._translations is None:
            self._translations = self._load_translations()
        weights: dict[str, float] = {}
        for weight, text in _list_texts(tool, self._translations.get(tool.module, {})):
            for token in tokenize(text[:MAX_TEXT_LENGTH]):
                weights[token] = weights.get(token, 0.0) + weight
        return weights, sum(weights.values())


async def search_tools(documents: ToolDocuments, tools: Sequence[CatalogueTool], query: str) -> list[CatalogueTool]:
    """Search `tools`, which are those that exist for the caller; the best come first, and equal ones in their order.

    At most ``MAX_QUERY_LENGTH`` characters of the query count.
    """
    asked = _weigh_query(query[:MAX_QUERY_LENGTH])
    found, total_length = await _match(documents, tools, asked.keys())
    if not found:
        return []
    counts: dict[str, int] = {}
    for _, document, _ in found:
        for token in document.keys() & asked.keys():
            counts[token] = counts.get(token, 0) + 1
    rarities = {
        token: asked[token] * math.log(1 + (len(tools) - count + 0.5) / (count + 0.5))
        for token, count in counts.items()
    }
    mean = total_length / len(tools)
    scores: list[tuple[float, int]] = []
    for position, document, length in found:
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * length / mean)
        # Summed in the query's order: a set's order differs between processes, and so would the last digit of a sum.
        score = sum(
            rarities[token] * weight * (_SATURATION + 1) / (weight + norm)
            for token in asked
            if (weight := document.get(token))
        )
        scores.append((-score, position))
    return [tools[position] for _, position in sorted(scores)]


async def _match(
    documents: ToolDocuments, tools: Sequence[CatalogueTool], asked: Iterable[str]
) -> tuple[list[tuple[int, Document, float]], float]:
    """Match every tool in steps: position, document and length of those with one of the tokens, and the length of
    all."""
    wanted = frozenset(asked)
    found: list[tuple[int, Document, float]] = []
    total = 0.0
    for start in range(0, len(tools), STEP_TOOLS):
        if start:
            await wait_for_turn(LARGE_STEP_BYTES + 1)
        for position, tool in enumerate(tools[start : start + STEP_TOOLS], start):
            document, length = documents.get(tool)
            total += length
            if not wanted.isdisjoint(document):
                found.append((position, document, length))
    return found, total


def _weigh_query(query: str) -> dict[str, float]:
    """Weigh the tokens of a query: each asked one as it is, and related words less."""
    weights = dict.fromkeys(tokenize_query(query)[:MAX_QUERY_TOKENS], 1.0)
    for token in tuple(weights):
        for related in list_related_tokens(token):
            if len(weights) < MAX_QUERY_TOKENS:
                weights.setdefault(related, _RELATED)
    return weights


def _list_texts(tool: CatalogueTool, translation: Mapping[str, Any]) -> Iterable[tuple[float, str]]:
    declared, module = tool.tool, tool.owner
    yield from ((_NAME, name.replace("_", " ")) for name in dict.fromkeys((declared.name, *declared.aliases)))
    yield _TITLE, declared.title
    yield _TITLE, translation.get("tools", {}).get(declared.name, "")
    yield _DESCRIPTION, declared.description
    yield _MODULE, f"{module.name} {module.title} {translation.get('title', '')}"
    yield _MODULE_DESCRIPTION, f"{module.description} {translation.get('description', '')}"
    for name, parameter in declared.arguments.model_fields.items():
        yield _PARAMETER, f"{name} {parameter.description or ''}"
