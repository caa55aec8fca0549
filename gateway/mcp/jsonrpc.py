"""JSON-RPC 2.0 envelopes: bytes in, one message or a batch out. Ids stay as the client wrote them.

The envelope is read by msgspec, which leaves the members raw, and `params` by orjson. Both take the last of two equal
names, and another reader on the way may take the first; in the envelope, where routing is decided, that is an error.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, cast

import msgspec
import orjson

from gateway.mcp.request_context import NO_META, ProtocolError
from modules.kit.json_size import exceeds_limits, strip_escapes

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
LIMIT_REACHED = -32000
"""A server's own code: too many streams are open."""

MAX_ID = 256  # bytes; every answer repeats it
# Building millions of empty lists takes seconds (mostly the garbage collector), in which no other request is served.
MAX_CONTAINERS = 100_000
# Half a million unknown fields take a second to be refused by a tool.
MAX_VALUES = 100_000
MAX_FIELDS = 30_000
MAX_EXTRA_QUOTES = 1_000  # in the envelope beside params, where nothing else is read
_NONE = msgspec.Raw()
_IRRELEVANT = bytes(byte for byte in range(256) if byte not in b'{}[]"')
_OPEN = b"\x01"
_STEPS = bytes.maketrans(b"[]{}", bytes([1, 255, 1, 255]))  # 255 is -1 as a signed byte
_QUOTES = 8  # around jsonrpc and method and their values


class _Envelope(msgspec.Struct):
    jsonrpc: msgspec.Raw = _NONE
    id: msgspec.Raw = _NONE
    method: msgspec.Raw = _NONE
    params: msgspec.Raw = _NONE
    result: msgspec.Raw = _NONE
    error: msgspec.Raw = _NONE


_METHODS = {b'"%b"' % method.encode(): method for method in ("tools/call", "tools/list")}
_VERSION = b'"2.0"'
_decode: Callable[[Any], _Envelope] = msgspec.json.Decoder(_Envelope).decode
_decode_items: Callable[[bytes], list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw]).decode


class JsonRpcMessage(msgspec.Struct, eq=False):
    """A request; a notification, without `id`; or an answer of the client, without `method`. `id` is raw JSON, `size`
    the number of bytes that it came in, `meta` the `_meta` of its params, empty where there is none or no object."""

    id: bytes
    method: str
    params: dict[str, Any]
    size: int = 0
    meta: Mapping[str, Any] = NO_META

    def __post_init__(self) -> None:
        if "_meta" in self.params and type(meta := self.params["_meta"]) is dict:
            self.meta = cast("dict[str, Any]", meta)


class MalformedJsonRpc(Exception):
    """Raised for a text that is no JSON-RPC message. `id` (raw JSON) is empty where none could be read."""

    def __init__(self, code: int, message: str, id: bytes = b"") -> None:
        super().__init__(message)
        self.error = ProtocolError(code, message)
        self.id = id


def is_batch(body: bytes) -> bool:
    """Check whether the body is a JSON array."""
    return body.lstrip(b" \t\r\n")[:1] == b"["


def split_batch(body: bytes, limit: int) -> list[bytes]:
    """Split the members of a batch, unread.

    Raises:
        Malformed: not JSON, empty, or more than `limit` members, values or fields.
    """
    _check_values(body)
    if _count_opening_brackets(body) > MAX_CONTAINERS:
        _check_containers(_extract_bracket_steps(body))
    try:
        items = _decode_items(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise MalformedJsonRpc(PARSE_ERROR, "Parse error") from None
    if not 0 < len(items) <= limit:
        raise MalformedJsonRpc(INVALID_REQUEST, f"Invalid request: a batch has 1 to {limit} messages")
    return [bytes(item) for item in items]


def parse_message(body: bytes, max_depth: int) -> JsonRpcMessage:
    """Parse one message; `max_depth` counts the nested objects and arrays of the whole.

    Raises:
        Malformed: -32700 not JSON, -32600 not a JSON-RPC message or too many values, -32602 `params` is not an object.
    """
    if len(body) > MAX_FIELDS:  # a shorter one cannot have too many
        _check_values(body)
    envelope = _decode_envelope(body)
    id, raw = bytes(envelope.id), bytes(envelope.params)
    if not id.isdigit() or len(id) > MAX_ID:
        id = _parse_id(id)
    method = _METHODS.get(bytes(envelope.method)) if bytes(envelope.jsonrpc) == _VERSION else None
    if method is None and not (method := _parse_method(envelope, id)):
        return JsonRpcMessage(id, method, {})
    expected = _QUOTES + 2 * bool(raw) + (2 + id.count(b'"') if id else 0)
    extra = body.count(b'"') - raw.count(b'"') - expected
    if extra > MAX_EXTRA_QUOTES:
        raise MalformedJsonRpc(INVALID_REQUEST, "Invalid request: too many members", id)
    if extra > 0:
        _refuse_repeated_members(body, raw, id)
    if body.count(b"{") + body.count(b"[") > max_depth:  # counting brackets is all that most messages cost
        _check_brackets(body, raw, max_depth, id)
    if not raw or raw == b"null":
        return JsonRpcMessage(id, method, {})
    try:
        params = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise MalformedJsonRpc(PARSE_ERROR, "Parse error", id) from None
    if type(params) is not dict:
        raise MalformedJsonRpc(INVALID_PARAMS, "Invalid params: params must be an object", id)
    return JsonRpcMessage(id, method, cast("dict[str, Any]", params), len(body))


def _decode_envelope(body: bytes) -> _Envelope:
    try:
        return _decode(body)
    except msgspec.ValidationError:
        # Not an object; whether it is JSON at all, msgspec has not looked.
        if not _is_json(body):
            raise MalformedJsonRpc(PARSE_ERROR, "Parse error") from None
        raise MalformedJsonRpc(INVALID_REQUEST, "Invalid request: a JSON-RPC message is an object") from None
    except RecursionError:
        raise MalformedJsonRpc(INVALID_REQUEST, "Invalid request: nested too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise MalformedJsonRpc(PARSE_ERROR, "Parse error") from None


def _parse_id(raw: bytes) -> bytes:
    if not raw:
        return raw
    if len(raw) > MAX_ID:
        raise MalformedJsonRpc(INVALID_REQUEST, f"Invalid request: id is longer than {MAX_ID} bytes")
    # A number is an integer by its digits: orjson would turn a long one into a float.
    if raw.removeprefix(b"-").isdigit() or (raw[:1] == b'"' and _is_json(raw)):
        return raw
    raise MalformedJsonRpc(INVALID_REQUEST, "Invalid request: id must be a string or an integer")


def _parse_method(envelope: _Envelope, id: bytes) -> str:
    if bytes(envelope.jsonrpc) != _VERSION:
        raise MalformedJsonRpc(INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0"', id)
    raw = bytes(envelope.method)
    if not raw and (bytes(envelope.result) or bytes(envelope.error)):
        return ""
    try:
        method = orjson.loads(raw)
    except orjson.JSONDecodeError:
        method = None
    if not isinstance(method, str) or not method:
        raise MalformedJsonRpc(INVALID_REQUEST, "Invalid request: method must be a string", id)
    return method


def _is_json(raw: bytes) -> bool:
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError:
        return False
    return True


def _refuse_repeated_members(body: bytes, params: bytes, id: bytes) -> None:
    outermost: list[str] = []

    def keep(pairs: list[tuple[str, Any]]) -> None:
        outermost[:] = [name for name, _ in pairs]  # the outermost object comes last

    envelope = body.replace(params, b"null", 1) if params[:1] == b"{" else body
    try:
        json.loads(envelope, object_pairs_hook=keep)
    except (ValueError, RecursionError):
        raise MalformedJsonRpc(PARSE_ERROR, "Parse error", id) from None
    if len(set(outermost)) != len(outermost):
        raise MalformedJsonRpc(INVALID_REQUEST, "Invalid request: a member of the envelope is given twice", id)


def has_too_many_values(texts: Sequence[bytes]) -> bool:
    """Check whether JSON texts together have over ``MAX_VALUES`` values or ``MAX_FIELDS`` fields."""
    return exceeds_limits(texts, MAX_VALUES, MAX_FIELDS)


def _check_values(body: bytes) -> None:
    if has_too_many_values([body]):
        raise MalformedJsonRpc(
            INVALID_REQUEST, f"Invalid request: more than {MAX_VALUES} values or {MAX_FIELDS} fields"
        )


def _check_brackets(body: bytes, params: bytes, max_depth: int, id: bytes) -> None:
    """Depth is settled on the bytes, before anything is built."""
    opening_brackets = _count_opening_brackets(body)
    # What the envelope holds besides params is never read; a forest of brackets there is no honest message.
    steps = _extract_bracket_steps(params)
    _check_containers(steps, id)  # first: of millions, the depth takes a fifth of a second to find out
    if opening_brackets - _count_opening_brackets(params) > max_depth or _find_deepest_level(steps) >= max_depth:
        raise MalformedJsonRpc(INVALID_REQUEST, f"Invalid request: nested deeper than {max_depth} levels", id)


def _check_containers(steps: bytes, id: bytes = b"") -> None:
    if steps.count(_OPEN) > MAX_CONTAINERS:
        raise MalformedJsonRpc(INVALID_REQUEST, f"Invalid request: more than {MAX_CONTAINERS} objects and arrays", id)


def count_containers(text: bytes) -> int:
    """Count the objects and arrays of a JSON text; of any other text the result has no meaning."""
    opening_brackets = _count_opening_brackets(text)  # too high where strings hold brackets, and much cheaper
    return opening_brackets if opening_brackets <= MAX_CONTAINERS else _extract_bracket_steps(text).count(_OPEN)


def measure_depth(text: bytes) -> int:
    """Measure how deep objects and arrays are nested in a JSON text (0 for a scalar); of any other text the result has
    no meaning."""
    return _find_deepest_level(_extract_bracket_steps(text))


def _count_opening_brackets(text: bytes) -> int:
    return text.count(b"{") + text.count(b"[")


def _extract_bracket_steps(text: bytes) -> bytes:
    """Extract one byte for each bracket outside of strings: 1 for an opening one, -1 for a closing one."""
    unescaped = strip_escapes(text)
    return b"".join(unescaped.translate(None, _IRRELEVANT).split(b'"')[::2]).translate(_STEPS)


def _find_deepest_level(steps: bytes) -> int:
    return max(accumulate(memoryview(steps).cast("b")), default=0)
