"""One guarded way to ask strangers' servers: every connection is new and goes to an address that was checked; no
redirect is followed by itself, no request repeated, no cookie kept, no proxy or netrc of the environment read.
"""

import asyncio
import re
import ssl
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from core.http.outbound_addresses import AllowedAddresses, GuardedResolver, Lookup, SystemLookup
from core.http.single_exchange import HttpResponse, RequestTarget, SingleExchange, connect_first
from core.http.tls import get_system_tls_context

MAX_URL_LENGTH = 2000
REQUEST_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "MCPist"}

_HTTP_URL = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?/[0-9A-Za-z\-._~:/?@!$&'()*+,;=%]*")


class ConnectFailure(Exception):
    """No connection could be made, so nothing was sent; `cause` is why (an OSError, which is a TimeoutError where it
    took too long)."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(type(cause).__name__)
        self.cause = cause


class SendWithdrawn(Exception):
    """Whoever asked does not want the request sent any more: nothing was."""


class GuardedClient:
    """HTTP client for servers of strangers. Callers check the URL by :meth:`is_askable` and set a time limit around the
    request.

    For tests: `lookup` in place of the system's resolver, `tls` with another root.
    """

    def __init__(
        self,
        allow: AllowedAddresses,
        *,
        connections: int,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.allow = allow
        self._connections = connections
        self._lookup = lookup
        self._tls = tls
        self._system: SystemLookup | None = None
        self._turns: asyncio.Semaphore | None = None
        self._open: set[SingleExchange] = set()

    async def open(self) -> None:
        """Make ready, in the event loop that serves."""
        if self._lookup is None:
            self._lookup = self._system = SystemLookup()
        self._turns = asyncio.Semaphore(self._connections)

    async def close(self) -> None:
        """Close every connection. Requests that still run fail."""
        self._turns = None
        for exchange in list(self._open):
            exchange.abort()
        if self._system is not None:
            self._system.close()
            self._lookup = self._system = None

    def is_askable(self, url: str) -> bool:
        """Check whether `url` has a form that may be requested; the addresses of its host are checked on connecting."""
        return is_askable_url(self.allow, url)

    async def request(
        self,
        method: str,
        url: str,
        *,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        connect_seconds: float | None = None,
        may_send: Callable[[], bool] | None = None,
    ) -> HttpResponse:
        """Send one request, whose redirect is not followed, and read its whole answer with a body of at most
        `max_bytes`. `may_send` is asked with the connection open and nothing written on it.

        Raises:
            ConnectFailure, SendWithdrawn: nothing was sent.
            core.http.single_exchange.ExchangeError: it was sent, and there is no whole answer.
        """
        assert self._turns is not None, "open() comes first"
        turns, target = self._turns, RequestTarget.from_url(url)
        try:
            async with asyncio.timeout(connect_seconds):
                await turns.acquire()
        except TimeoutError as error:
            raise ConnectFailure(error) from None
        try:
            exchange = await self._connect(target, max_bytes, connect_seconds)
            self._open.add(exchange)
            try:
                if may_send is not None and not may_send():
                    raise SendWithdrawn
                return await exchange.send(method, target, {**REQUEST_HEADERS, **(headers or {})}, body)
            finally:
                self._open.discard(exchange)
                exchange.abort()
        finally:
            turns.release()

    async def _connect(self, target: RequestTarget, max_bytes: int, seconds: float | None) -> SingleExchange:
        assert self._lookup is not None
        tls = (self._tls or get_system_tls_context()) if target.secure else None
        try:
            async with asyncio.timeout(seconds):
                addresses = await GuardedResolver(self.allow, self._lookup).resolve(target.host, target.port)
                return await connect_first(addresses, target.host, tls, lambda: SingleExchange(max_bytes))
        except OSError as error:  # TimeoutError, ssl.SSLError and socket.gaierror are such too
            raise ConnectFailure(error) from None


def is_askable_url(allow: AllowedAddresses, url: str) -> bool:
    """Check whether `url` has a form that may be requested; the addresses of its host are checked on connecting."""
    if len(url) > MAX_URL_LENGTH or not _HTTP_URL.fullmatch(url):
        return False
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    try:
        port = parts.port or (443 if secure else 80)
    except ValueError:
        return False
    return allow.allows((parts.hostname or "").removesuffix("."), port, secure=secure)
