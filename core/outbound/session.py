"""One guarded way to ask strangers' servers: every connection is new and goes to an address that was checked; no
redirect is followed by itself, no request repeated, no cookie kept, no proxy or netrc of the environment read.
"""

import re
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

import aiohttp

from core.outbound.addresses import AllowedAddresses, CheckedResolver, Lookup
from core.outbound.roots import system_roots

LONGEST_URL = 2000

_HTTP_URL = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?/[0-9A-Za-z\-._~:/?@!$&'()*+,;=%]*")


class HungUp(aiohttp.ClientError):
    """The server closed the connection without an answer."""


def guarded_session(
    allow: AllowedAddresses,
    lookup: Lookup,
    *,
    connections: int,
    headers: Mapping[str, str],
    tls: ssl.SSLContext | None = None,
    request_class: type[aiohttp.ClientRequest] = aiohttp.ClientRequest,
) -> aiohttp.ClientSession:
    """A session, made in the event loop that serves. Whoever asks passes `allow_redirects=False`, reads with a limit.

    For tests: `tls` with another root.
    """
    connector = aiohttp.TCPConnector(
        resolver=CheckedResolver(allow, lookup),
        ssl=tls or system_roots(),
        limit=connections,
        force_close=True,
        use_dns_cache=False,
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=headers,
        auto_decompress=False,
        trust_env=False,
        middlewares=(_once,),
        request_class=request_class,
    )


def may_ask(allow: AllowedAddresses, url: str) -> bool:
    """Whether the form of `url` is one that we ask; the addresses of its host are checked when it is connected to."""
    if len(url) > LONGEST_URL or not _HTTP_URL.fullmatch(url):
        return False
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    try:
        port = parts.port or (443 if secure else 80)
    except ValueError:
        return False
    return allow.allows((parts.hostname or "").removesuffix("."), port, secure=secure)


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from asking again by itself when the server hangs up."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
        pass
    raise HungUp
