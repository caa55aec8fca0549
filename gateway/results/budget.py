"""How many tokens a result may take, of whoever asks (docs/decisions/0122)."""

import sys
from contextvars import ContextVar
from typing import Any

from core.known_clients import (
    DEFAULT_RESULT_TOKENS,
    LEAST_RESULT_TOKENS,
    MOST_RESULT_TOKENS,
    RESULT_TOKENS_BY_CLIENT_NAME,
)
from gateway.mcp.request_context import RequestContext
from gateway.mcp.settings import MEBIBYTE

MAX_TOKENS = "max_tokens"
UNLIMITED_TOKENS = sys.maxsize
"""More than any result has: only the limit in bytes of one call counts."""
DOCUMENT_TOKENS = UNLIMITED_TOKENS - 1
"""The same, for a result that fits one answer; what does not is shown in part."""
MAX_ANSWER_BYTES = MEBIBYTE - 8 * 1024
"""Of a result that stands in its answer twice, beside what else is there."""
TAKES_WHOLE_RESULTS: ContextVar[bool] = ContextVar("TAKES_WHOLE_RESULTS", default=False)
"""Set where a call is made for a program, by an HTTP route of its own: no model reads the result."""


def explain_invalid_max_tokens(value: Any) -> str | None:
    """Explain what is wrong with a `max_tokens`; None where nothing is."""
    if type(value) is int and LEAST_RESULT_TOKENS <= value <= MOST_RESULT_TOKENS:
        return None
    return f"{MAX_TOKENS} is a whole number of tokens from {LEAST_RESULT_TOKENS} to {MOST_RESULT_TOKENS}"


def choose_document_budget(request: RequestContext) -> int:
    """Choose the budget of a result in the direct form of a module's document: what is said of the credential or known
    of the client, else none, as far as the result fits one answer. A client that was written for the document knows no
    result in parts."""
    return (
        request.caller.credential.result_tokens
        or RESULT_TOKENS_BY_CLIENT_NAME.get(request.client_name)
        or DOCUMENT_TOKENS
    )


def fits_one_answer(encoded: bytes) -> bool:
    """Check whether a result fits an answer, where it stands as JSON and as a text of JSON, whose quotes and
    backslashes have a backslash each."""
    return 2 * len(encoded) + encoded.count(b'"') + encoded.count(b"\\") <= MAX_ANSWER_BYTES


def choose_budget(request: RequestContext) -> int:
    """Choose the budget of one result in tokens: what the call says, else the credential's client or setting, else
    what is known of the client that the request names, else the default."""
    return (
        request.max_tokens
        or request.caller.credential.result_tokens
        or RESULT_TOKENS_BY_CLIENT_NAME.get(request.client_name, DEFAULT_RESULT_TOKENS)
    )
