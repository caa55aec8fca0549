"""One caller's requests to one vendor: the credential, limits, retries, redirects."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from core.errors import MCPistError
from core.http.credential_headers import InvalidCredentialForm, build_credential_header
from core.http.outbound_addresses import AllowedAddresses
from gateway.vendor_session.answer_reader import SAFE_METHODS, AnswerReader, ExchangeFailure
from gateway.vendor_session.connection_pool import ConnectionPool
from gateway.vendor_session.credential_limits import ALL_PATHS, CredentialLimits, derive_limit_scope
from gateway.vendor_session.lease_source import LeaseLike, LeaseSource
from gateway.vendor_session.module_headers import format_header_lines, format_request_head, validate_headers
from gateway.vendor_session.retry_policy import (
    OVERLOAD_STATUSES,
    compute_pause,
    find_rate_limit,
    parse_retry_after,
    read_with_module,
)
from gateway.vendor_session.vendor_connection import ConnectionOwner
from gateway.vendor_session.vendor_endpoint import VendorEndpoint
from gateway.vendor_session.vendor_problems import (
    EXCHANGE_ERRORS,
    RATE_LIMITED_TEXT,
    REDIRECT_STATUSES,
    SCOPE_MISSING_TEXT,
    OriginNotAllowed,
    build_answer_problem,
    build_failure_problem,
    classify_error,
    format_retry,
)
from modules.kit import (
    MultipartBody,
    RateLimit,
    RawBody,
    ToolError,
    VendorAnswer,
    VendorProblem,
    VendorSettings,
)
from modules.kit.bodies import encode_body

Clock = Callable[[], float]

ALLOWED_METHODS = SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
MAX_REDIRECTS = 3


@dataclass(frozen=True, slots=True)
class VendorTransport:
    """Resources that all vendor clients of a process share."""

    pool: ConnectionPool
    allow: AllowedAddresses
    limits: CredentialLimits
    clock: Clock
    wall_clock: Clock
    pause: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]


class OutgoingRequest(msgspec.Struct, frozen=True, gc=False):
    """One request without its credential. `lines` are its headers as they are sent; `end` is when the caller's patience
    ends."""

    method: str
    path: str
    url: str
    header_lines: str
    body: bytes | None
    repeatable: bool
    deadline: float


class VendorClient(msgspec.Struct, eq=False):
    """Requests to one endpoint, as :class:`modules.kit.Vendor` describes them."""

    _transport: VendorTransport
    _endpoint: VendorEndpoint
    _settings: VendorSettings
    _lease: LeaseSource
    _owner: ConnectionOwner
    _deadline: float | None
    _attributes: Mapping[str, str]

    async def get_connection(self) -> Mapping[str, str]:
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
        body: RawBody | MultipartBody | None = None,
    ) -> VendorAnswer:
        request = self._build_request(method, path, query, json, headers, repeatable, body)
        lease = await self._lease.lease()
        outcome = await self._send_with_retries(request, lease)
        refused_twice = None
        if isinstance(outcome, VendorAnswer) and outcome.status == 401:
            outcome, refused_twice = await self._retry_with_new_lease(request, lease, outcome)
        if isinstance(outcome, VendorAnswer):
            if outcome.write is request.repeatable:  # the caller knows better
                outcome = outcome._replace(write=not request.repeatable)
            if _is_success(request, outcome):
                return outcome
        raise refused_twice or self._build_problem(request, outcome)

    def _build_request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        json: Any,
        headers: Mapping[str, str] | None,
        repeatable: bool | None,
        body: RawBody | MultipartBody | None,
    ) -> OutgoingRequest:
        if method not in ALLOWED_METHODS:
            raise VendorProblem("refused", "the tool uses an HTTP method that is not supported; report this")
        if body is not None:
            content, headers = _encode_other_body(body, json, headers)
        else:
            content = None if json is None else _encode_json(json)
        end = self._transport.clock() + self._settings.timeout
        if self._deadline is not None and self._deadline < end:
            end = self._deadline
        url, lines = self._endpoint.target.build_url(path, query), self._build_header_lines(method, content, headers)
        return OutgoingRequest(
            method, path, url, lines, content, method in SAFE_METHODS if repeatable is None else repeatable, end
        )

    def _build_header_lines(self, method: str, body: bytes | None, headers: Mapping[str, str] | None) -> str:
        fields = validate_headers(headers) if headers else {}
        if body is not None:
            fields.setdefault("content-type", "application/json")
        if body is not None or method not in SAFE_METHODS:
            fields["content-length"] = str(len(body or b""))
        return format_header_lines({**self._endpoint.headers, **fields}) if fields else self._endpoint.header_lines

    async def _retry_with_new_lease(
        self, request: OutgoingRequest, refused: LeaseLike, refusal: VendorAnswer
    ) -> tuple[VendorAnswer | ExchangeFailure, VendorProblem | None]:
        """Send the request once more after a 401. A second 401 is reported to the lease source, whose error counts for
        more. One that says that a scope is missing is neither."""
        if self._lacks_scope(refusal):
            return refusal, None
        lease = await self._lease.lease(refused.version)
        outcome = await self._send_with_retries(request, lease)
        if isinstance(outcome, ExchangeFailure) or outcome.status != 401 or self._lacks_scope(outcome):
            return outcome, None
        problem = None
        with suppress(MCPistError):
            try:
                await self._lease.lease(lease.version)
            except ToolError as error:
                problem = VendorProblem("unauthorized", error.text, retry=error.retry, answer=outcome)
        return outcome, problem

    async def _send_with_retries(self, request: OutgoingRequest, lease: LeaseLike) -> VendorAnswer | ExchangeFailure:
        """Send it, again where that is safe, and give what came last. The only place where a credential goes out."""
        if self._endpoint.target.origin not in lease.origins:
            raise OriginNotAllowed
        transport, attempt = self._transport, 0
        lines = _add_credential(request.header_lines, lease)
        while True:
            outcome = await self._send_within_limits(request, lines)
            if isinstance(outcome, VendorAnswer) and outcome.status < 400:
                return outcome
            wait = compute_pause(
                attempt, outcome, repeatable=request.repeatable, announced=self._record_rate_limit(request, outcome),
                chance=transport.chance(),
            )  # fmt: skip
            if wait is None or transport.clock() + wait >= request.deadline:
                return outcome
            await transport.pause(wait)
            attempt += 1

    def _record_rate_limit(self, request: OutgoingRequest, outcome: VendorAnswer | ExchangeFailure) -> float | None:
        """Return how many seconds the vendor asks to wait, if it does; a rate limit is remembered for other calls."""
        if isinstance(outcome, ExchangeFailure):
            return None
        limit = self._read_rate_limit(outcome)
        if limit is None:
            return (
                parse_retry_after(outcome, self._transport.wall_clock) if outcome.status in OVERLOAD_STATUSES else None
            )
        scope = ALL_PATHS if limit.everything else derive_limit_scope(request.path)
        self._transport.limits.block(self._owner.credential, scope, limit.seconds)
        return limit.seconds

    def _lacks_scope(self, answer: VendorAnswer) -> bool:
        return read_with_module(self._endpoint.api.lacks_scope, answer) is True

    def _read_rate_limit(self, answer: VendorAnswer) -> RateLimit | None:
        return find_rate_limit(answer, self._transport.wall_clock, self._endpoint.api.rate_limit)

    async def _send_within_limits(self, request: OutgoingRequest, lines: str) -> VendorAnswer | ExchangeFailure:
        """Send one attempt within the limits of the credential."""
        limits, key = self._transport.limits, self._owner.credential
        if (blocked := limits.get_blocked_seconds(key, request.path)) > 0:
            return _build_rate_limit_failure(blocked)
        limit = self._settings.concurrency
        waits = not limits.try_enter(key, limit)
        if waits and not await limits.wait(key, request.deadline - self._transport.clock()):
            text = f"{limit} requests with this credential are running"
            return ExchangeFailure(
                "rate_limited", text, "wait until one is done, then try again", unsent=True, retry_after=1.0
            )
        try:
            if waits and (blocked := limits.get_blocked_seconds(key, request.path)) > 0:  # announced meanwhile
                return _build_rate_limit_failure(blocked)
            answer = await self._exchange(request, request.url, lines)
            if answer.status in REDIRECT_STATUSES and request.method in SAFE_METHODS:
                return await self._follow_redirects(request, lines, answer)
            return answer
        except EXCHANGE_ERRORS as error:
            # Given back, not raised: no exception of ours may have the library's, with its headers, as its context.
            return classify_error(error)
        finally:
            limits.leave(key)

    async def _follow_redirects(
        self, request: OutgoingRequest, lines: str, answer: VendorAnswer
    ) -> VendorAnswer | ExchangeFailure:
        """Follow redirects below the base URL, for reading requests only."""
        url = request.url
        for _ in range(MAX_REDIRECTS):
            next_url = self._endpoint.target.resolve_redirect(url, answer.headers.get("location", ""))
            if next_url is None:
                return answer
            answer, url = await self._exchange(request, next_url, lines), next_url
            if answer.status not in REDIRECT_STATUSES:
                return answer
        return answer

    def _exchange(self, request: OutgoingRequest, url: str, lines: str) -> Awaitable[VendorAnswer]:
        seconds_left = request.deadline - self._transport.clock()
        if seconds_left <= 0:
            raise TimeoutError
        method, body = request.method, request.body
        head = format_request_head(method, url.removeprefix(self._endpoint.target.origin), lines)
        message = head + body if body else head
        reader = AnswerReader(method)
        return self._transport.pool.exchange(self._endpoint.route, self._owner, reader, message, seconds_left)

    def _build_problem(self, request: OutgoingRequest, outcome: VendorAnswer | ExchangeFailure) -> VendorProblem:
        if isinstance(outcome, ExchangeFailure):
            return build_failure_problem(outcome, writes=not request.repeatable)
        if outcome.status == 401 and self._lacks_scope(outcome):
            return VendorProblem("forbidden", SCOPE_MISSING_TEXT, answer=outcome)
        limit = self._read_rate_limit(outcome)
        wait = limit.seconds if limit else parse_retry_after(outcome, self._transport.wall_clock)
        return build_answer_problem(outcome, wait=wait, limited=limit is not None)


def _add_credential(lines: str, lease: LeaseLike) -> str:
    """Add the credential's header to the header lines of a request.

    Raises:
        VendorProblem: the credential has not the form of its scheme, or a module sets the same header.
    """
    try:
        name, value = build_credential_header(lease.scheme, lease.access_token)
    except InvalidCredentialForm:
        text = "the stored credential has characters that cannot be sent; store it again without spaces"
        raise VendorProblem("unauthorized", text) from None
    if lines.startswith(f"{name}: ") or f"\r\n{name}: " in lines:
        raise VendorProblem("refused", "the tool sets the header that carries the credential; report this")
    return f"{lines}{name}: {value}\r\n"


def _is_success(request: OutgoingRequest, answer: VendorAnswer) -> bool:
    if answer.status in REDIRECT_STATUSES:  # after a write, 303 says that it was done (RFC 9110 §15.4.4)
        return answer.status == 303 and request.method not in SAFE_METHODS
    return answer.status < 400


def _build_rate_limit_failure(seconds: float) -> ExchangeFailure:
    return ExchangeFailure("rate_limited", RATE_LIMITED_TEXT, format_retry(seconds), unsent=True, retry_after=seconds)


def _encode_json(json: Any) -> bytes:
    try:
        return orjson.dumps(json)
    except orjson.JSONEncodeError:
        raise VendorProblem(
            "invalid", "an argument cannot be encoded as JSON; send its text again without unpaired surrogates"
        ) from None


def _encode_other_body(
    body: RawBody | MultipartBody, json: Any, headers: Mapping[str, str] | None
) -> tuple[bytes, Mapping[str, str]]:
    """A body that is not JSON, and the headers with its media type."""
    if json is not None:
        raise VendorProblem("refused", "the tool sends two bodies at once; report this")
    encoded = encode_body(body)
    others = {name: value for name, value in (headers or {}).items() if name.lower() != "content-type"}
    return encoded.content, {**others, "content-type": encoded.media_type}
