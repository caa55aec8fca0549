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

from broker.oauth_client.types import ErrorClass, allow_sending
from broker.providers import error_reasons
from core.http.guarded_client import GuardedClient, UnreadableBody, read_body
from core.http.outbound_addresses import AddressNotAllowed, AllowedAddresses, Lookup

CONNECT_SECONDS = 3.0
TOTAL_SECONDS = 10.0
MOST_BYTES = 256 * 1024
MOST_CONNECTIONS = 256

Clock = Callable[[], float]

_MAY_SEND: ContextVar[Callable[[], bool]] = ContextVar("may_send", default=allow_sending)


@dataclass(frozen=True, slots=True)
class VendorRequest:
    """Request to a vendor. It contains secrets and is never printed."""

    method: Literal["GET", "POST", "DELETE"]
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class VendorResponse:
    """A whole answer, whatever its status. Header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class TransportFailure:
    """There is none, or none that can be read: `cls` is NOT_SENT, UNCERTAIN, or SERVICE where we may not ask there."""

    error_class: ErrorClass
    reason: str
    status: int | None = None


class VendorHttpClient(GuardedClient):
    """Asks. For tests: shorter times, `lookup` in place of the system's resolver, `tls` with another root."""

    def __init__(
        self,
        allow: AllowedAddresses,
        *,
        connect_seconds: float = CONNECT_SECONDS,
        seconds: float = TOTAL_SECONDS,
        clock: Clock = time.monotonic,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(allow, connections=MOST_CONNECTIONS, lookup=lookup, tls=tls, request_class=_GatedRequest)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_seconds, sock_connect=connect_seconds)
        self._seconds = seconds
        self.clock = clock

    async def send(
        self, request: VendorRequest, may_send: Callable[[], bool] = allow_sending
    ) -> VendorResponse | TransportFailure:
        """Send `request` once. `may_send` is asked with the connection open and nothing written on it."""
        if not self.is_askable(request.url):
            return TransportFailure(ErrorClass.SERVICE, error_reasons.URL_REFUSED)
        token = _MAY_SEND.set(may_send)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._send(request)
        except TimeoutError:
            return TransportFailure(ErrorClass.UNCERTAIN, error_reasons.TIMEOUT)
        finally:
            _MAY_SEND.reset(token)

    async def _send(self, request: VendorRequest) -> VendorResponse | TransportFailure:
        status: int | None = None
        try:
            async with self.request(
                request.method, request.url, headers=request.headers, body=request.body, timeout=self._timeout
            ) as response:
                status = response.status
                headers = {name.lower(): value for name, value in response.headers.items()}
                return VendorResponse(status, headers, await read_body(response, MOST_BYTES))
        except UnreadableBody as error:
            reason = error_reasons.TOO_LARGE if error.too_large else error_reasons.UNREADABLE
            return TransportFailure(ErrorClass.UNCERTAIN, reason, status)
        except _SendWithdrawn:
            return TransportFailure(ErrorClass.NOT_SENT, error_reasons.WITHDRAWN)
        except (aiohttp.ClientConnectorError, aiohttp.ClientConnectorCertificateError) as error:
            return TransportFailure(ErrorClass.NOT_SENT, _classify_connect_error(error))
        except aiohttp.ConnectionTimeoutError:
            return TransportFailure(ErrorClass.NOT_SENT, error_reasons.CONNECT_TIMEOUT)
        except (AddressNotAllowed, aiohttp.InvalidURL):
            return TransportFailure(ErrorClass.NOT_SENT, error_reasons.ADDRESS)
        except (aiohttp.ClientError, OSError, ValueError):
            return TransportFailure(ErrorClass.UNCERTAIN, error_reasons.CUT_OFF, status)


class _SendWithdrawn(Exception):
    """Whoever asked does not want it sent any more."""


class _GatedRequest(aiohttp.ClientRequest):
    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        if not _MAY_SEND.get()():
            raise _SendWithdrawn
        return await super().send(conn)


def _classify_connect_error(error: aiohttp.ClientOSError) -> str:
    if isinstance(error.__cause__, AddressNotAllowed):
        return error_reasons.ADDRESS
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return error_reasons.NAME
    is_tls = isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError)
    return error_reasons.TLS if is_tls else error_reasons.CONNECT
