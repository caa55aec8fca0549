"""Tokens of chunks and queries as the database has them: the number of a collection's generation before each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from search.tokens import list_run_ends, list_written_words, tokenize, tokenize_query

MAX_TOKEN_CHARS = 64
"""What is longer is cut off, in chunks as in queries. PostgreSQL's own limit is 2,046 bytes."""
MAX_QUERY_TOKENS = 64


@dataclass(frozen=True, slots=True)
class QueryToken:
    """A token of a query. `is_prefix`: it is one character, which begins the pairs that texts are made of."""

    text: str
    is_prefix: bool


def collect_tokens(text: str) -> frozenset[str]:
    """Collect the tokens of a chunk. The last character of each Japanese run is one, too: it begins no pair."""
    return frozenset(token[:MAX_TOKEN_CHARS] for token in (*tokenize(text), *list_run_ends(text)))


def collect_query_tokens(query: str) -> Sequence[QueryToken]:
    """Collect the tokens of a query, each once, at most MAX_QUERY_TOKENS."""
    tokens = dict.fromkeys(token[:MAX_TOKEN_CHARS] for token in tokenize_query(query))
    return [QueryToken(token, is_prefix=is_single_cjk(token)) for token in list(tokens)[:MAX_QUERY_TOKENS]]


def collect_title_tokens(title: str) -> frozenset[str]:
    """Collect the tokens by which a title is completed: those of a text, and its words without stemming."""
    words = {word[:MAX_TOKEN_CHARS] for word, is_cjk in list_written_words(title) if not is_cjk}
    return collect_tokens(title) | words


def collect_completion_tokens(query: str) -> Sequence[QueryToken]:
    """Collect the tokens of a query whose last word is still being written, for :func:`collect_title_tokens`."""
    tokens: dict[str, bool] = {}
    words = list(list_written_words(query))[:MAX_QUERY_TOKENS]
    for number, (word, is_cjk) in enumerate(words, start=1):
        if is_cjk:
            tokens |= {token.text: token.is_prefix for token in collect_query_tokens(word)}
        else:
            tokens[word[:MAX_TOKEN_CHARS]] = number == len(words)
    return [QueryToken(text, is_prefix) for text, is_prefix in list(tokens.items())[:MAX_QUERY_TOKENS]]


def is_single_cjk(token: str) -> bool:
    """Check whether a token is one Japanese character."""
    return len(token) == 1 and list_run_ends(token) == [token]


def format_vector_of_tokens(generation: int, tokens: Iterable[str]) -> str:
    """Write tokens as PostgreSQL's tsvector."""
    return " ".join([f"'{generation}:{_escape(token)}'" for token in tokens])


def split_lexeme(lexeme: str) -> str:
    """Return the token of a stored lexeme."""
    return lexeme.partition(":")[2]


def count_tokens(chunks: Iterable[frozenset[str]]) -> Counter[str]:
    """Count in how many chunks each token is."""
    counts: Counter[str] = Counter()
    for tokens in chunks:
        counts.update(tokens)
    return counts


def subtract_counts(new: Mapping[str, int], old: Mapping[str, int]) -> dict[str, int]:
    """Return by how much the count of each token changes, without those that stay."""
    changes = {token: new.get(token, 0) - old.get(token, 0) for token in {*new, *old}}
    return {token: change for token, change in changes.items() if change}


def _escape(token: str) -> str:
    return token.replace("\\", "\\\\").replace("'", "''")
