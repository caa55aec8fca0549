"""One request on a connection of its own, and its whole answer: for servers that are asked now and then, and trusted in
nothing."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

import httptools
from aiohappyeyeballs import start_connection  # pyright: ignore[reportUnknownVariableType] its types have a bare tuple

from core.http.outbound_addresses import CheckedAddress

MAX_HEAD_BYTES = 64 * 1024
MAX_INTERIM_ANSWERS = 10
SECOND_ADDRESS_SECONDS = 0.25
"""After which another address of the same host is tried beside the first (RFC 8305 §5)."""

_P = TypeVar("_P", bound=asyncio.Protocol)

_WITHOUT_BODY = frozenset({204, 304})


class ExchangeError(Exception):
    """There is no whole answer to a request that was sent. `status` is there where the answer had begun."""

    def __init__(self, status: int | None = None) -> None:
        super().__init__(type(self).__name__)
        self.status = status


class ServerHungUp(ExchangeError):
    """The connection ended before the answer did, or what came is no HTTP."""


class UnreadableBody(ExchangeError):
    """The body is encoded, which nobody asked for, or is larger than its limit."""

    def __init__(self, status: int | None = None, *, too_large: bool) -> None:
        super().__init__(status)
        self.too_large = too_large


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole answer, whatever its status. Names of headers are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes = field(repr=False)

    def get_header(self, name: str) -> str:
        """Return the values of a header, joined (RFC 9110 §5.3); empty where it is missing."""
        return ", ".join(value for field, value in self.headers if field == name)


class RequestTarget(NamedTuple):
    """Parts of an ``http`` or ``https`` URL: `authority` as it stands there, `path` with the query."""

    host: str
    port: int
    secure: bool
    authority: str
    path: str

    @classmethod
    def from_url(cls, url: str) -> "RequestTarget":
        """Split a URL that is known to be one.

        Raises:
            ValueError: its port is none.
        """
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        path = url.partition("://")[2].removeprefix(parts.netloc)
        host = (parts.hostname or "").removesuffix(".")  # no certificate names the root
        return cls(host, parts.port or (443 if secure else 80), secure, parts.netloc, path)


async def connect_first(
    addresses: Sequence[CheckedAddress], host: str, tls: ssl.SSLContext | None, protocol: Callable[[], _P]
) -> _P:
    """Connect to the first address that answers; with `tls`, to the server that `host` names.

    Raises:
        OSError: none did, or the handshake failed (ssl.SSLError).
    """
    infos = [
        (cast("socket.AddressFamily", family), socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
        for family, address, port in addresses
    ]
    sock = await start_connection(infos, happy_eyeballs_delay=SECOND_ADDRESS_SECONDS, interleave=1)
    _, made = await asyncio.get_running_loop().create_connection(
        protocol, sock=sock, ssl=tls, server_hostname=host if tls is not None else None
    )
    return made


class SingleExchange(asyncio.Protocol):
    """Reads the answer to one request. It is the parser's protocol (httptools) as well."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parser: Any = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport = cast("Any", None)
        self._answer: asyncio.Future[HttpResponse] = asyncio.get_running_loop().create_future()
        self._fields: list[tuple[str, str]] = []
        self._body = bytearray()
        self._fed_bytes = self._interim = 0
        self._status: int | None = None
        self._until_close = False

    async def send(
        self, method: str, target: RequestTarget, headers: Mapping[str, str], body: bytes | None
    ) -> HttpResponse:
        """Send a request and return its answer; the connection ends.

        Raises:
            ExchangeError: see its kinds.
            ValueError: a header would end its line.
        """
        own = {"Host": target.authority, "Connection": "close"}
        if body is not None:
            own["Content-Length"] = str(len(body))
        fields = {name.lower(): f"{name}: {value}" for name, value in (*headers.items(), *own.items())}
        lines = [f"{method} {target.path} HTTP/1.1", *fields.values()]
        if not all(line.isprintable() for line in lines):
            raise ValueError
        self._transport.write("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))
        try:
            return await self._answer
        finally:
            self._transport.abort()
            self._parser = None  # which refers to this

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._answer.done():
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(ServerHungUp(self._status))
        self._fed_bytes += len(data)
        if self._status is None and self._fed_bytes > MAX_HEAD_BYTES:
            self._fail(ServerHungUp())

    def connection_lost(self, exc: Exception | None) -> None:
        if self._until_close and exc is None:
            self._finish()
        else:
            self._fail(ServerHungUp(self._status))

    def abort(self) -> None:
        """End the connection, on which nothing was sent."""
        self._transport.abort()

    def _fail(self, error: ExchangeError) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)

    def _finish(self) -> None:
        if not self._answer.done():
            assert self._status is not None
            self._answer.set_result(HttpResponse(self._status, tuple(self._fields), bytes(self._body)))

    # The parser's side.

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._status is None:  # else a trailer
            self._fields.append((name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or self._status is not None:
            return
        self._status = status
        fields = dict(self._fields)
        self._until_close = "content-length" not in fields and "transfer-encoding" not in fields
        if status in _WITHOUT_BODY:
            self._finish()
        elif fields.get("transfer-encoding", "chunked").lower() != "chunked":
            self._fail(ServerHungUp(status))
        elif fields.get("content-encoding", "identity").lower() not in ("", "identity"):
            self._fail(UnreadableBody(status, too_large=False))

    def on_body(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > self._max_bytes:
            self._fail(UnreadableBody(self._status, too_large=True))

    def on_message_complete(self) -> None:
        if self._status is not None:
            self._finish()
            return
        self._fields.clear()
        self._interim += 1
        if self._interim >= MAX_INTERIM_ANSWERS:
            self._fail(ServerHungUp())
