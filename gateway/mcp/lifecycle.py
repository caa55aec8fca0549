"""The methods that the transport answers itself: handshake, ping, discovery."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from core.caller import Caller
from gateway.mcp.exposure import ToolExposure
from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Params, ProtocolError
from gateway.mcp.revisions import REVISIONS, SUPPORTED_VERSIONS, ResultRenderer, Revision

SERVER_NAME = "mcpist"
SERVER_TITLE = "MCPist"
_TITLE_SINCE = "2025-06-18"
_COMPLETIONS_SINCE = "2025-03-26"
"""Completion is older than its capability."""
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"

BuildInstructions = Callable[[Caller, ToolExposure], str]
"""What a client may put before its model, for this caller and exposure of tools ([2025-11-25] Lifecycle; [2026-07-28]
Discovery)."""


def build_capabilities(methods: Collection[str], revision: str) -> dict[str, Any]:
    """Build the server's capabilities from a revision's handlers; no list is ever announced as changing."""
    groups = sorted({method.partition("/")[0] for method in methods} & {"tools", "resources", "prompts"})
    capabilities: dict[str, Any] = {group: {"listChanged": False} for group in groups}
    if "completion/complete" in methods and revision >= _COMPLETIONS_SINCE:
        capabilities["completions"] = {}
    if REVISIONS[revision].modern:  # a request asks for the messages of its tool, without a method of the revision
        capabilities["logging"] = {}
    if "tasks/list" in methods:
        capabilities["tasks"] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    elif "tasks/get" in methods:
        capabilities["extensions"] = {TASKS_EXTENSION: {}}
    return capabilities


class LifecycleMethods:
    """Answers the lifecycle methods. `methods` are those with a handler, by revision. Without `instructions` none are
    sent."""

    def __init__(
        self,
        methods: Mapping[str, Collection[str]],
        version: str,
        instructions: BuildInstructions | None,
        renderers: Mapping[str, ResultRenderer],
    ) -> None:
        self._instructions = instructions
        self._renderers = renderers
        self._capabilities = {name: {"capabilities": build_capabilities(methods[name], name)} for name in REVISIONS}
        self._initialize_results = {
            name: {"protocolVersion": name, "serverInfo": build_server_info(version, name), **self._capabilities[name]}
            for name in REVISIONS
        }

    def answer(self, revision: Revision, method: str, params: Params, caller: Caller, exposure: ToolExposure) -> bytes:
        """Return the result of one of the revision's lifecycle methods as JSON.

        Raises:
            ProtocolError: -32602 an `initialize` that asks for no version.
        """
        renderer = self._renderers[revision.version]
        if method == "ping":
            return renderer.render(method, {})
        if method == "initialize":
            if not isinstance(params.get("protocolVersion"), str):
                raise ProtocolError(INVALID_PARAMS, "Invalid params: protocolVersion must be a string")
            return renderer.render(
                method, self._initialize_results[revision.version] | self._build_instructions_field(caller, exposure)
            )
        discovery = {"supportedVersions": list(SUPPORTED_VERSIONS), **self._capabilities[revision.version]}
        return renderer.render(method, discovery | self._build_instructions_field(caller, exposure))

    def _build_instructions_field(self, caller: Caller, exposure: ToolExposure) -> dict[str, str]:
        return {} if self._instructions is None else {"instructions": self._instructions(caller, exposure)}


def build_server_info(version: str, revision: str) -> dict[str, str]:
    """Build the server's Implementation (MCP); revisions before 2025-06-18 know no title."""
    title = {"title": SERVER_TITLE} if revision >= _TITLE_SINCE else {}
    return {"name": SERVER_NAME, **title, "version": version}
