"""What is known of clients: which show their model the structured part of a result, as seen by recording what the
models were sent, and how large a result they take.

For these the text of a result is a short form (docs/decisions/0035). A client is added here when it was seen, not when
its documentation says so: one that shows the text alone would show its model nothing.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

LEAST_RESULT_TOKENS, DEFAULT_RESULT_TOKENS, MOST_RESULT_TOKENS = 200, 8_000, 50_000
"""Tokens (o200k) that a result may take."""

ToolResultFormat = Literal["short", "full"]

TOOL_RESULT_FORMAT_BY_CLIENT_ID: Mapping[str, ToolResultFormat] = MappingProxyType(
    {
        "https://claude.ai/oauth/claude-code-client-metadata": "short",  # Claude Code 2.1.330
        "https://chatgpt.com/oauth/codex/client.json": "short",  # Codex 0.169.0
    }
)
"""By the URL of the metadata document that is the id of an OAuth client."""

TOOL_RESULT_FORMAT_BY_CLIENT_NAME: Mapping[str, ToolResultFormat] = MappingProxyType(
    {"claude-code": "short"}
)  # Claude Code 2.1.330
"""By the name in the `clientInfo` of a request, which revisions from 2026-07-28 on have."""

RESULT_TOKENS_BY_CLIENT_ID: Mapping[str, int] = MappingProxyType(
    {"https://claude.ai/oauth/claude-code-client-metadata": 10_000}
)
"""By the id of an OAuth client. Claude Code warns its user of more than 10,000 tokens, and writes what has more than
50,000 characters to a file in place of showing it (its documentation, October 2026)."""

RESULT_TOKENS_BY_CLIENT_NAME: Mapping[str, int] = MappingProxyType({"claude-code": 10_000})
