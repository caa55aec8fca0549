"""Tokens that find an item: those that its row has, and those of a query.

Each has the number of its workspace before it, so that the one index of all workspaces finds nothing of another's.
Those of the title are there twice, once with a sign of their own: they rank hits, and complete what is being written.
"""

from collections.abc import Iterable, Sequence

from modules.kit.search_tokens import (
    QueryToken,
    collect_completion_tokens,
    collect_index_tokens,
    collect_query_tokens,
    collect_title_tokens,
)

_IN_ITEM, _IN_TITLE = ":", "="


def build_token_vector(workspace: int, title: str, description: str, content: str) -> str:
    """Write the words of an item in the workspace of this number as PostgreSQL's tsvector. To be run in turns
    (:mod:`modules.kit.turns`): 100,000 characters take 60 ms."""
    prefix_length = len(str(workspace)) + len(_IN_ITEM)
    tokens = collect_index_tokens((title, description, content), prefix_length=prefix_length)
    named = _format_lexemes(workspace, _IN_TITLE, sorted(collect_title_tokens(title)))
    return " ".join([*named, *_format_lexemes(workspace, _IN_ITEM, tokens)])


def build_query(workspace: int, query: str) -> str:
    """Write the words of a query as the tsquery of items that have all of them; empty where it has none."""
    return _format_query(workspace, _IN_ITEM, collect_query_tokens(query))


def build_title_query(workspace: int, query: str) -> str:
    """Write the tsquery of items that have all words of a query in their title; empty where it has none."""
    return _format_query(workspace, _IN_TITLE, collect_query_tokens(query))


def build_completion_query(workspace: int, query: str) -> str:
    """Write the tsquery of items whose title has all words of a query, the last of which is being written; empty where
    it has none."""
    return _format_query(workspace, _IN_TITLE, collect_completion_tokens(query))


def _format_lexemes(workspace: int, place: str, tokens: Iterable[str]) -> list[str]:
    # A token is letters and digits, with -_./ between them: there is nothing to escape.
    return [f"'{workspace}{place}{token}'" for token in tokens]


def _format_query(workspace: int, place: str, tokens: Sequence[QueryToken]) -> str:
    lexemes = _format_lexemes(workspace, place, [token.text for token in tokens])
    return " & ".join(
        f"{lexeme}:*" if token.is_prefix else lexeme for lexeme, token in zip(lexemes, tokens, strict=True)
    )
