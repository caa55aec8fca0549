"""The methods that the transport answers itself: handshake, ping, discovery."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from core.caller import Caller
from core.tool_exposure import ToolExposure
from gateway.icons import MCPIST_ICON, build_icons
from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Params, ProtocolError
from gateway.mcp.revisions import (
    MODERN_REVISION,
    REVISIONS,
    SERVER_KEY,
    SUPPORTED_VERSIONS,
    ResultRenderer,
    Revision,
)

SERVER_NAME = "mcpist"
SERVER_TITLE = "MCPist"
_TITLE_SINCE = "2025-06-18"
_ICONS_SINCE = "2025-11-25"
_COMPLETIONS_SINCE = "2025-03-26"
"""Completion is older than its capability."""
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"

_SUBSCRIBING_METHODS = frozenset({"resources/subscribe", "subscriptions/listen"})

BuildInstructions = Callable[[Caller, ToolExposure], str]
"""What a client may put before its model, for this caller and exposure of tools ([2025-11-25] Lifecycle; [2026-07-28]
Discovery)."""


def build_capabilities(methods: Collection[str], revision: str, *, has_plain_tools: bool = False) -> dict[str, Any]:
    """Build the server's capabilities from a revision's handlers. Clients are told of changed lists where there is a
    way to subscribe to anything; the three meta-tools never change."""
    groups = sorted({method.partition("/")[0] for method in methods} & {"tools", "resources", "prompts"})
    can_subscribe = not _SUBSCRIBING_METHODS.isdisjoint(methods)
    capabilities: dict[str, Any] = {
        group: {"listChanged": can_subscribe and (has_plain_tools or group != "tools")} for group in groups
    }
    if "resources" in capabilities and can_subscribe:
        capabilities["resources"]["subscribe"] = True
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
        self._capabilities = {
            (name, plain): {"capabilities": build_capabilities(methods[name], name, has_plain_tools=plain)}
            for name in REVISIONS
            for plain in (False, True)
        }
        self._initialize_results = {
            (name, plain): {"protocolVersion": name, "serverInfo": _introduce(version, name), **capabilities}
            for (name, plain), capabilities in self._capabilities.items()
        }
        self._introduction = {"_meta": {SERVER_KEY: _introduce(version, MODERN_REVISION.version)}}

    def answer(self, revision: Revision, method: str, params: Params, caller: Caller, exposure: ToolExposure) -> bytes:
        """Return the result of one of the revision's lifecycle methods as JSON.

        Raises:
            ProtocolError: -32602 an `initialize` that asks for no version.
        """
        renderer, key = self._renderers[revision.version], (revision.version, exposure.has_plain_tools)
        if method == "ping":
            return renderer.render(method, {})
        if method == "initialize":
            if not isinstance(params.get("protocolVersion"), str):
                raise ProtocolError(INVALID_PARAMS, "Invalid params: protocolVersion must be a string")
            return renderer.render(
                method, self._initialize_results[key] | self._build_instructions_field(caller, exposure)
            )
        discovery = {"supportedVersions": list(SUPPORTED_VERSIONS), **self._capabilities[key], **self._introduction}
        return renderer.render(method, discovery | self._build_instructions_field(caller, exposure))

    def _build_instructions_field(self, caller: Caller, exposure: ToolExposure) -> dict[str, str]:
        return {} if self._instructions is None else {"instructions": self._instructions(caller, exposure)}


def _introduce(version: str, revision: str) -> dict[str, Any]:
    """Build the server's Implementation as clients learn it once, with its icon where the revision has icons."""
    return build_server_info(version, revision) | (build_icons(MCPIST_ICON) if revision >= _ICONS_SINCE else {})


def build_server_info(version: str, revision: str) -> dict[str, str]:
    """Build the server's Implementation as it stands in every answer of a modern revision ([2026-07-28] `_meta`);
    revisions before 2025-06-18 know no title."""
    title = {"title": SERVER_TITLE} if revision >= _TITLE_SINCE else {}
    return {"name": SERVER_NAME, **title, "version": version}
