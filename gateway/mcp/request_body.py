"""Reading a request's body within limits. The server discards the rest of a body that is not read."""

import asyncio
from typing import Any

from gateway.mcp.call_supervisor import Receive
from gateway.mcp.errors import ClientDisconnected, HttpRefusal
from gateway.mcp.request_headers import RequestHeaders
from gateway.mcp.responses import DirectExchange


def take_body(direct: DirectExchange | None, limit: int) -> bytes | None:
    """Take the body where all of it has arrived already; else None, and :func:`read_body` waits for it.

    Raises:
        HttpRefusal: 413 over `limit` bytes.
    """
    if direct is None:
        return None
    body = direct.take_body()
    if body is not None and len(body) > limit:
        raise _build_too_large(limit)
    return body


async def read_body(
    receive: Receive, headers: RequestHeaders, limit: int, timeout: float, direct: DirectExchange | None = None
) -> bytes:
    """Read the whole body.

    Raises:
        HttpRefusal: 413 over `limit` bytes, 408 not there within `timeout` seconds.
        ClientDisconnected: the client went away while sending.
    """
    length = _parse_content_length(headers) if direct is None else direct.content_length
    if length is not None and length > limit:
        raise _build_too_large(limit)
    message = await receive()
    try:
        async with asyncio.timeout(timeout):
            return await _collect(receive, message, limit)
    except TimeoutError:
        raise HttpRefusal(408, "The request did not arrive in time; send it again") from None


async def _collect(receive: Receive, message: dict[str, Any], limit: int) -> bytes:
    body = bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > limit:
            raise _build_too_large(limit)
        if not message.get("more_body"):
            return bytes(body)
        message = await receive()
    raise ClientDisconnected


def _parse_content_length(headers: RequestHeaders) -> int:
    value = headers.values.get(b"content-length", b"0").strip(b" \t")
    # More digits than any size has: int() of a very long number is slow.
    return int(value) if value.isdigit() and len(value) < 20 else (1 << 63 if value.isdigit() else 0)


def _build_too_large(limit: int) -> HttpRefusal:
    return HttpRefusal(413, f"A request may have at most {limit} bytes; send less at a time", as_rpc=True)
