"""One guarded way to ask strangers' servers: every connection is new and goes to an address that was checked; no
redirect is followed by itself, no request repeated, no cookie kept, no proxy or netrc of the environment read.
"""

import contextlib
import re
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from core.http.outbound_addresses import AllowedAddresses, GuardedResolver, Lookup, SystemLookup
from core.http.tls import get_system_tls_context

MAX_URL_LENGTH = 2000
REQUEST_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "MCPist"}

_UNTIMED = aiohttp.ClientTimeout(total=None)
_HTTP_URL = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?/[0-9A-Za-z\-._~:/?@!$&'()*+,;=%]*")


class ServerHungUp(aiohttp.ClientError):
    """The server closed the connection without an answer."""


class UnreadableBody(aiohttp.ClientError):
    """The body is compressed, which nobody asked for, or is larger than its limit."""

    def __init__(self, *, too_large: bool) -> None:
        super().__init__("too large" if too_large else "encoded")
        self.too_large = too_large


class GuardedClient:
    """HTTP client for servers of strangers. Callers check the URL by :meth:`is_askable`, set a time limit around the
    request and read the body with :func:`read_body`.

    For tests: `lookup` in place of the system's resolver, `tls` with another root.
    """

    def __init__(
        self,
        allow: AllowedAddresses,
        *,
        connections: int,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
        request_class: type[aiohttp.ClientRequest] = aiohttp.ClientRequest,
    ) -> None:
        self.allow = allow
        self._connections = connections
        self._lookup = lookup
        self._tls = tls
        self._request_class = request_class
        self._system: SystemLookup | None = None
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Make the session, in the event loop that serves."""
        if self._lookup is None:
            self._lookup = self._system = SystemLookup()
        connector = aiohttp.TCPConnector(
            resolver=GuardedResolver(self.allow, self._lookup),
            ssl=self._tls or get_system_tls_context(),
            limit=self._connections,
            force_close=True,
            use_dns_cache=False,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=REQUEST_HEADERS,
            auto_decompress=False,
            trust_env=False,
            middlewares=(_send_once,),
            request_class=self._request_class,
        )

    async def close(self) -> None:
        """Close every connection. Requests that still run fail."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        if self._system is not None:
            self._system.close()
            self._lookup = self._system = None

    def is_askable(self, url: str) -> bool:
        """Check whether `url` has a form that may be requested; the addresses of its host are checked on connecting."""
        return is_askable_url(self.allow, url)

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: aiohttp.ClientTimeout | None = None,
    ) -> "contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]":
        """Send one request, whose redirect is not followed."""
        assert self._session is not None, "open() comes first"
        return self._session.request(
            method,
            URL(url, encoded=True),
            data=body,
            headers=headers,
            allow_redirects=False,
            timeout=timeout or _UNTIMED,
        )


async def read_body(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """The whole body, of at most `max_bytes`.

    Raises:
        UnreadableBody: it is larger, or encoded: a small answer could unpack to a huge one.
    """
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        response.close()
        raise UnreadableBody(too_large=False)
    body = bytearray()
    while part := await response.content.readany():
        body += part
        if len(body) > max_bytes:
            response.close()
            raise UnreadableBody(too_large=True)
    return bytes(body)


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


async def _send_once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from asking again by itself when the server hangs up."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
        pass
    raise ServerHungUp
