"""One caller's requests to one vendor: the credential, limits, retries, redirects."""

import io
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import aiohttp
import orjson
from yarl import URL

from core.errors import MCPistError
from gateway.vendor_session.answers import Failure, TooLarge, Unreadable, read_answer
from gateway.vendor_session.headers import authorization, checked_headers
from gateway.vendor_session.lease_source import LeaseLike, LeaseSource
from gateway.vendor_session.limits import CredentialLimits
from gateway.vendor_session.problems import (
    MOVED,
    Dropped,
    failure_of,
    limited_text,
    problem_of_answer,
    problem_of_failure,
)
from gateway.vendor_session.retries import RateLimit, pause_before, rate_limit, retry_after
from gateway.vendor_session.target import Target
from modules.kit import ToolError, VendorAnswer, VendorProblem, VendorSettings

Clock = Callable[[], float]

READING = frozenset({"GET", "HEAD"})
METHODS = READING | {"POST", "PUT", "PATCH", "DELETE"}
MOST_REDIRECTS = 3
CONNECT_SECONDS = 10.0
WHOLE_SECONDS = 5.0
"""From here on aiohttp rounds time-outs up to a second anyway, so one object serves many requests."""
COPIED = 2**20
"""Bytes of a body up to which it is handed over in one piece; aiohttp wants larger ones as a file."""


@dataclass(frozen=True, slots=True)
class Transport:
    """What all clients of a process share."""

    http: aiohttp.ClientSession
    limits: CredentialLimits
    clock: Clock
    wall_clock: Clock
    pause: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]


@dataclass(slots=True)
class Outgoing:
    """One request without its credential. `end` is when the caller's patience ends. (Not frozen: that costs 1 µs.)"""

    method: str
    path: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    repeatable: bool
    end: float


class VendorClient:
    """Implements :class:`modules.kit.Vendor`."""

    __slots__ = ("_deadline", "_headers", "_key", "_lease", "_scheme", "_settings", "_target", "_transport")

    def __init__(
        self,
        transport: Transport,
        target: Target,
        headers: Mapping[str, str],
        scheme: str,
        settings: VendorSettings,
        lease: LeaseSource,
        key: str,
        deadline: float | None,
    ) -> None:
        self._transport = transport
        self._target = target
        self._headers = headers
        self._scheme = scheme
        self._settings = settings
        self._lease = lease
        self._key = key
        self._deadline = deadline

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool | None = None,
    ) -> VendorAnswer:
        outgoing = self._outgoing(method, path, query, json, headers, repeatable)
        lease = await self._lease.lease()
        outcome = await self._persistent(outgoing, lease)
        refused_twice = None
        if isinstance(outcome, VendorAnswer) and outcome.status == 401:
            outcome, refused_twice = await self._with_new_lease(outgoing, lease)
        if isinstance(outcome, VendorAnswer) and _succeeded(outgoing, outcome):
            return outcome
        raise refused_twice or self._problem(outgoing, outcome)

    def _outgoing(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        json: Any,
        headers: Mapping[str, str] | None,
        repeatable: bool | None,
    ) -> Outgoing:
        if method not in METHODS:
            raise VendorProblem("refused", "the tool uses a method that no vendor is asked with; report this")
        own = {**self._headers, **checked_headers(headers)} if headers else self._headers
        body = None if json is None else _encoded(json)
        if body is not None and "content-type" not in own:
            own = {**own, "content-type": "application/json"}
        end = self._transport.clock() + self._settings.timeout
        if self._deadline is not None and self._deadline < end:
            end = self._deadline
        url = self._target.url(path, query)
        return Outgoing(method, path, url, own, body, method in READING if repeatable is None else repeatable, end)

    async def _with_new_lease(
        self, outgoing: Outgoing, refused: LeaseLike
    ) -> tuple[VendorAnswer | Failure, VendorProblem | None]:
        """Once more after a 401. A second one is told to whoever gives the leases; its own words count for more."""
        lease = await self._lease.lease(refused.version)
        outcome = await self._persistent(outgoing, lease)
        if isinstance(outcome, Failure) or outcome.status != 401:
            return outcome, None
        text = None
        with suppress(MCPistError):
            try:
                await self._lease.lease(lease.version)
            except ToolError as error:
                text = str(error)
        return outcome, None if text is None else VendorProblem("unauthorized", text, answer=outcome)

    async def _persistent(self, outgoing: Outgoing, lease: LeaseLike) -> VendorAnswer | Failure:
        """Send it, again where that is safe, and give what came last."""
        transport, attempt = self._transport, 0
        headers = {**outgoing.headers, "authorization": authorization(self._scheme, lease.access_token)}
        while True:
            outcome = await self._in_turn(outgoing, headers)
            if isinstance(outcome, VendorAnswer) and outcome.status < 400:
                return outcome
            wait = pause_before(
                attempt, outcome, repeatable=outgoing.repeatable, told=self._told(outgoing, outcome),
                chance=transport.chance(),
            )  # fmt: skip
            if wait is None or transport.clock() + wait >= outgoing.end:
                return outcome
            await transport.pause(wait)
            attempt += 1

    def _told(self, outgoing: Outgoing, outcome: VendorAnswer | Failure) -> float | None:
        """What the vendor said of when to come again; a rate limit is remembered for the others."""
        if isinstance(outcome, Failure):
            return None
        limit = self._limit(outgoing, outcome)
        if limit is None:
            return retry_after(outcome, self._transport.wall_clock)
        self._transport.limits.block(self._key, limit.scope, limit.seconds)
        return limit.seconds

    def _limit(self, outgoing: Outgoing, answer: VendorAnswer) -> RateLimit | None:
        return rate_limit(answer, outgoing.path, self._transport.wall_clock)

    async def _in_turn(self, outgoing: Outgoing, headers: Mapping[str, str]) -> VendorAnswer | Failure:
        """One attempt inside the limits of the credential."""
        limits, key = self._transport.limits, self._key
        if (left := limits.blocked(key, outgoing.path)) > 0:
            return _limited(left)
        most = self._settings.concurrency
        if not limits.try_enter(key, most) and not await limits.wait(key, outgoing.end - self._transport.clock()):
            text = f"{most} requests with this credential are running; wait until one is done, then try again"
            return Failure("rate_limited", text, unsent=True, retry_after=1.0)
        try:
            if (left := limits.blocked(key, outgoing.path)) > 0:  # told to another one while this one waited
                return _limited(left)
            return await self._attempt(outgoing, headers)
        finally:
            limits.leave(key)

    async def _attempt(self, outgoing: Outgoing, headers: Mapping[str, str]) -> VendorAnswer | Failure:
        try:
            return await self._followed(outgoing, headers)
        except (aiohttp.ClientError, OSError, TooLarge, Unreadable, Dropped, ValueError) as error:
            # Given back, not raised: no exception of ours may have the library's, with its headers, as its context.
            return failure_of(error)

    async def _followed(self, outgoing: Outgoing, headers: Mapping[str, str]) -> VendorAnswer:
        """The answer after redirects below the base URL, which only reading requests follow."""
        url = outgoing.url
        for _ in range(MOST_REDIRECTS):
            answer = await self._exchange(outgoing, url, headers)
            if answer.status not in MOVED or outgoing.method not in READING:
                return answer
            next_url = self._target.redirected(url, answer.headers.get("location", ""))
            if next_url is None:
                return answer
            url = next_url
        return await self._exchange(outgoing, url, headers)

    async def _exchange(self, outgoing: Outgoing, url: str, headers: Mapping[str, str]) -> VendorAnswer:
        left = outgoing.end - self._transport.clock()
        if left <= 0:
            raise TimeoutError
        body = outgoing.body
        response = await self._transport.http.request(
            outgoing.method,
            URL(url, encoded=True),
            headers=headers,
            data=body if body is None or len(body) <= COPIED else io.BytesIO(body),
            allow_redirects=False,
            timeout=_timeout(left if left < WHOLE_SECONDS else float(math.ceil(left))),
        )
        try:
            return await read_answer(response)
        except BaseException:
            response.close()
            raise

    def _problem(self, outgoing: Outgoing, outcome: VendorAnswer | Failure) -> VendorProblem:
        writes = outgoing.method not in READING and not outgoing.repeatable
        if isinstance(outcome, Failure):
            return problem_of_failure(outcome, writes=writes)
        limit = self._limit(outgoing, outcome)
        wait = limit.seconds if limit else retry_after(outcome, self._transport.wall_clock)
        return problem_of_answer(outcome, wait=wait, limited=limit is not None, writes=writes)


@lru_cache(4096)
def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)


def _succeeded(outgoing: Outgoing, answer: VendorAnswer) -> bool:
    if answer.status in MOVED:  # after a write, 303 says that it was done (RFC 9110 §15.4.4)
        return answer.status == 303 and outgoing.method not in READING
    return answer.status < 400


def _limited(left: float) -> Failure:
    return Failure("rate_limited", limited_text(left), unsent=True, retry_after=left)


def _encoded(json: Any) -> bytes:
    try:
        return orjson.dumps(json)
    except orjson.JSONEncodeError:
        raise VendorProblem("invalid", "an argument cannot be written as JSON; write its text anew") from None
