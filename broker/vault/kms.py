"""Shared client of key management services: deadline, retries when throttled, and isolation of outages."""

import asyncio
import hashlib
import logging
import random
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import orjson

from broker.vault.envelope import KeyMissing, WrappedKey
from core.errors import Unavailable
from core.http.single_exchange import ExchangeError, RequestTarget, SingleExchange, connect_first
from core.http.tls import get_system_tls_context

TOTAL_TIMEOUT_SECONDS = 5.0
MAX_ATTEMPTS = 4
INITIAL_BACKOFF_SECONDS = 0.1
COOLDOWN_SECONDS = 2.0
ACTIVE_KEY_TTL_SECONDS = 60.0
CHECK_LABEL = b"mcpist.vault.key-name.1:"

log = logging.getLogger(__name__)

_T = TypeVar("_T")


class KmsThrottled(Exception):
    """The service asks for patience."""


class KmsUnreachable(Exception):
    """The service could not be reached, or has a fault of its own."""


class KmsDenied(Exception):
    """The service refuses; its text says what the operator has to do, and nothing that the service has said."""


class KmsUnavailable(Unavailable):
    """Data keys that are not in memory cannot be opened now."""

    def __init__(self, title: str) -> None:
        super().__init__(f"MCPist's key service ({title}) is away; try again", retry_after=COOLDOWN_SECONDS)


class KmsClient(Protocol):
    """One key of one service. Its methods make one attempt each.

    They raise :class:`Throttled`, :class:`Away`, :class:`Denied`, and `decrypt` also
    :class:`broker.vault.envelope.DecryptionError`.
    """

    @property
    def title(self) -> str:
        """The service as a person calls it."""
        ...

    def owns(self, kek_id: str) -> bool:
        """Check whether `kek_id` is an id of this key, or of one of its versions."""
        ...

    async def encrypt(self, plain: bytes, context: bytes) -> WrappedKey:
        """`plain` under the key's newest version, bound to `context`."""
        ...

    async def decrypt(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        """Decrypt wrapped key material."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class KmsKeyProvider:
    """Implements :class:`broker.vault.envelope.KeyProvider` on a key service.

    After a failure one question at a time is let through, so that an outage binds one connection of the broker's and
    not all of them: data keys in memory go on being used meanwhile.
    """

    def __init__(
        self,
        service: KmsClient,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        seconds: float = TOTAL_TIMEOUT_SECONDS,
    ) -> None:
        self._service = service
        self._monotonic = monotonic
        self._sleep = sleep
        self._seconds = seconds
        self._known = ""
        self._known_until = 0.0
        self._failing = False
        self._probing = False
        self._rests_until = 0.0

    async def get_active_id(self) -> str:
        """The version that the service wraps with; it is asked at most once a minute."""
        if self._monotonic() >= self._known_until:
            await self.wrap(b"which key?", CHECK_LABEL)
        return self._known

    @property
    def kek_ids(self) -> frozenset[str]:
        return frozenset({self._known} if self._known else ())

    def has(self, kek_id: str) -> bool:
        return self._service.owns(kek_id)

    async def wrap(self, plain: bytes, context: bytes) -> WrappedKey:
        wrapped = await self._call(lambda: self._service.encrypt(plain, context))
        self._known, self._known_until = wrapped.kek_id, self._monotonic() + ACTIVE_KEY_TTL_SECONDS
        return wrapped

    async def unwrap(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        if not self._service.owns(kek_id):
            raise KeyMissing(kek_id)
        return await self._call(lambda: self._service.decrypt(kek_id, wrapped, context))

    def compute_check_value(self, kek_id: str) -> bytes:
        """Of the name alone: a service never gives another key of the same name and version."""
        return hashlib.sha256(CHECK_LABEL + kek_id.encode()).digest()

    async def find_problem(self) -> str:
        """Wraps and unwraps once."""
        try:
            wrapped = await self.wrap(b"mcpist doctor", CHECK_LABEL)
            await self.unwrap(wrapped.kek_id, wrapped.blob, CHECK_LABEL)
        except Unavailable as error:
            return str(error)
        return ""

    async def close(self) -> None:
        """Close every connection."""
        await self._service.close()

    async def _call(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        if self._failing and (self._probing or self._monotonic() < self._rests_until):
            raise KmsUnavailable(self._service.title)
        self._probing = True
        try:
            answer = await self._call_with_retries(ask)
        except (KmsThrottled, KmsUnreachable, TimeoutError) as error:
            self._record_failure(type(error).__name__)
            raise KmsUnavailable(self._service.title) from None
        except KmsDenied as denied:
            self._record_failure("denied")
            raise Unavailable(str(denied), retry_after=COOLDOWN_SECONDS) from None
        finally:
            self._probing = False
        self._failing = False
        return answer

    async def _call_with_retries(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        async with asyncio.timeout(self._seconds):
            for tried in range(MAX_ATTEMPTS - 1):
                try:
                    return await ask()
                except (KmsThrottled, KmsUnreachable):
                    # Nothing is changed by asking twice: wrapping leaves no trace at the service.
                    await self._sleep(INITIAL_BACKOFF_SECONDS * 2**tried * (0.5 + random.random() / 2))  # noqa: S311 no secret
            return await ask()

    def _record_failure(self, error: str) -> None:
        if not self._failing:
            log.error(
                "key management service failed",
                extra={"event": "kms_failed", "service": self._service.title, "error": error},
            )
        self._failing = True
        self._rests_until = self._monotonic() + COOLDOWN_SECONDS


MAX_RESPONSE_BYTES = 65_536
ATTEMPT_SECONDS = 3.0


@dataclass(frozen=True, slots=True, repr=False)
class KmsResponse:
    """A status and the JSON object that came with it, empty where none did."""

    status: int
    body: Mapping[str, Any]


class KmsHttpClient:
    """Asks one service.

    Every question has a connection of its own: on a kept one, an answer that nobody asked for would be taken for the
    answer to the next question, about another tenant's key.
    """

    async def post(self, url: str, headers: Mapping[str, str], document: Mapping[str, Any]) -> KmsResponse:
        """Ask once.

        Raises:
            KmsUnreachable: the service could not be reached, or gave an answer that is none.
        """
        target = RequestTarget.from_url(url)
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                exchange = await _connect(target)
                response = await exchange.send("POST", target, {**_HEADERS, **headers}, orjson.dumps(document))
        except (ExchangeError, OSError, ValueError):
            raise KmsUnreachable from None
        return KmsResponse(response.status, _parse_object(response.body))


async def _connect(target: RequestTarget) -> SingleExchange:
    infos = await asyncio.get_running_loop().getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    addresses = [(int(family), str(address[0]), target.port) for family, _, _, _, address in infos]
    tls = get_system_tls_context() if target.secure else None
    return await connect_first(addresses, target.host, tls, lambda: SingleExchange(MAX_RESPONSE_BYTES))


_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "MCPist",
}


def _parse_object(body: bytes) -> Mapping[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}  # an error page of some proxy: its status says enough
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}
