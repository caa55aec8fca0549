"""Words of an item as its row has them: the number of its workspace before each, those of the title with the weight A,
those of the description with B, all others with none."""

from collections.abc import Iterator

from modules.kit.turns import count_work
from modules.kit.word_tokens import collect_tokens

MAX_VECTOR_BYTES = 1_000_000
"""PostgreSQL takes a vector of 1,048,575 bytes. A content of more distinct words than fit is found by the first."""
_PIECE = 2_000
_OVERLAP = 100
_BYTES_OF_POSITION = 4


def build_token_vector(workspace: int, title: str, description: str, content: str) -> str:
    """Write the words of an item of the workspace of this number as PostgreSQL's tsvector. Long texts take long:
    `modules.kit.run_in_turns` calls it."""
    weights: dict[str, str] = {}
    size = 0
    for text, weight in ((title, ":1A"), (description, ":1B"), (content, "")):
        for piece in _split_pieces(text):
            count_work(5 * len(piece))
            for token in collect_tokens(piece):
                if token in weights:
                    continue
                size += len(str(workspace)) + 1 + len(token.encode()) + _BYTES_OF_POSITION
                if size > MAX_VECTOR_BYTES:
                    return _format_vector(workspace, weights)
                weights[token] = weight
    return _format_vector(workspace, weights)


def format_lexeme(workspace: int, token: str) -> str:
    """Write a token as it stands in vectors and queries."""
    escaped = token.replace("\\", "\\\\").replace("'", "''")
    return f"'{workspace}:{escaped}'"


def _format_vector(workspace: int, weights: dict[str, str]) -> str:
    return " ".join([format_lexeme(workspace, token) + weight for token, weight in weights.items()])


def _split_pieces(text: str) -> Iterator[str]:
    """Split a text at line breaks or blanks; a longer run of Japanese in pieces that overlap, so that no pair of
    characters is lost."""
    start = 0
    while len(text) - start > _PIECE:
        end = max(text.rfind("\n", start, start + _PIECE), text.rfind(" ", start + _PIECE // 2, start + _PIECE))
        if end > start:
            yield text[start:end]
            start = end
        else:
            yield text[start : start + _PIECE]
            start += _PIECE - _OVERLAP
    yield text[start:]
