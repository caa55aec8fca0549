"""Search over the tools that exist for a caller: BM25 of their names, titles, descriptions and parameters.

Documents are made once a tool and shared; whatever depends on other tools (how many have a token, their mean length)
is counted at each search over the permitted ones alone, so that no order or number tells of a hidden one. A scan is
enough: an inverted index for each policy would take as much memory again for each.
"""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TypeVar

from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from gateway.catalogue import CatalogueTool
from gateway.sieve.query_words import QueryWord, read_query_words
from gateway.sieve.tool_documents import Document, ToolDocuments

MAX_QUERY_LENGTH = 500
MAX_QUERY_WORDS = 32
STEP_TOOLS = 250
"""Tools that are looked at in one turn of the event loop: about a millisecond."""
_RELATED = 0.4
"""How much a related word counts beside the one that was asked."""
# The usual saturation, in tenths as weights are. Less weight on length than for prose: a long schema is no less about
# its subject.
_SATURATION, _LENGTH = 12, 0.4

Item = TypeVar("Item")


async def search_tools(documents: ToolDocuments, tools: Sequence[CatalogueTool], query: str) -> list[CatalogueTool]:
    """Search `tools`, which are those that exist for the caller; the best come first, and equal ones in their order.

    At most ``MAX_QUERY_LENGTH`` characters of the query count.
    """
    words = read_query_words(query[:MAX_QUERY_LENGTH], MAX_QUERY_WORDS)
    asked = frozenset(token for word in words for token in word.tokens)
    await documents.prepare(tools)
    counts: dict[str, int] = {}
    found: list[tuple[int, Document, int]] = []
    total_length = 0
    async for position, tool in _step_through(tools):
        document, length = documents.get(tool)
        total_length += length
        if shared := document.keys() & asked:
            found.append((position, document, length))
            for token in shared:
                counts[token] = counts.get(token, 0) + 1
    rarities = {token: math.log(1 + (len(tools) - count + 0.5) / (count + 0.5)) for token, count in counts.items()}
    mean = total_length / len(tools) if found else 1.0
    scores: list[tuple[float, int]] = []
    async for _, (position, document, length) in _step_through(found):
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * length / mean)
        scores.append((-_score(words, document, rarities, norm), position))
    return [tools[position] for _, position in sorted(scores)]


def _score(words: Sequence[QueryWord], document: Document, rarities: Mapping[str, float], norm: float) -> float:
    """Sum the best of each word, in the order of the query: the order of a set differs between processes, and with it
    the last digit of a sum."""
    score = 0.0
    for tokens, begin in words:
        if begin and begin not in document:
            continue
        best, factor = 0.0, 1.0
        for token in tokens:
            if weight := document.get(token):
                best = max(best, factor * rarities[token] * weight / (weight + norm))
            factor = _RELATED
        score += best
    return score


async def _step_through(items: Sequence[Item]) -> AsyncIterator[tuple[int, Item]]:
    """Enumerate `items` in turns of the event loop."""
    for start in range(0, len(items), STEP_TOOLS):
        if start:
            await wait_for_turn(LARGE_STEP_BYTES + 1)
        for position, item in enumerate(items[start : start + STEP_TOOLS], start):
            yield position, item
