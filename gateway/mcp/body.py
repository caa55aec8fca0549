"""Reading a request's body within limits, and getting rid of one that nobody wants."""

import asyncio
import contextlib
from typing import Any

from gateway.mcp.errors import ClientGone, Refusal
from gateway.mcp.headers import Headers
from gateway.mcp.replies import Reply
from gateway.mcp.watch import Receive

DRAIN_BYTES = 64 * 1024 * 1024
DRAIN_TIMEOUT = 10.0  # seconds


async def read(receive: Receive, headers: Headers, limit: int, timeout: float) -> bytes:
    """The whole body.

    Raises:
        Refusal: 413 over `limit` bytes, 408 not there within `timeout` seconds.
        ClientGone: the client went away while sending.
    """
    if _announced(headers) > limit:
        raise _too_large(limit, more_to_come=True)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit, more_to_come=False)
        return body
    try:
        async with asyncio.timeout(timeout):
            return await _collect(receive, message, limit)
    except TimeoutError:
        raise Refusal(408, "The request did not arrive in time; send it again", more_to_come=True) from None


async def _collect(receive: Receive, message: dict[str, Any], limit: int) -> bytes:
    body = bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit, more_to_come=bool(message.get("more_body")))
        if not message.get("more_body"):
            return bytes(body)
        message = await receive()
    raise ClientGone


def unread(headers: Headers, limit: int) -> bool:
    """Whether a request may bring more bytes than the server should throw away for a kept connection."""
    return b"transfer-encoding" in headers.values or _announced(headers) > limit


async def answer_and_drain(
    reply: Reply, receive: Receive, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...]
) -> None:
    """Answer before the request is read, then close.

    A connection that is closed while bytes arrive is reset, and the reset can take the answer away from a client that
    is still sending. So the answer goes out whole, what arrives is thrown away for a bounded time, and then we close.
    """
    await reply.whole(status, body, headers=((b"connection", b"close"), *headers), last=False)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_TIMEOUT):
            await _discard(receive)
    await reply.more(b"", last=True)


async def _discard(receive: Receive) -> None:
    left = DRAIN_BYTES
    while left > 0:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body"):
            return
        left -= len(message.get("body", b""))


def _announced(headers: Headers) -> int:
    value = headers.values.get(b"content-length", b"0").strip(b" \t")
    # More digits than any size has: int() of a very long number is slow.
    return int(value) if value.isdigit() and len(value) < 20 else (1 << 63 if value.isdigit() else 0)


def _too_large(limit: int, *, more_to_come: bool) -> Refusal:
    text = f"A request may have at most {limit} bytes; send less at a time"
    return Refusal(413, text, as_rpc=True, more_to_come=more_to_come)
