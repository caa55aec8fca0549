"""The methods that the transport answers itself: handshake, ping, discovery."""

from collections.abc import Collection, Mapping
from typing import Any

import orjson

from gateway.mcp.context import Params, ProtocolError
from gateway.mcp.envelope import INVALID_PARAMS
from gateway.mcp.revisions import REVISIONS, SUPPORTED, Renderer, Revision

SERVER_NAME = "mcpist"
_TITLE_SINCE = "2025-06-18"


def capabilities(methods: Collection[str]) -> dict[str, Any]:
    """What there are handlers for; nothing is ever announced as changing by itself."""
    groups = sorted({method.partition("/")[0] for method in methods} & {"tools", "resources", "prompts"})
    return {group: {"listChanged": False} for group in groups}


class OwnMethods:
    """Rendered once at the start."""

    def __init__(
        self, methods: Collection[str], version: str, instructions: str, renderers: Mapping[str, Renderer]
    ) -> None:
        offered: dict[str, Any] = {"capabilities": capabilities(methods)}
        if instructions:
            offered["instructions"] = instructions
        self._initialize = {name: _initialized(name, version, offered) for name in REVISIONS}
        discovered = {"supportedVersions": list(SUPPORTED), **offered}
        self._fixed = {
            (revision.version, method): renderers[revision.version].render(method, result)
            for revision in REVISIONS.values()
            for method, result in (("ping", {}), ("server/discover", discovered))
            if method in revision.own_methods
        }

    def answer(self, revision: Revision, method: str, params: Params) -> bytes | None:
        """The result as JSON, or None if the method is not the transport's own in this revision.

        Raises:
            ProtocolError: -32602 an `initialize` that asks for no version.
        """
        if method == "initialize" and method in revision.own_methods:
            if not isinstance(params.get("protocolVersion"), str):
                raise ProtocolError(INVALID_PARAMS, "Invalid params: protocolVersion must be a string")
            return self._initialize[revision.version]
        return self._fixed.get((revision.version, method))


def server_info(version: str) -> dict[str, str]:
    """Who answers (MCP Implementation)."""
    return {"name": SERVER_NAME, "version": version}


def _initialized(revision: str, version: str, offered: dict[str, Any]) -> bytes:
    info = server_info(version)
    if revision >= _TITLE_SINCE:
        info["title"] = "MCPist"
    return orjson.dumps({"protocolVersion": revision, "serverInfo": info, **offered})
