"""One HTTP request to a vendor's server with a secret in it. Where there is no answer, it tells whether the request can
have been processed: that decides whether a refresh token may be presented again.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from broker.oauth_client.types import ErrorClass, allow_sending
from broker.providers import error_reasons
from core.http.guarded_client import ConnectFailure, GuardedClient, SendWithdrawn
from core.http.outbound_addresses import AddressNotAllowed, AllowedAddresses, Lookup
from core.http.single_exchange import ExchangeError, UnreadableBody
from core.observability.tracing import NOOP_TRACER, Span, Tracer

CONNECT_SECONDS = 3.0
TOTAL_SECONDS = 10.0
MOST_BYTES = 256 * 1024
MOST_CONNECTIONS = 256

Clock = Callable[[], float]


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
        tracer: Tracer = NOOP_TRACER,
    ) -> None:
        super().__init__(allow, connections=MOST_CONNECTIONS, lookup=lookup, tls=tls)
        self._tracer = tracer
        self._connect_seconds = connect_seconds
        self._seconds = seconds
        self.clock = clock

    async def send(
        self, request: VendorRequest, may_send: Callable[[], bool] = allow_sending
    ) -> VendorResponse | TransportFailure:
        """Send `request` once. `may_send` is asked with the connection open and nothing written on it."""
        if not self.is_askable(request.url):
            return TransportFailure(ErrorClass.SERVICE, error_reasons.URL_REFUSED)
        with self._tracer.span(request.method, "client") as span:
            reply = await self._send_in_time(request, may_send)
            _describe_exchange(span, request, reply)
            return reply

    async def _send_in_time(
        self, request: VendorRequest, may_send: Callable[[], bool]
    ) -> VendorResponse | TransportFailure:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._send(request, may_send)
        except TimeoutError:
            return TransportFailure(ErrorClass.UNCERTAIN, error_reasons.TIMEOUT)

    async def _send(self, request: VendorRequest, may_send: Callable[[], bool]) -> VendorResponse | TransportFailure:
        try:
            response = await self.request(
                request.method,
                request.url,
                max_bytes=MOST_BYTES,
                headers=request.headers,
                body=request.body,
                connect_seconds=self._connect_seconds,
                may_send=may_send,
            )
        except SendWithdrawn:
            return TransportFailure(ErrorClass.NOT_SENT, error_reasons.WITHDRAWN)
        except ConnectFailure as error:
            return TransportFailure(ErrorClass.NOT_SENT, _classify_connect_error(error.cause))
        except UnreadableBody as error:
            reason = error_reasons.TOO_LARGE if error.too_large else error_reasons.UNREADABLE
            return TransportFailure(ErrorClass.UNCERTAIN, reason, error.status)
        except ExchangeError as error:
            return TransportFailure(ErrorClass.UNCERTAIN, error_reasons.CUT_OFF, error.status)
        except ValueError:
            return TransportFailure(ErrorClass.NOT_SENT, error_reasons.ADDRESS)
        return VendorResponse(response.status, dict(response.headers), response.body)


def _describe_exchange(span: Span, request: VendorRequest, reply: VendorResponse | TransportFailure) -> None:
    """Name method, host and status alone: a path or a query may hold a secret. The vendor is told of no trace."""
    parts = urlsplit(request.url)
    span.set_attribute("http.request.method", request.method)
    span.set_attribute("server.address", parts.hostname or "")
    span.set_attribute("server.port", parts.port or (443 if parts.scheme == "https" else 80))
    if reply.status is not None:
        span.set_attribute("http.response.status_code", reply.status)
    if isinstance(reply, TransportFailure):
        span.mark_failed(reply.reason)
    elif reply.status >= 400:
        span.mark_failed(str(reply.status))


def _classify_connect_error(error: OSError) -> str:
    match error:
        case AddressNotAllowed():
            return error_reasons.ADDRESS
        case TimeoutError():
            return error_reasons.CONNECT_TIMEOUT
        case socket.gaierror():
            return error_reasons.NAME
        case ssl.SSLError():
            return error_reasons.TLS
        case _:
            return error_reasons.CONNECT
