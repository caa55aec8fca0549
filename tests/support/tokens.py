"""How many o200k tokens a text has."""

import warnings
from functools import cache
from typing import Any


def tokens(text: str) -> int:
    """Counted with OpenAI's o200k encoding."""
    return len(list(_encoding().encode(text)))


@cache
def _encoding() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of importlib.resources
        import bpe_openai
    return bpe_openai.get_encoding("o200k_base")
