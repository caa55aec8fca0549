"""Fields of a message that the relay needs: which request waits for an answer, and which headers mirror it."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from gateway.mcp.revisions import PROTOCOL_KEY

INTERNAL_ERROR = -32603
INVALID_REQUEST = -32600

_NAME_PARAMS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_ENCODED_HEADER_VALUE = re.compile(r"=\?base64\?.*\?=", re.DOTALL)

RequestId = str | int | float


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """One line of the client. `request_ids` wait for an answer. `cancelled_id` is set for a cancellation; the server is
    told of it where the request is not `is_modern`, whose connection is closed."""

    body: bytes
    request_ids: tuple[RequestId, ...] = ()
    is_batch: bool = False
    is_initialize: bool = False
    cancelled_id: RequestId | None = None
    is_modern: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def parse_line(line: bytes, negotiated: str | None) -> ClientMessage:
    """Look at a line. One that is no JSON-RPC is sent on as it is: the server knows how to refuse it."""
    try:
        value: Any = orjson.loads(line)
    except orjson.JSONDecodeError:
        return ClientMessage(line, headers=_build_version_header(negotiated))
    if isinstance(value, list):
        members = cast("list[Any]", value)
        ids = tuple(id for member in members if (id := parse_request_id(member)) is not None)
        return ClientMessage(line, ids, is_batch=True, headers=_build_version_header(negotiated))
    if not isinstance(value, dict):
        return ClientMessage(line, headers=_build_version_header(negotiated))
    return _parse_single(line, cast("dict[str, Any]", value), negotiated)


def parse_request_id(value: Any) -> RequestId | None:
    """Parse the id of a request; None for everything else."""
    if not isinstance(value, dict) or "method" not in value:
        return None
    return _as_id(cast("dict[str, Any]", value).get("id"))


def parse_response_id(value: Any) -> RequestId | None:
    """Parse the id that a response answers; None for everything else."""
    if not isinstance(value, dict) or "method" in value:
        return None
    return _as_id(cast("dict[str, Any]", value).get("id"))


def parse_messages(body: bytes) -> Sequence[Any]:
    """Parse the messages of a JSON text, a batch or a single one; none where it is no JSON."""
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ()
    return cast("list[Any]", value) if isinstance(value, list) else (value,)


def build_error(id: RequestId | None, code: int, text: str) -> dict[str, Any]:
    """Build an error that the relay itself gives."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}


def parse_negotiated_version(value: Any) -> str | None:
    """Parse the revision in the answer to ``initialize``."""
    result = cast("dict[str, Any]", value).get("result") if isinstance(value, dict) else None
    version = cast("dict[str, Any]", result).get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) and _PLAIN_HEADER_VALUE.fullmatch(version) else None


def _parse_single(line: bytes, message: dict[str, Any], negotiated: str | None) -> ClientMessage:
    method, params = message.get("method"), _as_object(message.get("params"))
    if method == "notifications/cancelled":
        cancelled_id = _as_id(params.get("requestId"))
        return ClientMessage(line, cancelled_id=cancelled_id, headers=_build_version_header(negotiated))
    id = parse_request_id(message)
    ids = () if id is None else (id,)
    if method == "initialize":
        return ClientMessage(line, ids, is_initialize=True)
    modern = _as_object(params.get("_meta")).get(PROTOCOL_KEY)
    if not isinstance(modern, str) or not isinstance(method, str):
        return ClientMessage(line, ids, headers=_build_version_header(negotiated))
    return ClientMessage(line, ids, is_modern=True, headers=_build_mirror_headers(modern, method, params))


def _build_mirror_headers(version: str, method: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Build the headers that repeat the body ([2026-07-28] Streamable HTTP)."""
    headers = {"MCP-Protocol-Version": encode_header_value(version), "Mcp-Method": encode_header_value(method)}
    name = params.get(_NAME_PARAMS.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = encode_header_value(name)
    return headers


def encode_header_value(value: str) -> str:
    """Encode a header value: as it is where HTTP keeps it as it is, else wrapped as base64."""
    if _PLAIN_HEADER_VALUE.fullmatch(value) and not _ENCODED_HEADER_VALUE.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _build_version_header(negotiated: str | None) -> dict[str, str]:
    return {} if negotiated is None else {"MCP-Protocol-Version": negotiated}


def _as_object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _as_id(value: Any) -> RequestId | None:
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None
