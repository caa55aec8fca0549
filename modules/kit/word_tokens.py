"""Tokens of Japanese and English text, for a module that finds its own rows by their words: the same function makes
those of what is searched and of the query, and every search of MCPist has the same ones."""

from search.index_tokens import MAX_QUERY_TOKENS, MAX_TOKEN_CHARS, QueryToken, collect_query_tokens, collect_tokens

__all__ = ["MAX_QUERY_TOKENS", "MAX_TOKEN_CHARS", "QueryToken", "collect_query_tokens", "collect_tokens"]
