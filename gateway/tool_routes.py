"""Tools as plain HTTP routes, for programs that know an interface from elsewhere and no MCP (docs/memos.md).

A route makes a ``tools/call`` of its request and gives it to /mcp: authentication, limits, sieve, runner, audit are
those of every call, and there is no second way. A program reads the whole result: there is no budget of tokens, and
what has more bytes than one call may return is an error.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson

from core.concurrency.cooperative_steps import wait_for_turn
from core.http_server.exchange import DIRECT
from core.protected_resource import RESOURCE_PATH
from gateway.mcp.call_supervisor import TIMED_OUT
from gateway.mcp.dispatcher import OVERSIZED
from gateway.mcp.errors import HttpRefusal
from gateway.mcp.request_body import read_body
from gateway.mcp.request_headers import RequestHeaders
from gateway.results.budget import TAKES_WHOLE_RESULTS
from gateway.tool_error_text import FAILED_INSIDE
from gateway.tool_runner import NO_SUCH_TOOL

Application = Callable[[dict[str, Any], Any, Any], Awaitable[None]]

MAX_BODY_BYTES = 4 * 1024 * 1024
BODY_SECONDS = 30.0
MAX_FIELDS, MAX_DIGITS = 20, 9
"""Of a query, and of a number in it."""
_REVISION = b"2025-11-25"
_KEPT_HEADERS = frozenset(
    {b"authorization", b"host", b"origin", b"x-forwarded-for", b"x-forwarded-host", b"traceparent"}
)
_PASSED_HEADERS = frozenset({b"www-authenticate", b"retry-after", b"vary"})
_CORS = b"access-control-"
_JSON = (b"content-type", b"application/json")
_STATUS_OF_CODE = {
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "embedding_key_missing": 409,
    "limit_reached": 429,
    "embedding_answer_unusable": 502,
    "unavailable": 503,
    "embedding_refused": 503,
    "timeout": 504,
}
"""Of errors of tools; others are 422."""
CODE_OF_STATUS = {
    400: "invalid",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "too_large",
    422: "invalid",
    429: "limit_reached",
    500: "internal",
    503: "unavailable",
    504: "timeout",
}
"""Of errors that have no code of their own."""
_CODES_OF_TEXTS = ((TIMED_OUT, 504, "timeout"), (OVERSIZED, 422, "result_too_large"), (FAILED_INSIDE, 500, "internal"))
"""Beginnings of texts by which errors are known that are no tool's own."""


@dataclass(frozen=True, slots=True)
class ToolRoute:
    """A tool at a path. The parameters of a GET stand in its query, and `integers` of them are numbers; those of a POST
    are its body, a JSON object."""

    method: str
    path: str
    module: str
    tool: str
    integers: frozenset[str] = frozenset()


MEMO_ROUTES = (
    ToolRoute("POST", "/rag/memo/save", "memo", "save_memo"),
    ToolRoute("GET", "/rag/memo/search", "memo", "query_memo", frozenset({"n_results"})),
    ToolRoute("GET", "/rag/memo/get", "memo", "get_memo"),
    ToolRoute("POST", "/rag/memo/delete", "memo", "delete_memo"),
)
"""The routes of the memo service whose operations the module ``memo`` has."""


class ToolRouteApplication:
    """The ASGI application behind one route; `endpoint` is that of /mcp."""

    def __init__(self, route: ToolRoute, endpoint: Application) -> None:
        self._route = route
        self._endpoint = endpoint

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one HTTP request (ASGI 3)."""
        if scope["method"] not in (self._route.method, "OPTIONS"):
            allow = (b"allow", f"{self._route.method}, OPTIONS".encode())
            await send_error(send, 405, f"Send {self._route.method}", headers=[allow])
            return
        taken = False

        async def receive_call() -> dict[str, Any]:
            """Read the request when /mcp reads its body: by then the caller is known."""
            nonlocal taken
            if taken:
                return await receive()
            taken = True
            body = build_call(self._route.module, self._route.tool, await self._read_params(scope, receive))
            return {"type": "http.request", "body": body, "more_body": False}

        await send_translated(send, await ask_endpoint(self._endpoint, scope, receive_call))

    async def _read_params(self, scope: dict[str, Any], receive: Any) -> dict[str, Any]:
        """Read the parameters of the tool.

        Raises:
            HttpRefusal: they cannot be read.
        """
        if self._route.method == "GET":
            return self._parse_query(scope.get("query_string", b""))
        content = await read_body(receive, RequestHeaders(scope["headers"]), MAX_BODY_BYTES, BODY_SECONDS, None)
        try:
            params = orjson.loads(content)
        except orjson.JSONDecodeError:
            raise HttpRefusal(400, "The body is not JSON") from None
        if not isinstance(params, dict):
            raise HttpRefusal(400, "The body is not a JSON object")
        return cast("dict[str, Any]", params)

    def _parse_query(self, query: bytes) -> dict[str, Any]:
        try:
            text = query.decode("ascii")
            fields = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
        except ValueError:
            raise HttpRefusal(400, "The query cannot be read") from None
        params: dict[str, Any] = dict(fields)
        for name in self._route.integers & params.keys():
            number = str(params[name])
            if not number.isascii() or not number.isdigit() or len(number) > MAX_DIGITS:
                raise HttpRefusal(400, f"{name} is a whole number")
            params[name] = int(number)
        return params


def build_call(module: str, tool: str, params: Mapping[str, Any]) -> bytes:
    """Build the message that calls a tool."""
    return build_meta_call("call", {"module": module, "tool_name": tool, "params": params})


def build_meta_call(name: str, arguments: Mapping[str, Any]) -> bytes:
    """Build the message that calls one of the three tools."""
    call = {"name": name, "arguments": arguments}
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})


class CollectedAnswer:
    """Answer of /mcp to the call that was made of a request."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""

    async def collect(self, message: dict[str, Any]) -> None:
        """Collect a message of the ASGI application."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", ()))
        else:
            self.body += message.get("body", b"")

    def list_passed_headers(self) -> list[tuple[bytes, bytes]]:
        """List the headers that hold for the request, too."""
        return [one for one in self.headers if one[0] in _PASSED_HEADERS or one[0].startswith(_CORS)]


async def ask_endpoint(endpoint: Application, scope: dict[str, Any], receive: Any) -> CollectedAnswer:
    """Send the message that `receive` gives to /mcp, as the caller of `scope` and for the whole result."""
    answer = CollectedAnswer()
    token = TAKES_WHOLE_RESULTS.set(True)
    try:
        await endpoint(_build_call_scope(scope), receive, answer.collect)
    finally:
        TAKES_WHOLE_RESULTS.reset(token)
    return answer


def _build_call_scope(scope: dict[str, Any]) -> dict[str, Any]:
    """Build the scope of the call. What the server remembers of a head belongs to /mcp alone."""
    headers = [(name, value) for name, value in scope["headers"] if name in _KEPT_HEADERS]
    headers += [_JSON, (b"accept", b"application/json"), (b"mcp-protocol-version", _REVISION)]
    method = scope["method"] if scope["method"] == "OPTIONS" else "POST"
    path = {"path": RESOURCE_PATH, "raw_path": RESOURCE_PATH.encode(), "query_string": b""}
    extensions = {name: value for name, value in scope.get("extensions", {}).items() if name != DIRECT}
    return {**scope, **path, "method": method, "headers": headers, "extensions": extensions}


async def send_translated(send: Any, answer: CollectedAnswer) -> None:
    """Send the answer of /mcp as an HTTP API does: what the tool returned, or its error with a status and a code."""
    headers = answer.list_passed_headers()
    await wait_for_turn(len(answer.body))
    message: Any = orjson.loads(answer.body) if answer.body else {}
    result: Any = message.get("result")
    if result is None:
        error: Any = message.get("error")
        text: Any = cast("dict[str, Any]", error)["message"] if isinstance(error, dict) else error
        await send_error(send, 400 if answer.status == 200 else answer.status, text, headers=headers)
    elif not result.get("isError"):
        await send_json(send, 200, result["structuredContent"], headers=headers)
    else:
        status, code, text = _describe_error(result)
        await send_error(send, status, text, code, headers=headers)


def _describe_error(result: Mapping[str, Any]) -> tuple[int, str | int | None, str]:
    """Describe a tool's error: its status, its code where it has one of its own, and its text."""
    text = "".join(block.get("text", "") for block in result["content"])
    described: Any = result.get("structuredContent")
    if described is not None:
        error: dict[str, Any] = described["error"]
        return _STATUS_OF_CODE.get(str(error["code"]), 422), error["code"], error.get("message", text)
    if NO_SUCH_TOOL in text:
        return 404, None, text
    for beginning, status, code in _CODES_OF_TEXTS:
        if text.startswith(beginning):
            return status, code, text
    return 422, None, text


async def send_error(
    send: Any, status: int, text: str, code: str | int | None = None, *, headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Send an error; without a code that of its status."""
    await send_json(send, status, {"error": text, "code": code or CODE_OF_STATUS.get(status, "invalid")}, headers)


async def send_json(send: Any, status: int, content: object, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """Send an answer as JSON."""
    body = b"" if status == 204 else orjson.dumps(content)
    fields = [_JSON, (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


def build_tool_routes(endpoint: Application) -> dict[str, ToolRouteApplication]:
    """Build the application of each route, by its path."""
    return {route.path: ToolRouteApplication(route, endpoint) for route in MEMO_ROUTES}
