"""One caller's requests to one vendor: the credential, limits, retries, redirects."""

from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
import orjson

from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from core.errors import MCPistError
from gateway.vendor_session.answer_reader import SAFE_METHODS, AnswerReader, ExchangeFailure
from gateway.vendor_session.credential_limits import ALL_PATHS, derive_limit_scope
from gateway.vendor_session.lease_source import LeaseLike, LeaseSource
from gateway.vendor_session.module_headers import format_header_lines, format_request_head, validate_headers
from gateway.vendor_session.retry_policy import (
    OVERLOAD_STATUSES,
    compute_pause,
    find_rate_limit,
    parse_retry_after,
    read_with_module,
)
from gateway.vendor_session.vendor_access import VendorAccess
from gateway.vendor_session.vendor_problems import (
    EXCHANGE_ERRORS,
    RATE_LIMITED_TEXT,
    REDIRECT_STATUSES,
    REJECTED_TEXT,
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
)
from modules.kit.bodies import encode_body

ALLOWED_METHODS = SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
MAX_REDIRECTS = 3


class OutgoingRequest(msgspec.Struct, frozen=True, gc=False):
    """One request without its credential. `target` is its path and query from the host's root; `header_lines` are its
    headers as they are sent, None for those that the endpoint has for all requests; `deadline` is when the caller's
    patience ends."""

    method: str
    path: str
    target: str
    header_lines: str | None
    body: bytes | None
    repeatable: bool
    deadline: float


class VendorClient(msgspec.Struct, eq=False):
    """Requests to one endpoint, as :class:`modules.kit.Vendor` describes them. They begin with `_first_lease`, or
    where that is None, with one of `_lease`."""

    _access: VendorAccess
    _lease: LeaseSource
    _deadline: float | None
    _first_lease: LeaseLike | None = None

    async def get_connection(self) -> Mapping[str, str]:
        return self._access.attributes

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
        lease = self._first_lease or await self._lease.lease()
        outcome = await self._send(request, self._build_header_lines(request, lease))
        refused_twice = None
        if isinstance(outcome, ExchangeFailure) or outcome.status >= 400:
            outcome, refused_twice = await self._send_again(request, lease, outcome)
        if isinstance(outcome, VendorAnswer):
            if outcome.write is request.repeatable:  # the caller knows better
                outcome = outcome._replace(write=not request.repeatable)
            if outcome.status < 300 or _is_success(request, outcome):
                if len(outcome.body) > LARGE_STEP_BYTES:
                    await wait_for_turn(len(outcome.body))  # the module decodes it next
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
        access, content = self._access, None
        if body is not None:
            content, headers = _encode_other_body(body, json, headers)
        elif json is not None:
            content = _encode_json(json)
        deadline = access.clock() + access.timeout
        if self._deadline is not None and self._deadline < deadline:
            deadline = self._deadline
        is_safe = method in SAFE_METHODS
        target = access.target.build_target(path, query)
        lines = None if is_safe and content is None and not headers else self._format_lines(method, content, headers)
        return OutgoingRequest(
            method, path, target, lines, content, is_safe if repeatable is None else repeatable, deadline
        )

    def _format_lines(self, method: str, body: bytes | None, headers: Mapping[str, str] | None) -> str:
        """Format the headers of a request that has some of its own."""
        fields = validate_headers(headers) if headers else {}
        if body is not None:
            fields.setdefault("content-type", "application/json")
        if body is not None or method not in SAFE_METHODS:
            fields["content-length"] = str(len(body or b""))
        return format_header_lines({**self._access.endpoint.headers, **fields})

    def _build_header_lines(self, request: OutgoingRequest, lease: LeaseLike) -> str:
        """Build the header lines with the credential. The only place where a credential goes out."""
        if not self._access.may_use(lease):
            raise self._build_origin_error(lease)
        return self._access.build_header_lines(lease, request.header_lines)

    def _build_origin_error(self, lease: LeaseLike) -> ToolError:
        return OriginNotAllowed()

    async def _send_again(
        self, request: OutgoingRequest, lease: LeaseLike, outcome: VendorAnswer | ExchangeFailure
    ) -> tuple[VendorAnswer | ExchangeFailure, VendorProblem | None]:
        """Send it again where that is safe, or with a new lease after a rejection."""
        outcome = await self._retry(request, lease, outcome)
        if isinstance(outcome, VendorAnswer) and self._is_rejection(outcome):
            return await self._retry_with_new_lease(request, lease)
        return outcome, None

    async def _retry_with_new_lease(
        self, request: OutgoingRequest, refused: LeaseLike
    ) -> tuple[VendorAnswer | ExchangeFailure, VendorProblem | None]:
        """Send the request once more after a rejection. A second one is reported to the lease source, whose error
        counts for more."""
        lease = await self._lease.lease(refused.version)
        first = await self._send(request, self._build_header_lines(request, lease))
        outcome = await self._retry(request, lease, first)
        if isinstance(outcome, ExchangeFailure) or not self._is_rejection(outcome):
            return outcome, None
        problem = None
        with suppress(MCPistError):
            try:
                await self._lease.lease(lease.version)
            except ToolError as error:
                problem = VendorProblem("unauthorized", error.text, retry=error.retry, answer=outcome)
        return outcome, problem

    async def _retry(
        self, request: OutgoingRequest, lease: LeaseLike, outcome: VendorAnswer | ExchangeFailure
    ) -> VendorAnswer | ExchangeFailure:
        """Send it again after `outcome` where that is safe, and give what came last."""
        transport, attempt = self._access.transport, 0
        while isinstance(outcome, ExchangeFailure) or outcome.status >= 400:
            wait = compute_pause(
                attempt, outcome, repeatable=request.repeatable, announced=self._record_rate_limit(request, outcome),
                chance=transport.chance(),
            )  # fmt: skip
            if wait is None or transport.clock() + wait >= request.deadline:
                break
            await transport.pause(wait)
            attempt += 1
            outcome = await self._send(request, self._build_header_lines(request, lease))
        return outcome

    def _record_rate_limit(self, request: OutgoingRequest, outcome: VendorAnswer | ExchangeFailure) -> float | None:
        """Return how many seconds the vendor asks to wait, if it does; a rate limit is remembered for other calls."""
        if isinstance(outcome, ExchangeFailure):
            return None
        limit = self._read_rate_limit(outcome)
        if limit is None:
            return (
                parse_retry_after(outcome, self._access.transport.wall_clock)
                if outcome.status in OVERLOAD_STATUSES
                else None
            )
        scope = ALL_PATHS if limit.everything else derive_limit_scope(request.path)
        self._access.limits.block(self._access.key, scope, limit.seconds)
        return limit.seconds

    def _is_rejection(self, answer: VendorAnswer) -> bool:
        """Check whether the vendor says that it does not take the credential. A 401 for a missing scope does not."""
        if answer.status == 401:
            return not self._lacks_scope(answer)
        if not 400 < answer.status < 500:
            return False
        return read_with_module(self._access.endpoint.api.rejects_credential, answer) is True

    def _lacks_scope(self, answer: VendorAnswer) -> bool:
        return read_with_module(self._access.endpoint.api.lacks_scope, answer) is True

    def _read_rate_limit(self, answer: VendorAnswer) -> RateLimit | None:
        access = self._access
        return find_rate_limit(answer, access.transport.wall_clock, access.endpoint.api.rate_limit, access.quota)

    async def _send(self, request: OutgoingRequest, lines: str) -> VendorAnswer | ExchangeFailure:
        """Send one attempt within the limits of the credential."""
        access = self._access
        limits, key, limit = access.limits, access.key, access.concurrency
        if (blocked := limits.get_blocked_seconds(key, request.path)) > 0:
            return _build_rate_limit_failure(blocked)
        waits = not limits.try_enter(key, limit)
        if waits and not await limits.wait(key, request.deadline - access.clock()):
            text = f"{limit} requests with this credential are running"
            return ExchangeFailure(
                "rate_limited", text, "wait until one is done, then try again", unsent=True, retry_after=1.0
            )
        try:
            if waits and (blocked := limits.get_blocked_seconds(key, request.path)) > 0:  # announced meanwhile
                return _build_rate_limit_failure(blocked)
            answer = await self._exchange(request, request.target, lines)
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
        place = self._access.target
        url = f"{place.origin}{request.target}"
        for _ in range(MAX_REDIRECTS):
            next_url = place.resolve_redirect(url, answer.headers.get("location", ""))
            if next_url is None:
                return answer
            answer, url = await self._exchange(request, next_url.removeprefix(place.origin), lines), next_url
            if answer.status not in REDIRECT_STATUSES:
                return answer
        return answer

    def _exchange(self, request: OutgoingRequest, target: str, lines: str) -> Awaitable[VendorAnswer]:
        access, method, body = self._access, request.method, request.body
        seconds_left = request.deadline - access.clock()
        if seconds_left <= 0:
            raise TimeoutError
        message = format_request_head(method, target, lines)
        if body:
            message += body
        return access.pool.exchange(access.route, access.owner, AnswerReader(method), message, seconds_left)

    def _build_problem(self, request: OutgoingRequest, outcome: VendorAnswer | ExchangeFailure) -> VendorProblem:
        if isinstance(outcome, ExchangeFailure):
            return build_failure_problem(outcome, writes=not request.repeatable)
        if outcome.status == 401 and self._lacks_scope(outcome):
            return VendorProblem("forbidden", SCOPE_MISSING_TEXT, answer=outcome)
        if outcome.status != 401 and self._is_rejection(outcome):
            return VendorProblem("unauthorized", REJECTED_TEXT, answer=outcome)
        limit = self._read_rate_limit(outcome)
        wait = limit.seconds if limit else parse_retry_after(outcome, self._access.transport.wall_clock)
        return build_answer_problem(outcome, wait=wait, limited=limit is not None)


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
