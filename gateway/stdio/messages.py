"""What the relay must know of a message: who waits for an answer, and which headers mirror it."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from gateway.mcp.revisions import PROTOCOL_KEY

INTERNAL_ERROR = -32603
INVALID_REQUEST = -32600

_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_WRAPPED = re.compile(r"=\?base64\?.*\?=", re.DOTALL)

Id = str | int | float


@dataclass(frozen=True, slots=True)
class Message:
    """One line of the client. `ids` wait for an answer; `cancels` is set for a cancellation, which is not sent on."""

    body: bytes
    ids: tuple[Id, ...] = ()
    batch: bool = False
    initializes: bool = False
    cancels: Id | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def read(line: bytes, negotiated: str | None) -> Message:
    """Look at a line. One that is no JSON-RPC is sent on as it is: the server knows how to refuse it."""
    try:
        value: Any = orjson.loads(line)
    except orjson.JSONDecodeError:
        return Message(line, headers=_version(negotiated))
    if isinstance(value, list):
        members = cast("list[Any]", value)
        ids = tuple(id for member in members if (id := request_id(member)) is not None)
        return Message(line, ids, batch=True, headers=_version(negotiated))
    if not isinstance(value, dict):
        return Message(line, headers=_version(negotiated))
    return _single(line, cast("dict[str, Any]", value), negotiated)


def request_id(value: Any) -> Id | None:
    """The id of a request; None for everything else."""
    if not isinstance(value, dict) or "method" not in value:
        return None
    return _id(cast("dict[str, Any]", value).get("id"))


def answered_id(value: Any) -> Id | None:
    """The id that a response answers; None for everything else."""
    if not isinstance(value, dict) or "method" in value:
        return None
    return _id(cast("dict[str, Any]", value).get("id"))


def members(body: bytes) -> Sequence[Any]:
    """The messages of a JSON text, a batch or a single one; none where it is no JSON."""
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ()
    return cast("list[Any]", value) if isinstance(value, list) else (value,)


def error(id: Id | None, code: int, text: str) -> dict[str, Any]:
    """An error that the relay itself gives."""
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}


def negotiated_version(value: Any) -> str | None:
    """The revision in the answer to ``initialize``."""
    result = cast("dict[str, Any]", value).get("result") if isinstance(value, dict) else None
    version = cast("dict[str, Any]", result).get("protocolVersion") if isinstance(result, dict) else None
    return version if isinstance(version, str) and _PLAIN.fullmatch(version) else None


def _single(line: bytes, message: dict[str, Any], negotiated: str | None) -> Message:
    method, params = message.get("method"), _object(message.get("params"))
    if method == "notifications/cancelled":
        return Message(line, cancels=_id(params.get("requestId")))
    id = request_id(message)
    ids = () if id is None else (id,)
    if method == "initialize":
        return Message(line, ids, initializes=True)
    modern = _object(params.get("_meta")).get(PROTOCOL_KEY)
    if not isinstance(modern, str) or not isinstance(method, str):
        return Message(line, ids, headers=_version(negotiated))
    return Message(line, ids, headers=_mirrored(modern, method, params))


def _mirrored(version: str, method: str, params: Mapping[str, Any]) -> dict[str, str]:
    """The headers that repeat the body ([2026-07-28] Streamable HTTP)."""
    headers = {"MCP-Protocol-Version": encoded(version), "Mcp-Method": encoded(method)}
    name = params.get(_NAMED.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = encoded(name)
    return headers


def encoded(value: str) -> str:
    """A header value: as it is where HTTP keeps it as it is, else wrapped as base64."""
    if _PLAIN.fullmatch(value) and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _version(negotiated: str | None) -> dict[str, str]:
    return {} if negotiated is None else {"MCP-Protocol-Version": negotiated}


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _id(value: Any) -> Id | None:
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else None
