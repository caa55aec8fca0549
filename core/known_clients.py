"""Which clients show their model the structured part of a result, as seen by recording what the models were sent.

For these the text of a result is a short form (docs/decisions/0035). A client is added here when it was seen, not when
its documentation says so: one that shows the text alone would show its model nothing.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

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
