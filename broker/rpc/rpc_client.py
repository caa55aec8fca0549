"""The gateway's side of the wire. It holds the gateway's own key and nothing of the broker's."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import aiohttp

from broker.interface import (
    BrokerProblem,
    BrokerUnreachable,
    CredentialRefusal,
    Lease,
    LeaseRequest,
    Mandate,
    MandateReference,
    MandateRequest,
    NoCredential,
    NoTenantKey,
    TenantKeyLease,
)
from broker.rpc.codec import (
    CREATE_MANDATE,
    END_MANDATE,
    EXCHANGE,
    MOST_ANSWER,
    STATUS,
    TENANT_KEY,
    VERIFY,
    VERIFY_AGAIN,
    WORKER_EXCHANGE,
    WORKER_TENANT_KEY,
    WORKER_VERIFY,
    BrokerResult,
    MalformedMessage,
    decode_credentials,
    decode_result,
    encode_lease_request,
    encode_subject_request,
    encode_subjects_request,
)
from broker.rpc.mandate_messages import (
    decode_mandate_end,
    encode_mandate_request,
    encode_reference,
    encode_worker_lease_request,
)
from broker.rpc.service_token import ANSWER_HEADER, REQUEST_HEADER, ServiceTokenSigner, compute_answer_mark
from broker.rpc.tenant_key_messages import (
    decode_tenant_key_result,
    encode_tenant_key_request,
    encode_worker_tenant_key_request,
)
from core.caller import Credential
from core.config.parsers import UNIX_PREFIX
from core.connection_state import ModuleConnection
from core.errors import Unavailable
from core.observability.logs import current_request
from core.observability.tracing import NOOP_TRACER, TRACEPARENT, Span, Tracer
from core.secret import Secret

CONNECT_SECONDS = 2.0
TOTAL_SECONDS = 8.0
MOST_CONNECTIONS = 64
KEEPALIVE_SECONDS = 30.0
RETRY_AFTER = 2.0
MOST_RETRY_AFTER = 60.0
BROKER_UNAVAILABLE = "MCPist is not ready: its broker is unavailable"
BROKER_REFUSES = "MCPist is not ready: its broker refuses this process; the operator finds the reason in its log"
VERSION_HINT = "do the gateway and the broker run the same version of MCPist?"
# Both are raised before a byte of the request is sent.
CONNECT_ERRORS = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
PROBE_SECONDS = 1.0
_NO_TOKEN = Secret("probe")
_NO_MANDATE = MandateReference(UUID(int=0), UUID(int=0))
_REFUSAL_HINTS: Mapping[int, str] = {
    401: "is this process's public key in the broker's file, and do the clocks agree?",
    404: VERSION_HINT,
}
"""What an answer says that does not go away by itself, and what to look at."""
_T = TypeVar("_T")

log = logging.getLogger(__name__)


class _MismatchedAnswer(MalformedMessage):
    """The answer is that to another request."""


class RpcClient:
    """Asks a broker that is a process of its own.

    A broker that cannot be reached is not asked again here, but for a kept connection that turns out to be dead:
    whoever calls has the deadline. :class:`broker.interface.BrokerUnreachable` tells them that nothing was sent.
    """

    def __init__(
        self, base_url: str, key: ServiceTokenSigner, session: aiohttp.ClientSession, tracer: Tracer = NOOP_TRACER
    ) -> None:
        self._base_url = base_url
        self._key = key
        self._session = session
        self._tracer = tracer
        self._span_attributes = {"http.request.method": "POST", **_describe_server(base_url)}
        self._problem: BrokerProblem | None = None

    @property
    def problem(self) -> BrokerProblem | None:
        """Return why the last request failed; None if it did not."""
        return self._problem

    async def ask(self, path: str, body: bytes, decode: Callable[[bytes], _T], *, seconds: float | None = None) -> _T:
        """Post a body and decode the answer's; `seconds` is the time limit, 8 unless it is given.

        Raises:
            Unavailable: there was no answer, or none of ours (`decode` raised MalformedMessage).
        """
        try:
            outcome = await self._post_with_retry(path, body, decode, seconds)
        except (aiohttp.ClientError, OSError, TimeoutError, MalformedMessage) as error:
            cause = f"Malformed: {VERSION_HINT}" if isinstance(error, MalformedMessage) else type(error).__name__
            self._note(BrokerProblem(cause, is_refusal=False))
            kind = BrokerUnreachable if isinstance(error, CONNECT_ERRORS) else Unavailable
            raise kind(BROKER_UNAVAILABLE, RETRY_AFTER) from None
        self._note(None)
        return outcome

    async def _post_with_retry(
        self, path: str, body: bytes, decode: Callable[[bytes], _T], seconds: float | None
    ) -> _T:
        """A kept connection of a broker that was started anew, or on which an answer came that nobody had asked for,
        fails once; nothing asked here is harmed by a second."""
        try:
            return decode(await self._post(path, body, seconds))
        except (aiohttp.ServerDisconnectedError, ConnectionResetError, BrokenPipeError, _MismatchedAnswer):
            return decode(await self._post(path, body, seconds))

    async def _post(self, path: str, body: bytes, seconds: float | None) -> bytes:
        with self._tracer.span(f"POST {path}", "client", attributes=self._span_attributes) as span:
            return await self._post_in_span(span, path, body, seconds)

    async def _post_in_span(self, span: Span, path: str, body: bytes, seconds: float | None) -> bytes:
        token = self._key.sign("POST", path, body)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if request_id := current_request.get():
            headers[REQUEST_HEADER] = request_id
        if traceparent := self._tracer.get_traceparent():
            headers[TRACEPARENT] = traceparent
        options: dict[str, Any] = {}
        if seconds is not None:
            options["timeout"] = aiohttp.ClientTimeout(total=seconds, connect=CONNECT_SECONDS)
        request = self._session.post(
            self._base_url + path, data=body, headers=headers, allow_redirects=False, **options
        )
        async with request as response:
            span.set_attribute("http.response.status_code", response.status)
            if response.headers.get(ANSWER_HEADER) != compute_answer_mark(token):
                response.close()  # every later answer on this connection is another request's too
                raise _MismatchedAnswer
            if response.status != 200:
                self._raise_refusal(response)
            return await _read_body(response)

    def _raise_refusal(self, response: aiohttp.ClientResponse) -> None:
        """Whatever it was, the caller can do no more than try again; the operator reads what to do."""
        hint = _REFUSAL_HINTS.get(response.status)
        cause = str(response.status) if hint is None else f"{response.status}: {hint}"
        self._note(BrokerProblem(cause, is_refusal=hint is not None))
        text = BROKER_REFUSES if response.status == 401 else BROKER_UNAVAILABLE
        raise Unavailable(text, _parse_retry_after(response))

    def _note(self, problem: BrokerProblem | None) -> None:
        """Keep what became of the last request, and log what is new."""
        if problem == self._problem:
            return
        if problem is not None:
            log.warning("broker requests fail", extra={"event": "broker_unavailable", "cause": problem.cause})
        else:
            log.info("broker requests succeed again", extra={"event": "broker_recovered"})
        self._problem = problem


class HttpBroker(RpcClient):
    """Implements :class:`broker.interface.Broker` on a broker that is a process of its own, for a gateway: a broker
    answers no gateway that presents a mandate."""

    async def find_problem(self) -> BrokerProblem | None:
        """Ask the broker something to which the answer is no; return why it did not answer."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await self._probe()
        except TimeoutError:
            return BrokerProblem("no answer in time", is_refusal=False)
        except Unavailable:
            return self.problem
        return None

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        return await self._call(VERIFY, encode_subject_request(token), Credential)

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        def decode(answer: bytes) -> Sequence[Credential | None]:
            return decode_credentials(answer, len(tokens))

        return await self.ask(VERIFY_AGAIN, encode_subjects_request(tenant_id, tokens), decode)

    async def get_connections(self, subject: Secret) -> Mapping[str, ModuleConnection] | CredentialRefusal:
        return await self._call(STATUS, encode_subject_request(subject), dict)

    async def lease(self, request: LeaseRequest) -> Lease | NoCredential | CredentialRefusal:
        if isinstance(request.subject, MandateReference):
            body = encode_worker_lease_request(request.subject, request)
            return await self._call(WORKER_EXCHANGE, body, Lease, NoCredential)
        return await self._call(EXCHANGE, encode_lease_request(request.subject, request), Lease, NoCredential)

    async def lease_tenant_key(
        self, subject: Secret | MandateReference, kind: str
    ) -> TenantKeyLease | NoTenantKey | CredentialRefusal:
        if isinstance(subject, MandateReference):
            body = encode_worker_tenant_key_request(subject, kind)
            return await self.ask(WORKER_TENANT_KEY, body, decode_tenant_key_result)
        return await self.ask(TENANT_KEY, encode_tenant_key_request(subject, kind), decode_tenant_key_result)

    async def create_mandate(self, request: MandateRequest) -> Mandate | CredentialRefusal:
        return await self._call(CREATE_MANDATE, encode_mandate_request(request), Mandate)

    async def verify_mandate(self, reference: MandateReference) -> Credential | CredentialRefusal:
        return await self._call(WORKER_VERIFY, encode_reference(reference), Credential)

    async def end_mandate(self, reference: MandateReference) -> None:
        await self.ask(END_MANDATE, encode_reference(reference), decode_mandate_end)

    async def _probe(self) -> None:
        await self.verify(_NO_TOKEN)  # without a query

    async def _call(self, path: str, body: bytes, *kinds: type[Any]) -> Any:
        """The answer, which is one of `kinds` or a refusal: one to another question is none."""

        def decode(answer: bytes) -> BrokerResult:
            outcome = decode_result(answer)
            if not isinstance(outcome, (*kinds, CredentialRefusal)):
                raise MalformedMessage
            return outcome

        return await self.ask(path, body, decode)


class WorkerHttpBroker(HttpBroker):
    """The same for a worker: a broker answers it about mandates alone."""

    async def _probe(self) -> None:
        await self.verify_mandate(_NO_MANDATE)


@contextlib.asynccontextmanager
async def open_http_broker(
    url: str, key: ServiceTokenSigner, tracer: Tracer = NOOP_TRACER
) -> AsyncGenerator[HttpBroker]:
    """A gateway's client over one kept session; `url` as in :func:`open_rpc_session`."""
    async with open_rpc_session(url) as (base_url, session):
        yield HttpBroker(base_url, key, session, tracer)


@contextlib.asynccontextmanager
async def open_worker_broker(
    url: str, key: ServiceTokenSigner, tracer: Tracer = NOOP_TRACER
) -> AsyncGenerator[WorkerHttpBroker]:
    """A worker's client over one kept session; `url` as in :func:`open_rpc_session`."""
    async with open_rpc_session(url) as (base_url, session):
        yield WorkerHttpBroker(base_url, key, session, tracer)


@contextlib.asynccontextmanager
async def open_rpc_session(url: str) -> AsyncGenerator[tuple[str, aiohttp.ClientSession]]:
    """Open a session of kept connections to a broker, and the base URL to use with it. `url` is
    ``http(s)://host:port``, or ``unix:/path`` of a socket."""
    connector: aiohttp.BaseConnector
    if url.startswith(UNIX_PREFIX):
        connector = aiohttp.UnixConnector(
            url.removeprefix(UNIX_PREFIX), limit=MOST_CONNECTIONS, keepalive_timeout=KEEPALIVE_SECONDS
        )
        url = "http://broker"
    else:
        connector = aiohttp.TCPConnector(limit=MOST_CONNECTIONS, keepalive_timeout=KEEPALIVE_SECONDS)
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept-Encoding", "Accept"),
        timeout=aiohttp.ClientTimeout(total=TOTAL_SECONDS, connect=CONNECT_SECONDS),
    ) as session:
        yield url, session


def _describe_server(url: str) -> dict[str, str | int]:
    """Describe where requests go, as OpenTelemetry names it."""
    parts = urlsplit(url)
    return {
        "server.address": parts.hostname or "",
        "server.port": parts.port or (443 if parts.scheme == "https" else 80),
    }


async def _read_body(response: aiohttp.ClientResponse) -> bytes:
    parts = bytearray()
    async for part in response.content.iter_any():
        parts += part
        if len(parts) > MOST_ANSWER:
            raise MalformedMessage
    return bytes(parts)


def _parse_retry_after(response: aiohttp.ClientResponse) -> float:
    value = response.headers.get("Retry-After", "")
    return min(float(value), MOST_RETRY_AFTER) if value.isascii() and value.isdigit() else RETRY_AFTER
