"""One caller's requests to one vendor: the credential, limits, retries, redirects."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from core.errors import MCPistError
from core.http.credential_headers import InvalidCredentialForm, build_credential_header
from gateway.vendor_session.answers import READING, Failure
from gateway.vendor_session.connection import Owner
from gateway.vendor_session.headers import checked_headers, head_of, lines_of
from gateway.vendor_session.lease_source import LeaseLike, LeaseSource
from gateway.vendor_session.limits import EVERYTHING, CredentialLimits, scope_of
from gateway.vendor_session.place import Place
from gateway.vendor_session.pool import ConnectionPool
from gateway.vendor_session.problems import (
    FAULTS,
    LIMITED,
    MOVED,
    Elsewhere,
    again_in,
    failure_of,
    problem_of_answer,
    problem_of_failure,
)
from gateway.vendor_session.retries import OVERLOADED, pause_before, rate_limit, retry_after
from modules.kit import RateLimit, ToolError, VendorAnswer, VendorProblem, VendorSettings

Clock = Callable[[], float]

METHODS = READING | {"POST", "PUT", "PATCH", "DELETE"}
MOST_REDIRECTS = 3


@dataclass(frozen=True, slots=True)
class Transport:
    """What all clients of a process share."""

    pool: ConnectionPool
    limits: CredentialLimits
    clock: Clock
    wall_clock: Clock
    pause: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]


@dataclass(slots=True)
class Outgoing:
    """One request without its credential. `lines` are its headers as they are sent; `end` is when the caller's patience
    ends. (Not frozen: that costs 1 µs.)"""

    method: str
    path: str
    url: str
    lines: str
    body: bytes | None
    repeatable: bool
    end: float


class VendorClient:
    """Implements :class:`modules.kit.Vendor`."""

    __slots__ = ("_attributes", "_deadline", "_key", "_lease", "_owner", "_place", "_settings", "_transport")

    def __init__(
        self,
        transport: Transport,
        place: Place,
        settings: VendorSettings,
        lease: LeaseSource,
        key: str,
        deadline: float | None,
        attributes: Mapping[str, str],
        owner: Owner,
    ) -> None:
        self._owner = owner
        self._transport = transport
        self._place = place
        self._settings = settings
        self._lease = lease
        self._key = key
        self._deadline = deadline
        self._attributes = attributes

    async def connection(self) -> Mapping[str, str]:
        return self._attributes

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
        if isinstance(outcome, VendorAnswer) and outcome.write is outgoing.repeatable:  # the caller knows better
            outcome = outcome._replace(write=not outgoing.repeatable)
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
        body = None if json is None else _encoded(json)
        end = self._transport.clock() + self._settings.timeout
        if self._deadline is not None and self._deadline < end:
            end = self._deadline
        url, lines = self._place.target.url(path, query), self._lines(method, body, headers)
        return Outgoing(method, path, url, lines, body, method in READING if repeatable is None else repeatable, end)

    def _lines(self, method: str, body: bytes | None, headers: Mapping[str, str] | None) -> str:
        own = checked_headers(headers) if headers else {}
        if body is not None:
            own.setdefault("content-type", "application/json")
        if body is not None or method not in READING:
            own["content-length"] = str(len(body or b""))
        return lines_of({**self._place.headers, **own}) if own else self._place.lines

    async def _with_new_lease(
        self, outgoing: Outgoing, refused: LeaseLike
    ) -> tuple[VendorAnswer | Failure, VendorProblem | None]:
        """Once more after a 401. A second one is told to whoever gives the leases; its own words count for more."""
        lease = await self._lease.lease(refused.version)
        outcome = await self._persistent(outgoing, lease)
        if isinstance(outcome, Failure) or outcome.status != 401:
            return outcome, None
        problem = None
        with suppress(MCPistError):
            try:
                await self._lease.lease(lease.version)
            except ToolError as error:
                problem = VendorProblem("unauthorized", error.text, retry=error.retry, answer=outcome)
        return outcome, problem

    async def _persistent(self, outgoing: Outgoing, lease: LeaseLike) -> VendorAnswer | Failure:
        """Send it, again where that is safe, and give what came last. The only place where a credential goes out."""
        if self._place.target.origin not in lease.origins:
            raise Elsewhere
        transport, attempt = self._transport, 0
        lines = _with_credential(outgoing.lines, lease)
        while True:
            outcome = await self._in_turn(outgoing, lines)
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
        limit = self._limit(outcome)
        if limit is None:
            return retry_after(outcome, self._transport.wall_clock) if outcome.status in OVERLOADED else None
        scope = EVERYTHING if limit.everything else scope_of(outgoing.path)
        self._transport.limits.block(self._key, scope, limit.seconds)
        return limit.seconds

    def _limit(self, answer: VendorAnswer) -> RateLimit | None:
        return rate_limit(answer, self._transport.wall_clock, self._place.api.rate_limit)

    async def _in_turn(self, outgoing: Outgoing, lines: str) -> VendorAnswer | Failure:
        """One attempt inside the limits of the credential."""
        limits, key = self._transport.limits, self._key
        if (left := limits.blocked(key, outgoing.path)) > 0:
            return _limited(left)
        most = self._settings.concurrency
        waits = not limits.try_enter(key, most)
        if waits and not await limits.wait(key, outgoing.end - self._transport.clock()):
            text = f"{most} requests with this credential are running"
            return Failure("rate_limited", text, "wait until one is done, then try again", unsent=True, retry_after=1.0)
        try:
            if waits and (left := limits.blocked(key, outgoing.path)) > 0:  # told to another one meanwhile
                return _limited(left)
            return await self._followed(outgoing, lines)
        except FAULTS as error:
            # Given back, not raised: no exception of ours may have the library's, with its headers, as its context.
            return failure_of(error)
        finally:
            limits.leave(key)

    async def _followed(self, outgoing: Outgoing, lines: str) -> VendorAnswer:
        """The answer after redirects below the base URL, which only reading requests follow."""
        url = outgoing.url
        for _ in range(MOST_REDIRECTS):
            answer = await self._exchange(outgoing, url, lines)
            if answer.status not in MOVED or outgoing.method not in READING:
                return answer
            next_url = self._place.target.redirected(url, answer.headers.get("location", ""))
            if next_url is None:
                return answer
            url = next_url
        return await self._exchange(outgoing, url, lines)

    def _exchange(self, outgoing: Outgoing, url: str, lines: str) -> Awaitable[VendorAnswer]:
        left = outgoing.end - self._transport.clock()
        if left <= 0:
            raise TimeoutError
        method, body = outgoing.method, outgoing.body
        head = head_of(method, url.removeprefix(self._place.target.origin), lines)
        request = head + body if body else head
        return self._transport.pool.exchange(self._place.route, self._owner, method, request, left)

    def _problem(self, outgoing: Outgoing, outcome: VendorAnswer | Failure) -> VendorProblem:
        if isinstance(outcome, Failure):
            return problem_of_failure(outcome, writes=not outgoing.repeatable)
        limit = self._limit(outcome)
        wait = limit.seconds if limit else retry_after(outcome, self._transport.wall_clock)
        return problem_of_answer(outcome, wait=wait, limited=limit is not None)


def _with_credential(lines: str, lease: LeaseLike) -> str:
    """The header lines of a request with the credential's.

    Raises:
        VendorProblem: the credential has not the form of its scheme, or a module sets the same header.
    """
    try:
        name, value = build_credential_header(lease.scheme, lease.access_token)
    except InvalidCredentialForm:
        text = "the stored credential is not of a form that can be sent; store it again without spaces"
        raise VendorProblem("unauthorized", text) from None
    if lines.startswith(f"{name}: ") or f"\r\n{name}: " in lines:
        raise VendorProblem("refused", "the tool sets the header that carries the credential; report this")
    return f"{lines}{name}: {value}\r\n"


def _succeeded(outgoing: Outgoing, answer: VendorAnswer) -> bool:
    if answer.status in MOVED:  # after a write, 303 says that it was done (RFC 9110 §15.4.4)
        return answer.status == 303 and outgoing.method not in READING
    return answer.status < 400


def _limited(left: float) -> Failure:
    return Failure("rate_limited", LIMITED, again_in(left), unsent=True, retry_after=left)


def _encoded(json: Any) -> bytes:
    try:
        return orjson.dumps(json)
    except orjson.JSONEncodeError:
        raise VendorProblem("invalid", "an argument cannot be written as JSON; write its text anew") from None
