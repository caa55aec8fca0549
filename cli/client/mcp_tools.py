"""Tools at a server, called as any client calls them: by `tools/call` of `call` at ``/mcp``."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

from cli.client.api_errors import NotSignedIn
from cli.client.bearer_auth import BearerAuth
from cli.client.server_http import ServerHttp, ServerResponse
from cli.client.server_metadata import RESOURCE_PATH
from cli.failures import ToolCallError
from core.errors import Forbidden, LimitReached, NotFound, Unavailable
from core.secret import Secret

PROTOCOL_HEADERS = {"MCP-Protocol-Version": "2025-11-25"}
RESULT_TOKENS = 50_000
MAX_TEXT_LENGTH = 1_000
NO_SUCH_TOOL_START = "no such module or tool"


class ToolCaller(Protocol):
    """Calls tools as one user."""

    def call(self, module: str, tool: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a tool; return its result.

        Raises:
            ToolCallError: the tool refused it.
            NotFound: there is no such tool for this user.
            core.errors.MCPistError: the server refused it, or is away.
        """
        ...


class McpToolCaller:
    """Implements :class:`ToolCaller` over HTTP."""

    def __init__(self, http: ServerHttp, server: str, access: BearerAuth) -> None:
        self._http = http
        self._url = server + RESOURCE_PATH
        self._access = access

    def call(self, module: str, tool: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        arguments = {"module": module, "tool_name": tool, "params": params, "max_tokens": RESULT_TOKENS}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "call", "arguments": arguments}}
        bearer = self._access.get_token()
        response = self._send(body, bearer)
        if response.status == 401 and (renewed := self._access.renew_token(bearer)) is not None:
            response = self._send(body, renewed)
        return _read_result(response, f"{module}.{tool}")

    def _send(self, body: Mapping[str, Any], bearer: Secret) -> ServerResponse:
        return self._http.send("POST", self._url, body=body, bearer=bearer, headers=PROTOCOL_HEADERS)


def build_missing_tool_error(name: str) -> NotFound:
    return NotFound(f"there is no tool {name} for this user: their roles, or the service's settings, do not permit it")


def _read_result(response: ServerResponse, name: str) -> Mapping[str, Any]:
    if response.status != 200:
        raise _build_http_error(response)
    document = response.json()
    result = _get_object(document.get("result"))
    if not result:
        raise ToolCallError(str(_get_object(document.get("error")).get("message"))[:MAX_TEXT_LENGTH])
    if not result.get("isError"):
        return _get_object(result.get("structuredContent"))
    content = result.get("content")
    first = _get_object(cast("list[Any]", content)[0]) if isinstance(content, list) and content else {}
    text = str(first.get("text") or "the tool failed").partition("\n")[0]
    if text.startswith(NO_SUCH_TOOL_START):
        raise build_missing_tool_error(name)
    raise ToolCallError(text[:MAX_TEXT_LENGTH])


def _build_http_error(response: ServerResponse) -> Exception:
    status = response.status
    if status == 401:
        return NotSignedIn("the server refuses your token or login: it has ended; run `mcpist login`")
    if status == 403:
        return Forbidden("the server refuses this: the token or login has no right to call tools (scope mcp:write)")
    if status == 413:
        return ToolCallError("this is larger than what the server takes in one call")
    if status == 429:
        return LimitReached("too many requests; try again later")
    if status >= 500:
        return Unavailable(f"the server answers {status}; run the command again: what was done stays done")
    return ToolCallError(f"the server answers {status}: is the URL that of an MCPist?")


def _get_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
