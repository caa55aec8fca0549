"""Tokens of Japanese and English text for a module that searches tables of its own, as collections are searched.

PostgreSQL's text configurations make one word of a whole Japanese run, so a module stores these tokens instead
(``array_to_tsvector``) and looks for those of a query. `QueryToken.is_prefix` marks one character that begins tokens.
"""

from collections.abc import Iterable, Iterator

from modules.kit.turns import count_work
from search.index_tokens import (
    QueryToken,
    collect_completion_tokens,
    collect_query_tokens,
    collect_title_tokens,
    collect_tokens,
)

__all__ = [
    "MAX_INDEXED_BYTES",
    "QueryToken",
    "collect_completion_tokens",
    "collect_index_tokens",
    "collect_query_tokens",
    "collect_title_tokens",
]

MAX_INDEXED_BYTES = 900_000
"""Of all tokens of one row together, with what the module puts before each: PostgreSQL's tsvector holds 1 MB."""
_SLICE = 2_000
_SHARED_CHARS = 2
"""Characters that two slices of a long word share: a token of Japanese is made of at most three."""


def collect_index_tokens(texts: Iterable[str], *, prefix_length: int = 0) -> list[str]:
    """Collect the tokens that find the texts, each once, in the order of the texts.

    What is beyond MAX_INDEXED_BYTES, with `prefix_length` bytes before each token, is left out: random characters come
    to that, no language does. To be run in turns (:mod:`modules.kit.turns`).
    """
    tokens: dict[str, None] = {}
    left = MAX_INDEXED_BYTES
    for part in (part for text in texts for part in _split_text(text)):
        count_work(len(part))
        for token in sorted(collect_tokens(part) - tokens.keys()):
            left -= prefix_length + len(token.encode())
            if left < 0:
                return list(tokens)
            tokens[token] = None
    return list(tokens)


def _split_text(text: str) -> Iterator[str]:
    """Split a text at blanks into parts that are short; what is long without a blank, within a word."""
    start = 0
    while len(text) - start > _SLICE:
        end = start + _SLICE
        blank = max(text.rfind(sign, start + 1, end) for sign in " \n")
        yield text[start : blank if blank > 0 else end]
        start = blank if blank > 0 else end - _SHARED_CHARS
    yield text[start:]
