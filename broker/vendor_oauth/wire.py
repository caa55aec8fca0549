"""One HTTP request to a vendor's server with a secret in it. Where there is no answer, it tells whether the request can
have been processed: that decides whether a refresh token may be presented again.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

import aiohttp
from yarl import URL

from broker.vendor_oauth import reasons
from broker.vendor_oauth.exchange import ErrorClass, always
from core.outbound.addresses import AllowedAddresses, Lookup, RefusedAddress
from core.outbound.session import GuardedClient

CONNECT_SECONDS = 3.0
WHOLE_SECONDS = 10.0
MOST_BYTES = 256 * 1024
MOST_CONNECTIONS = 256

Clock = Callable[[], float]

_MAY_SEND: ContextVar[Callable[[], bool]] = ContextVar("may_send", default=always)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. It holds secrets, so it is never printed."""

    method: Literal["GET", "POST", "DELETE"]
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer, whatever its status. Header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NoReply:
    """There is none, or none that can be read: `cls` is NOT_SENT, UNCERTAIN, or SERVICE where we may not ask there."""

    cls: ErrorClass
    reason: str
    status: int | None = None


class VendorHttp(GuardedClient):
    """Asks. For tests: shorter times, `lookup` in place of the system's resolver, `tls` with another root."""

    def __init__(
        self,
        allow: AllowedAddresses,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        seconds: float = WHOLE_SECONDS,
        clock: Clock = time.monotonic,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(allow, connections=MOST_CONNECTIONS, lookup=lookup, tls=tls, request_class=_AskedLast)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_seconds, sock_connect=connect_seconds)
        self._seconds = seconds
        self.clock = clock

    async def ask(self, request: Request, may_send: Callable[[], bool] = always) -> Reply | NoReply:
        """Send `request` once. `may_send` is asked with the connection open and nothing written on it."""
        if not self.may_ask(request.url):
            return NoReply(ErrorClass.SERVICE, reasons.URL_REFUSED)
        asked = _MAY_SEND.set(may_send)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._asked(request)
        except TimeoutError:
            return NoReply(ErrorClass.UNCERTAIN, reasons.TIMEOUT)
        finally:
            _MAY_SEND.reset(asked)

    async def _asked(self, request: Request) -> Reply | NoReply:
        status: int | None = None
        try:
            async with self._http.request(
                request.method,
                URL(request.url, encoded=True),
                data=request.body,
                headers=request.headers,
                allow_redirects=False,
                timeout=self._timeout,
            ) as response:
                status = response.status
                return await _read(response)
        except _Withdrawn:
            return NoReply(ErrorClass.NOT_SENT, reasons.WITHDRAWN)
        except (aiohttp.ClientConnectorError, aiohttp.ClientConnectorCertificateError) as error:
            return NoReply(ErrorClass.NOT_SENT, _before_sending(error))
        except aiohttp.ConnectionTimeoutError:
            return NoReply(ErrorClass.NOT_SENT, reasons.CONNECT_TIMEOUT)
        except (RefusedAddress, aiohttp.InvalidURL):
            return NoReply(ErrorClass.NOT_SENT, reasons.ADDRESS)
        except (aiohttp.ClientError, OSError, ValueError):
            return NoReply(ErrorClass.UNCERTAIN, reasons.CUT_OFF, status)


class _Withdrawn(Exception):
    """Whoever asked does not want it sent any more."""


class _AskedLast(aiohttp.ClientRequest):
    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        if not _MAY_SEND.get()():
            raise _Withdrawn
        return await super().send(conn)


async def _read(response: aiohttp.ClientResponse) -> Reply | NoReply:
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        response.close()  # nobody asked for it, and a small answer could unpack to a huge one
        return NoReply(ErrorClass.UNCERTAIN, reasons.UNREADABLE, response.status)
    body = bytearray()
    while part := await response.content.readany():
        body += part
        if len(body) > MOST_BYTES:
            response.close()
            return NoReply(ErrorClass.UNCERTAIN, reasons.TOO_LARGE, response.status)
    return Reply(response.status, {name.lower(): value for name, value in response.headers.items()}, bytes(body))


def _before_sending(error: aiohttp.ClientOSError) -> str:
    if isinstance(error.__cause__, RefusedAddress):
        return reasons.ADDRESS
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return reasons.NAME
    is_tls = isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError)
    return reasons.TLS if is_tls else reasons.CONNECT
