"""One HTTP/1.1 request and its answer, on the connections that aiohttp's connector makes and keeps.

The connector resolves, checks, connects and pools, and aiohttp's parser reads the answer. Its session, which is passed
over, took four fifths of a request's CPU for what no vendor's API is to have here: cookies, redirects, proxies,
credentials in URLs, transparent retries and decompression, tracing.
"""

import asyncio
import math
from functools import lru_cache

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage
from aiohttp.streams import StreamReader
from yarl import URL

from gateway.vendor_session.answers import Unreadable, read_answer
from gateway.vendor_session.problems import Dropped
from modules.kit import VendorAnswer

CONNECT_SECONDS = 10.0
BUFFER = 2**16
"""Bytes of an answer that wait to be read; the vendor waits beyond twice of it."""
MOST_INTERIM = 10
"""Interim answers (1xx, RFC 9110 §15.2) before the real one."""


class Wire:
    """The connections of one process. Nothing is ever sent twice, followed, unpacked or remembered by it."""

    def __init__(self, connector: aiohttp.TCPConnector) -> None:
        self._connector = connector
        self._loop = asyncio.get_running_loop()

    def route(self, origin: str) -> aiohttp.ClientRequest:
        """What the connector is told of an origin (``https://host[:port]``); one serves all requests there."""
        return aiohttp.ClientRequest("GET", URL(origin, encoded=True), loop=self._loop)

    async def exchange(
        self, route: aiohttp.ClientRequest, method: str, head: bytes, body: bytes | None, seconds: float
    ) -> VendorAnswer:
        """Send one request and read its whole answer, for at most `seconds`.

        Raises:
            Dropped: the connection ended after it was made and before the answer began.
            TooLarge, Unreadable: see :func:`read_answer`.
            aiohttp.ClientError, OSError, TimeoutError: it could not be connected, broke, or the time is up.
        """
        try:
            timeout = _connect_timeout(math.ceil(seconds))
            connection = await self._connector.connect(route, traces=[], timeout=timeout)
        except TimeoutError:
            raise aiohttp.ConnectionTimeoutError from None
        return await self._over(connection, method, head, body, seconds)

    async def _over(
        self, connection: Connection, method: str, head: bytes, body: bytes | None, seconds: float
    ) -> VendorAnswer:
        protocol = connection.protocol
        assert protocol is not None
        patience = _Patience(protocol)
        timer = self._loop.call_later(seconds, patience)
        try:
            _send(protocol, method, head, body)
            message, content = await _answered(protocol)
            patience.turn_to(content)
            answer = await read_answer(method, message, content)
        except BaseException:
            _drop(connection)
            raise
        finally:
            timer.cancel()
        if protocol.writing_paused:  # answered before it had been read: what is left of it would come first
            _drop(connection)
        connection.release()
        return answer

    async def close(self) -> None:
        """Close every connection; what runs fails."""
        await self._connector.close()


def head_of(method: str, target: str, lines: str) -> bytes:
    """The head of a request; `lines` are its headers, each with its line end.

    Raises:
        ValueError: `target` would end its line. Whoever made it has checked that already.
    """
    if " " in target or not target.isprintable():
        raise ValueError
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")


class _Patience:
    """Ends an exchange whose time is up: whoever waits for what is being read gets a TimeoutError."""

    __slots__ = ("_over", "_reading")

    def __init__(self, reading: ResponseHandler | StreamReader) -> None:
        self._reading = reading
        self._over = False

    def __call__(self) -> None:
        self._over = True
        self._reading.set_exception(TimeoutError())

    def turn_to(self, reading: StreamReader) -> None:
        """Somebody is about to wait for this instead; the time may have been up since they last looked."""
        self._reading = reading
        if self._over:
            raise TimeoutError


@lru_cache(512)
def _connect_timeout(seconds: int) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(connect=seconds, sock_connect=CONNECT_SECONDS)


def _drop(connection: Connection) -> None:
    """End it now: closing would wait until the vendor has taken what is still to be written."""
    if connection.protocol is not None:
        connection.protocol.abort()
    connection.close()


def _send(protocol: ResponseHandler, method: str, head: bytes, body: bytes | None) -> None:
    protocol.set_response_params(
        skip_payload=method == "HEAD", read_until_eof=True, auto_decompress=False, read_bufsize=BUFFER
    )
    transport = protocol.transport
    assert transport is not None
    transport.write(head if not body else head + body)


async def _answered(protocol: ResponseHandler) -> tuple[RawResponseMessage, StreamReader]:
    """The head of the answer, and the stream of its body."""
    try:
        for _ in range(MOST_INTERIM):
            message, content = await protocol.read()
            if message.code >= 200:
                return message, content
            if message.code == 101:  # nobody asked for another protocol
                break
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
        raise Dropped from None
    except HttpProcessingError:
        raise Unreadable from None
    raise Unreadable
