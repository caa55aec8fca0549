"""Differences between the revisions of the protocol: one table, the small functions that it names, and rendering.

Sources: the changelogs of the specification and its JSON Schemas, summed up in docs/decisions/0003.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import orjson

from gateway.mcp.request_context import ProtocolError, Result
from gateway.mcp.sse import EventStream

PROTOCOL_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
RESOURCE_NOT_FOUND = -32002

ResultTransform = Callable[[Result], Result]

_TOOL_2024 = frozenset({"name", "description", "inputSchema"})
_TOOL_2025_03 = _TOOL_2024 | {"annotations"}
_TOOL_2025_06 = _TOOL_2025_03 | {"title", "outputSchema", "_meta"}
_CONTENT_2024 = frozenset({"text", "image", "resource"})
_CONTENT_2025_03 = _CONTENT_2024 | {"audio"}

_SHARED = frozenset(
    {
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
    }
)
_CACHEABLE = frozenset(
    {"server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list"}
)


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision. `statuses` maps error codes to HTTP statuses (others are 200), `codes` an error code to the one
    used instead, `shapes` a method to what its result loses; `null_id` says how an error without a request is
    addressed: the schemas before 2025-11-25 know no such error, so there JSON-RPC 2.0 decides;
    `has_url_elicitation` whether a call may have the person behind the client open a page, `structured` whether a
    result has a structured part; `task_methods` are its methods for tasks, by the core of the protocol or by the
    extension, and `subscription_methods` those to be told of changes."""

    version: str
    modern: bool
    batch: bool
    null_id: bool
    lifecycle_methods: frozenset[str]
    http_statuses: Mapping[int, int]
    error_codes: Mapping[int, int]
    transforms: Mapping[str, ResultTransform]
    progress_message: bool = True
    has_url_elicitation: bool = False
    structured: bool = True
    task_methods: frozenset[str] = frozenset()
    subscription_methods: frozenset[str] = frozenset()

    def has_method(self, method: str) -> bool:
        """Check whether this revision has the method."""
        own = (self.lifecycle_methods, _SHARED, self.task_methods, self.subscription_methods)
        return any(method in methods for methods in own)


def _keep_tool_fields(fields: frozenset[str]) -> ResultTransform:
    def keep(result: Result) -> Result:
        tools = [{name: value for name, value in tool.items() if name in fields} for tool in result["tools"]]
        return {**result, "tools": tools}

    return keep


def _drop_tool_fields(*fields: str) -> ResultTransform:
    def drop(result: Result) -> Result:
        if not any(field in tool for tool in result["tools"] for field in fields):
            return result
        tools = [{name: value for name, value in tool.items() if name not in fields} for tool in result["tools"]]
        return {**result, "tools": tools}

    return drop


def _drop_structured_content(kinds: frozenset[str]) -> ResultTransform:
    def drop(result: Result) -> Result:
        result = {name: value for name, value in result.items() if name != "structuredContent"}
        content = result.get("content")
        if isinstance(content, list):
            result["content"] = [_convert_block(block, kinds) for block in cast("list[Any]", content)]
        return result

    return drop


def _drop_list_fields(*fields: str) -> dict[str, ResultTransform]:
    return {
        "resources/list": _drop_fields("resources", *fields),
        "resources/templates/list": _drop_fields("resourceTemplates", *fields),
        "prompts/list": _drop_fields("prompts", *fields),
    }


def _drop_fields(member: str, *fields: str) -> ResultTransform:
    """Drop fields of the objects in a list, of their annotations, and of their arguments where they have any."""

    def drop(result: Result) -> Result:
        return {**result, member: [_without(one, fields) for one in result[member]]}

    return drop


def _without(item: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    kept = {name: value for name, value in item.items() if name not in fields}
    if "arguments" in kept:
        kept["arguments"] = [_without(argument, fields) for argument in kept["arguments"]]
    if "annotations" in kept:
        kept["annotations"] = _without(kept["annotations"], fields)
    return kept


def _convert_prompt_blocks(kinds: frozenset[str]) -> ResultTransform:
    def convert(result: Result) -> Result:
        if "messages" not in result:
            return result
        messages = [{**one, "content": _convert_block(one["content"], kinds)} for one in result["messages"]]
        return {**result, "messages": messages}

    return convert


def _build_early_transforms(tool_fields: frozenset[str], kinds: frozenset[str]) -> Mapping[str, ResultTransform]:
    """Build the transforms of revisions before 2025-06-18, which have no titles and no structured content."""
    return {
        "tools/list": _keep_tool_fields(tool_fields),
        "tools/call": _drop_structured_content(kinds),
        **_drop_list_fields("icons", "title", "lastModified"),
        "resources/read": _drop_fields("contents", "_meta"),
        "prompts/get": _convert_prompt_blocks(kinds),
    }


def _convert_block(block: Any, kinds: frozenset[str]) -> Any:
    """Convert a content block for a revision before 2025-06-18: a kind that it does not know becomes a text."""
    if not isinstance(block, dict):
        return block
    known = cast("dict[str, Any]", block)
    if known.get("type") in kinds:
        return _without(known, ("_meta", "lastModified"))
    source = known.get("uri") or known.get("mimeType") or "unknown"
    return {"type": "text", "text": f"[{known.get('type')}: {source}]"}


def _keep_structured_objects(result: Result) -> Result:
    """Drop structured content that is no object, as revisions before 2026-07-28 require; pre-rendered content is taken
    to be one."""
    structured = result.get("structuredContent")
    if structured is None or isinstance(structured, dict | orjson.Fragment):
        return result
    return {name: value for name, value in result.items() if name != "structuredContent"}


_LEGACY_METHODS = frozenset({"initialize", "ping"})
_LEGACY_SUBSCRIPTIONS = frozenset({"resources/subscribe", "resources/unsubscribe"})
_LEGACY_STATUSES = {-32700: 400, -32600: 400, UNSUPPORTED_VERSION: 400}
_MODERN_STATUSES = {
    -32700: 400,
    -32600: 400,
    -32601: 404,
    -32602: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}


def _build_legacy_revision(
    version: str, shapes: Mapping[str, ResultTransform], *, batch: bool = False, null_id: bool = True, **options: Any
) -> Revision:
    return Revision(
        version=version,
        modern=False,
        batch=batch,
        null_id=null_id,
        lifecycle_methods=_LEGACY_METHODS,
        subscription_methods=_LEGACY_SUBSCRIPTIONS,
        http_statuses=_LEGACY_STATUSES,
        error_codes={},
        transforms=shapes,
        **options,
    )


REVISIONS: Mapping[str, Revision] = {
    revision.version: revision
    for revision in (
        Revision(
            version="2026-07-28",
            modern=True,
            batch=False,
            null_id=False,
            lifecycle_methods=frozenset({"server/discover"}),
            http_statuses=_MODERN_STATUSES,
            error_codes={RESOURCE_NOT_FOUND: -32602},
            transforms={"tools/list": _drop_tool_fields("execution")},
            has_url_elicitation=True,
            task_methods=frozenset({"tasks/get", "tasks/update", "tasks/cancel"}),
            subscription_methods=frozenset({"subscriptions/listen"}),
        ),
        _build_legacy_revision(
            "2025-11-25",
            {"tools/call": _keep_structured_objects},
            null_id=False,
            has_url_elicitation=True,
            task_methods=frozenset({"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"}),
        ),
        _build_legacy_revision(
            "2025-06-18",
            {
                "tools/list": _keep_tool_fields(_TOOL_2025_06),
                "tools/call": _keep_structured_objects,
                **_drop_list_fields("icons"),
            },
        ),
        _build_legacy_revision(
            "2025-03-26",
            _build_early_transforms(_TOOL_2025_03, _CONTENT_2025_03),
            batch=True,
            structured=False,
        ),
        _build_legacy_revision(
            "2024-11-05",
            _build_early_transforms(_TOOL_2024, _CONTENT_2024),
            batch=True,
            progress_message=False,
            structured=False,
        ),
    )
}
SUPPORTED_VERSIONS = tuple(REVISIONS)  # newest first
MODERN_REVISION = REVISIONS["2026-07-28"]
NEWEST_HANDSHAKE = REVISIONS["2025-11-25"]
# A request without the header comes from a client that is older than the header ([2025-11-25] Transports).
ASSUMED_REVISION = REVISIONS["2025-03-26"]


def get_revision_by_header(value: str | None) -> Revision:
    """Return the revision whose rules hold for a request before its body is read; the newest for an unknown one."""
    return ASSUMED_REVISION if value is None else REVISIONS.get(value, MODERN_REVISION)


class ResultRenderer:
    """Turns a handler's result into the bytes of one revision's result object."""

    def __init__(self, revision: Revision, server: Mapping[str, str], ttl_ms: int) -> None:
        self._shapes = revision.transforms
        self._modern = revision.modern
        self._extra: dict[str, Any] = {"resultType": "complete", "_meta": {SERVER_KEY: dict(server)}}
        self._hints: dict[str, Any] = {"ttlMs": ttl_ms, "cacheScope": "private"}
        self._prefix = orjson.dumps(self._extra)[:-1] + b","
        self._cached_prefix = orjson.dumps(self._extra | self._hints)[:-1] + b","

    def render(self, method: str, result: Result) -> bytes:
        """`result` as JSON, with what the revision adds and without what it does not know."""
        if (shape := self._shapes.get(method)) is not None:
            result = shape(result)
        if not self._modern:
            return orjson.dumps(result)
        if not result or "_meta" in result or "resultType" in result or "ttlMs" in result:
            return orjson.dumps(self._merge_fields(method, result))
        prefix = self._cached_prefix if method in _CACHEABLE else self._prefix
        return prefix + orjson.dumps(result)[1:]

    def _merge_fields(self, method: str, result: Result) -> Result:
        hints = self._hints if method in _CACHEABLE else {}
        return {**self._extra, **hints, **result, "_meta": {**self._extra["_meta"], **result.get("_meta", {})}}


class JsonRpcAnswer(msgspec.Struct, frozen=True, eq=False):
    """`body` is a whole JSON-RPC message; it goes to `stream` if that has begun."""

    status: int
    body: bytes
    revision: Revision
    code: int = 0
    stream: EventStream | None = None


def build_error_answer(
    revision: Revision, id: bytes, error: ProtocolError, stream: EventStream | None = None
) -> JsonRpcAnswer:
    """Build the error response; `id` is empty where the request's is not known."""
    detail: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        detail["data"] = error.data
    id_member = b'"id":%b,' % id if id else (b'"id":null,' if revision.null_id else b"")
    body = b'{"jsonrpc":"2.0",%b"error":%b}' % (id_member, orjson.dumps(detail))
    return JsonRpcAnswer(revision.http_statuses.get(error.code, 200), body, revision, error.code, stream)
