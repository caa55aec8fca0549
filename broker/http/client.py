"""The gateway's side of the wire. It holds the gateway's own key and nothing of the broker's."""

import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import aiohttp

from broker.http.service_token import ANSWERS, ServiceKey, answer_mark
from broker.http.wire import (
    EXCHANGE,
    MOST_ANSWER,
    STATUS,
    VERIFY,
    Malformed,
    Outcome,
    asked_lease,
    asked_subject,
    read_answer,
)
from broker.interface import BrokerUnreachable, Lease, LeaseRequest, NoCredential, Refused
from core.caller import Credential
from core.connection import Connection
from core.errors import Unavailable
from core.secret import Secret

CONNECT_SECONDS = 2.0
SECONDS = 8.0
MOST_CONNECTIONS = 64
KEEP_SECONDS = 30.0
UNIX = "unix:"
RETRY_AFTER = 2.0
MOST_RETRY_AFTER = 60.0
AWAY = "MCPist is not ready: its broker is away"
# Both are raised before a byte of the request is sent.
NOT_CONNECTED = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)

log = logging.getLogger(__name__)


class _AnswersShifted(Malformed):
    """The answer is that to another request."""


class HttpBroker:
    """Implements :class:`broker.interface.Broker` on a broker that is a process of its own.

    A broker that cannot be reached is not asked again here, but for a kept connection that turns out to be dead:
    whoever calls has the deadline. :class:`broker.interface.BrokerUnreachable` tells them that nothing was sent.
    """

    def __init__(self, base_url: str, key: ServiceKey, session: aiohttp.ClientSession) -> None:
        self._base_url = base_url
        self._key = key
        self._session = session
        self._cause = ""

    @property
    def reachable(self) -> bool:
        """Whether the last request was answered."""
        return not self._cause

    async def verify(self, token: Secret) -> Credential | Refused:
        return await self._ask(VERIFY, asked_subject(token), Credential)

    async def status(self, subject: Secret) -> Mapping[str, Connection] | Refused:
        return await self._ask(STATUS, asked_subject(subject), dict)

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | Refused:
        return await self._ask(EXCHANGE, asked_lease(request), Lease, NoCredential)

    async def _ask(self, path: str, body: bytes, *kinds: type[Any]) -> Any:
        """The answer, which is one of `kinds` or a refusal: one to another question is none."""
        try:
            outcome = await self._once_more(path, body)
            if not isinstance(outcome, (*kinds, Refused)):
                raise Malformed
        except (aiohttp.ClientError, OSError, TimeoutError, Malformed) as error:
            self._tell(type(error).__name__)
            kind = BrokerUnreachable if isinstance(error, NOT_CONNECTED) else Unavailable
            raise kind(AWAY, RETRY_AFTER) from None
        self._tell("")
        return outcome

    async def _once_more(self, path: str, body: bytes) -> Outcome:
        """A kept connection of a broker that was started anew, or on which an answer came that nobody had asked for,
        fails once; nothing asked here is harmed by a second."""
        try:
            return await self._post(path, body)
        except (aiohttp.ServerDisconnectedError, ConnectionResetError, BrokenPipeError, _AnswersShifted):
            return await self._post(path, body)

    async def _post(self, path: str, body: bytes) -> Outcome:
        token = self._key.sign("POST", path, body)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = self._session.post(self._base_url + path, data=body, headers=headers, allow_redirects=False)
        async with request as response:
            if response.headers.get(ANSWERS) != answer_mark(token):
                response.close()  # every later answer on this connection is another request's too
                raise _AnswersShifted
            if response.status != 200:
                self._refused(response)
            return read_answer(await _read(response))

    def _refused(self, response: aiohttp.ClientResponse) -> None:
        """Whatever it was, the caller can do no more than try again; the operator reads what to do."""
        if response.status == 401:
            self._tell("401: is this gateway's public key in the broker's file, and do the clocks agree?")
        else:
            self._tell(str(response.status))
        raise Unavailable(AWAY, _retry_after(response))

    def _tell(self, cause: str) -> None:
        if cause == self._cause:
            return
        if cause:
            log.warning("the broker does not serve this gateway", extra={"cause": cause})
        else:
            log.info("the broker serves this gateway again")
        self._cause = cause


@contextlib.asynccontextmanager
async def http_broker(url: str, key: ServiceKey) -> AsyncGenerator[HttpBroker]:
    """A client over one kept session. `url` is ``http(s)://host:port``, or ``unix:/path`` of a socket."""
    connector: aiohttp.BaseConnector
    if url.startswith(UNIX):
        connector = aiohttp.UnixConnector(
            url.removeprefix(UNIX), limit=MOST_CONNECTIONS, keepalive_timeout=KEEP_SECONDS
        )
        url = "http://broker"
    else:
        connector = aiohttp.TCPConnector(limit=MOST_CONNECTIONS, keepalive_timeout=KEEP_SECONDS)
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept-Encoding", "Accept"),
        timeout=aiohttp.ClientTimeout(total=SECONDS, connect=CONNECT_SECONDS),
    ) as session:
        yield HttpBroker(url, key, session)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts = bytearray()
    async for part in response.content.iter_any():
        parts += part
        if len(parts) > MOST_ANSWER:
            raise Malformed
    return bytes(parts)


def _retry_after(response: aiohttp.ClientResponse) -> float:
    said = response.headers.get("Retry-After", "")
    return min(float(said), MOST_RETRY_AFTER) if said.isascii() and said.isdigit() else RETRY_AFTER
