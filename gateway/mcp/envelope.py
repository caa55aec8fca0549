"""JSON-RPC 2.0 envelopes: bytes in, one message or a batch out. Ids stay as the client wrote them.

The envelope is read by msgspec, which leaves the members raw, and `params` by orjson. Both take the last of two equal
names, and another reader on the way may take the first; in the envelope, where routing is decided, that is an error.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec
import orjson

from gateway.mcp.context import ProtocolError

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

MAX_ID = 256  # bytes; every answer repeats it
_NONE = msgspec.Raw()
_QUOTES = 8  # around jsonrpc and method and their values


class _Envelope(msgspec.Struct):
    jsonrpc: msgspec.Raw = _NONE
    id: msgspec.Raw = _NONE
    method: msgspec.Raw = _NONE
    params: msgspec.Raw = _NONE
    result: msgspec.Raw = _NONE
    error: msgspec.Raw = _NONE


_decode: Callable[[Any], _Envelope] = msgspec.json.Decoder(_Envelope).decode
_decode_items: Callable[[bytes], list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw]).decode


class Message:
    """A request; a notification, without `id`; or an answer of the client, without `method`. `id` is raw JSON."""

    __slots__ = ("id", "method", "params")

    def __init__(self, id: bytes, method: str, params: dict[str, Any]) -> None:
        self.id = id
        self.method = method
        self.params = params


class Malformed(Exception):
    """Not a JSON-RPC message. `id` (raw JSON) is empty where none could be read."""

    def __init__(self, code: int, message: str, id: bytes = b"") -> None:
        super().__init__(message)
        self.error = ProtocolError(code, message)
        self.id = id


def is_batch(body: bytes) -> bool:
    """Whether the body is a JSON array."""
    return body.lstrip(b" \t\r\n")[:1] == b"["


def split(body: bytes, limit: int) -> list[bytes]:
    """The members of a batch, unread.

    Raises:
        Malformed: not JSON, empty, or more than `limit` members.
    """
    try:
        items = _decode_items(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Malformed(PARSE_ERROR, "Parse error") from None
    if not 0 < len(items) <= limit:
        raise Malformed(INVALID_REQUEST, f"Invalid request: a batch has 1 to {limit} messages")
    return [bytes(item) for item in items]


def parse(body: bytes, max_depth: int) -> Message:
    """One message; `max_depth` counts the nested objects and arrays of the whole.

    Raises:
        Malformed: -32700 not JSON, -32600 not a JSON-RPC message, -32602 `params` is not an object.
    """
    envelope = _read(body)
    id = _id(bytes(envelope.id))
    method = _method(envelope, id)
    raw = bytes(envelope.params)
    if not method:
        return Message(id, method, {})
    expected = _QUOTES + 2 * bool(raw) + (2 + id.count(b'"') if id else 0)
    if body.count(b'"') - raw.count(b'"') > expected:
        _refuse_repeats(body, raw, id)
    crowded = _crowded(body, raw, max_depth, id)
    if not raw or raw == b"null":
        return Message(id, method, {})
    try:
        params = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Malformed(*_unreadable(error, max_depth), id) from None
    if crowded and deeper_than(max_depth - 1, params):
        raise Malformed(*_too_deep(max_depth), id)
    if type(params) is not dict:
        raise Malformed(INVALID_PARAMS, "Invalid params: params must be an object", id)
    return Message(id, method, cast("dict[str, Any]", params))


def _read(body: bytes) -> _Envelope:
    try:
        return _decode(body)
    except msgspec.ValidationError:
        raise Malformed(INVALID_REQUEST, "Invalid request: a JSON-RPC message is an object") from None
    except RecursionError:
        raise Malformed(INVALID_REQUEST, "Invalid request: nested too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Malformed(PARSE_ERROR, "Parse error") from None


def _id(raw: bytes) -> bytes:
    if not raw:
        return raw
    if len(raw) > MAX_ID:
        raise Malformed(INVALID_REQUEST, f"Invalid request: id is longer than {MAX_ID} bytes")
    # A number is an integer by its digits: orjson would turn a long one into a float.
    if raw.removeprefix(b"-").isdigit() or (raw[:1] == b'"' and _is_json(raw)):
        return raw
    raise Malformed(INVALID_REQUEST, "Invalid request: id must be a string or an integer")


def _method(envelope: _Envelope, id: bytes) -> str:
    if bytes(envelope.jsonrpc) != b'"2.0"':
        raise Malformed(INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0"', id)
    raw = bytes(envelope.method)
    if not raw and (bytes(envelope.result) or bytes(envelope.error)):
        return ""
    try:
        method = orjson.loads(raw)
    except orjson.JSONDecodeError:
        method = None
    if not isinstance(method, str) or not method:
        raise Malformed(INVALID_REQUEST, "Invalid request: method must be a string", id)
    return method


def _is_json(raw: bytes) -> bool:
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError:
        return False
    return True


def _refuse_repeats(body: bytes, params: bytes, id: bytes) -> None:
    outermost: list[str] = []

    def keep(pairs: list[tuple[str, Any]]) -> None:
        outermost[:] = [name for name, _ in pairs]  # the outermost object comes last

    rest = body.replace(params, b"null", 1) if params[:1] == b"{" else body
    try:
        json.loads(rest, object_pairs_hook=keep)
    except (ValueError, RecursionError):
        raise Malformed(PARSE_ERROR, "Parse error", id) from None
    if len(set(outermost)) != len(outermost):
        raise Malformed(INVALID_REQUEST, "Invalid request: a member of the envelope is given twice", id)


def _unreadable(error: orjson.JSONDecodeError, max_depth: int) -> tuple[int, str]:
    if error.msg.startswith("depth limit"):
        return _too_deep(max_depth)
    return PARSE_ERROR, "Parse error"


def _too_deep(max_depth: int) -> tuple[int, str]:
    return INVALID_REQUEST, f"Invalid request: nested deeper than {max_depth} levels"


def _crowded(body: bytes, params: bytes, max_depth: int, id: bytes) -> bool:
    """Whether `params` has brackets enough to be too deep; counting them is all that most messages cost."""
    opened = body.count(b"{") + body.count(b"[")
    if opened <= max_depth:
        return False
    # What the envelope holds besides params is never read; a forest of brackets there is no honest message.
    if opened - params.count(b"{") - params.count(b"[") > max_depth:
        raise Malformed(*_too_deep(max_depth), id)
    return True


def deeper_than(limit: int, value: Any) -> bool:
    """Whether objects and arrays are nested deeper than `limit` (a scalar has depth 0)."""
    level = _containers([value])
    for _ in range(limit):
        level = _containers(child for node in level for child in (node.values() if isinstance(node, dict) else node))
        if not level:
            return False
    return bool(level)


def _containers(values: Iterable[Any]) -> list[dict[str, Any] | list[Any]]:
    return [value for value in values if type(value) in (dict, list)]
