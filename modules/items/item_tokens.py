"""Words of an item as its row has them: the number of its workspace before each, and those of the title with the weight
A, by which titles are completed and hits are ranked."""

from modules.kit.search_tokens import collect_index_tokens, collect_title_tokens

_BYTES_OF_POSITION = 4


def build_token_vector(workspace: int, title: str, description: str, content: str) -> str:
    """Write the words of an item in the workspace of this number as PostgreSQL's tsvector. To be run in turns
    (:mod:`modules.kit.turns`)."""
    title_tokens = collect_title_tokens(title)
    prefix_length = len(str(workspace)) + 1 + _BYTES_OF_POSITION
    tokens = collect_index_tokens((title, description, content), prefix_length=prefix_length)
    weighted = [f"{format_lexeme(workspace, token)}:1A" for token in sorted(title_tokens)]
    return " ".join([*weighted, *(format_lexeme(workspace, token) for token in tokens if token not in title_tokens)])


def format_lexeme(workspace: int, token: str) -> str:
    """Write a token as it stands in vectors and queries."""
    escaped = token.replace("\\", "\\\\").replace("'", "''")
    return f"'{workspace}:{escaped}'"
