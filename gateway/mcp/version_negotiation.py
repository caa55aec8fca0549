"""Which revision a message is in, and whether it keeps that revision's rules ([2026-07-28] Versioning).

`initialize` is legacy; a request whose `_meta` names a protocol version is modern; the header decides for the rest.
"""

from typing import Any, cast

from gateway.mcp.jsonrpc import INVALID_PARAMS, JsonRpcMessage
from gateway.mcp.request_context import ProtocolError
from gateway.mcp.request_headers import VERSION_HEADER, RequestHeaders, find_mirror_fault
from gateway.mcp.revisions import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    HEADER_MISMATCH,
    LOG_LEVEL_KEY,
    MODERN_REVISION,
    NEWEST_HANDSHAKE,
    PROTOCOL_KEY,
    REVISIONS,
    SUPPORTED_VERSIONS,
    UNSUPPORTED_VERSION,
    Revision,
    get_revision_by_header,
)
from gateway.mcp.sse import LOG_LEVELS


def check_params(message: JsonRpcMessage) -> None:
    """Check the parameters that the transport is responsible for; a call without arguments gets an empty object.

    Raises:
        ProtocolError: -32602.
    """
    params = message.params
    if message.method == "tools/call":
        if type(name := params.get("name")) is not str or not name:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: name must be the name of a tool")
        arguments = params.get("arguments")
        if type(arguments) is dict:
            return
        if arguments is not None:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: arguments must be an object")
        params["arguments"] = {}
    elif type(params.get("cursor", "")) not in (str, type(None)):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: cursor must be a string")


def find_revision(message: JsonRpcMessage, header: str | None) -> Revision:
    """Never fails: a message in no revision that we know is the newest one's to refuse."""
    if PROTOCOL_KEY in message.meta:
        return MODERN_REVISION
    if message.method == "initialize":
        return negotiate_revision(message.params.get("protocolVersion"))
    return get_revision_by_header(header)


def negotiate_revision(requested: object) -> Revision:
    """Return the requested revision if it is supported, else the newest."""
    revision = REVISIONS.get(requested) if isinstance(requested, str) else None
    return NEWEST_HANDSHAKE if revision is None or revision.modern else revision


def check_request(revision: Revision, message: JsonRpcMessage, headers: RequestHeaders) -> None:
    """Raises: ProtocolError: the request breaks a rule of its revision, apart from those of its method."""
    params = message.params
    if "_meta" in params:
        _check_meta(params["_meta"])
    if revision.modern:
        _check_modern(message, headers)


def build_unsupported_version_error(requested: str) -> ProtocolError:
    """Build the error that lists what there is to choose from."""
    data = {"supported": list(SUPPORTED_VERSIONS), "requested": requested[:100]}
    return ProtocolError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def _check_meta(meta: Any) -> None:
    if type(meta) is not dict:
        raise ProtocolError(INVALID_PARAMS, "Invalid params: params._meta must be an object")
    token = cast("dict[str, Any]", meta).get("progressToken", "")
    if type(token) not in (str, int):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: progressToken must be a string or an integer")


def _check_modern(message: JsonRpcMessage, headers: RequestHeaders) -> None:
    meta = message.meta
    if PROTOCOL_KEY not in meta:
        header = headers.get_text(VERSION_HEADER)
        if header is not None and header not in REVISIONS:
            raise build_unsupported_version_error(header)
        raise _build_missing_field_error(PROTOCOL_KEY)
    if CAPABILITIES_KEY not in meta:
        raise _build_missing_field_error(CAPABILITIES_KEY)
    version = meta[PROTOCOL_KEY]
    if (fault := find_mirror_fault(headers, version, message.method, message.params)) is not None:
        raise ProtocolError(HEADER_MISMATCH, f"Header mismatch: {fault}")
    if version != MODERN_REVISION.version:
        raise build_unsupported_version_error(version)
    if LOG_LEVEL_KEY in meta and meta[LOG_LEVEL_KEY] not in LOG_LEVELS:
        levels = ", ".join(LOG_LEVELS)
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: params._meta[{LOG_LEVEL_KEY!r}] is one of {levels}")
    for key in (CAPABILITIES_KEY, CLIENT_KEY):
        if key in meta and type(meta[key]) is not dict:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: params._meta[{key!r}] must be an object")


def _build_missing_field_error(key: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"Invalid params: params._meta[{key!r}] is required")
