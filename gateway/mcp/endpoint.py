"""The ASGI application behind /mcp: HTTP in, HTTP out, and the order of the checks in between."""

import itertools
import logging
import math
import secrets
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson

from core.concurrency.cooperative_steps import wait_for_turn
from core.errors import LimitReached, MCPistError, Unavailable
from core.http.allowed_hosts import AllowedHosts
from gateway.mcp import body, cors
from gateway.mcp.batch import Batches
from gateway.mcp.checks import ALLOW, Accepts, check_accept, check_content, check_host, check_single
from gateway.mcp.context import Handler, ProtocolError
from gateway.mcp.dispatch import Answer, Arrival, Dispatcher, failure
from gateway.mcp.elicitation import Elicitation, opens_urls_by, session_id
from gateway.mcp.envelope import INVALID_REQUEST, Malformed, Message, is_batch, parse
from gateway.mcp.era import unsupported
from gateway.mcp.errors import ClientGone, InsufficientScope, Refusal, Unauthenticated
from gateway.mcp.headers import SESSION, VERSION, Headers
from gateway.mcp.listening import Connected, Listening
from gateway.mcp.own import Instructions
from gateway.mcp.ports import Admit, Authenticate, IsCurrent, Observation, Observe
from gateway.mcp.proxies import Proxies
from gateway.mcp.replies import Reply, Send
from gateway.mcp.revisions import REVISIONS, by_header
from gateway.mcp.settings import McpSettings
from gateway.mcp.sse import CONTENT_TYPE as EVENTS
from gateway.mcp.sse import EventStream, event
from gateway.mcp.watch import Receive, Watch

_log = logging.getLogger(__name__)


def _always(_caller: object) -> bool:
    return True


class _Exchange:
    """One HTTP request while it is served, and what is to be told of it afterwards."""

    __slots__ = ("answer", "arrival", "headers", "method", "receive", "reply", "request_id", "scope")

    def __init__(self, scope: dict[str, Any], receive: Receive, send: Send, request_id: str) -> None:
        self.scope = scope
        self.receive = receive
        self.headers = Headers(scope["headers"])
        self.request_id = request_id
        self.reply = Reply(send, [(b"x-request-id", request_id.encode())])
        self.method = ""
        self.arrival: Arrival | None = None
        self.answer: Answer | None = None


class McpEndpoint:
    """MCP over Streamable HTTP, both eras, without sessions.

    With `elicitation` clients can be asked to open pages; with `connected` too, handshake clients hear when it is done.

    `is_current` says whether a caller that was authenticated still counts, for requests that run for long.

    `handlers` maps methods such as ``tools/call`` to their handlers; what is advertised follows from it. `instructions`
    says what a caller's client may put before its model.

    Raises:
        ValueError: a setting cannot be understood.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        authenticate: Authenticate,
        settings: McpSettings,
        *,
        server_version: str,
        instructions: Instructions | None = None,
        admit: Admit,
        is_current: IsCurrent = _always,
        observe: Observe | None = None,
        elicitation: Elicitation | None = None,
        connected: Connected | None = None,
    ) -> None:
        self._settings = settings
        self._authenticate = authenticate
        self._admit = admit
        self._observe = observe
        self._hosts = AllowedHosts(settings.public_url)
        self._origins = cors.Origins(settings.allowed_origins, settings.public_url)
        self._proxies = Proxies(settings.trusted_proxies)
        self._watch = Watch(settings.disconnect_watch_after, settings.keep_alive)
        self._dispatcher = Dispatcher(
            handlers, settings, server_version, instructions, self._watch, elicitation, is_current
        )
        self._tells_sessions = elicitation is not None
        self._listening = Listening(elicitation, authenticate, connected) if elicitation and connected else None
        self._batches = Batches(self._dispatcher, settings, admit, self._watch)
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    @property
    def running(self) -> int:
        """How many calls are being handled now."""
        return len(self._watch)

    def end_streams(self) -> None:
        """Nobody hears anything more: the process stops."""
        if self._listening is not None:
            self._listening.close()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Serve one HTTP request (ASGI 3)."""
        if scope["type"] != "http":
            raise ValueError(f"/mcp serves HTTP, not {scope['type']}")
        started = time.perf_counter()
        exchange = _Exchange(scope, receive, send, f"{self._prefix}-{next(self._numbers):x}")
        try:
            await self._serve(exchange)
        except ClientGone:
            pass
        except Refusal as refusal:
            await self._refuse(exchange, refusal)
        except MCPistError as error:
            await self._refuse(exchange, _as_refusal(error, self._settings.resource_metadata))
        except Exception as error:  # noqa: BLE001 - the server would log and show its text
            _log.error("%s outside a handler, request %s", type(error).__name__, exchange.request_id)
            if not exchange.reply.status:
                await self._refuse(exchange, Refusal(500, "Internal Server Error"))
        finally:
            if self._observe is not None:
                self._observe(_observation(exchange, time.perf_counter() - started))

    async def _serve(self, exchange: _Exchange) -> None:
        scope, headers, reply = exchange.scope, exchange.headers, exchange.reply
        if headers.repeated:
            check_single(headers)
        check_host(self._hosts, scope, self._proxies.host(scope, headers))
        if (origin := headers.text(b"origin")) is not None:
            self._check_origin(origin, reply)
        if scope["method"] == "GET" and self._listening is not None and opens_urls_by(headers):
            client = self._proxies.client(scope, headers)
            await self._listening.serve(headers.text(b"authorization"), client, exchange.receive, reply)
            return
        if scope["method"] != "POST":
            await _answer_other_method(scope["method"], reply)
            return
        authenticate = partial(self._authenticate, headers.text(b"authorization"), self._proxies.client(scope, headers))
        caller = await authenticate()
        accepts = check_accept(headers)
        check_content(headers)
        exchange.arrival = arrival = Arrival(
            caller, exchange.request_id, headers, exchange.receive, authenticate=authenticate
        )
        if accepts.events:
            arrival.open_stream = partial(EventStream, reply)
        release = self._admit(caller)
        try:
            content = await body.read(exchange.receive, headers, self._settings.max_body, self._settings.body_timeout)
            exchange.answer = answer = await self._answer(content, arrival, exchange)
        finally:
            release()
        await _send(reply, answer, accepts)

    def _check_origin(self, origin: str, reply: Reply) -> None:
        if not self._origins.allows(origin):
            raise Refusal(403, "This origin may not call; an administrator can allow it")
        reply.headers += cors.headers_for(origin)

    async def _answer(self, content: bytes, arrival: Arrival, exchange: _Exchange) -> Answer | None:
        header = arrival.headers.text(VERSION)
        try:
            if is_batch(content):
                exchange.method = "batch"
                return await self._batches.answer(content, arrival, by_header(header))
            await wait_for_turn(len(content))
            message = parse(content, self._settings.max_depth)
            exchange.method = message.method
            await wait_for_turn(len(content))
            if message.id and message.method:
                if message.method == "initialize" and self._tells_sessions and (told := session_id(message)):
                    exchange.reply.headers.append((SESSION, told))
                return await self._dispatcher.answer(message, arrival)
            return _accept(message, header)
        except Malformed as malformed:
            return failure(by_header(header), malformed.id, malformed.error)

    async def _refuse(self, exchange: _Exchange, refusal: Refusal) -> None:
        content = orjson.dumps({"error": refusal.text})
        if refusal.as_rpc:
            revision = by_header(exchange.headers.text(VERSION))
            content = failure(revision, b"", ProtocolError(INVALID_REQUEST, refusal.text)).body
        await exchange.reply.whole(refusal.status, content, headers=refusal.headers)


async def _answer_other_method(method: str, reply: Reply) -> None:
    if method == "OPTIONS":
        await reply.whole(204, headers=(ALLOW, *cors.PREFLIGHT))
        return
    raise Refusal(405, "Send MCP messages with POST; there are no sessions and no streams to open", ALLOW)


def _accept(message: Message, header: str | None) -> Answer | None:
    """A notification or an answer of the client: there is no state that it could change."""
    if header is not None and header not in REVISIONS:
        return failure(by_header(header), message.id, unsupported(header))
    return None


async def _send(reply: Reply, answer: Answer | None, accepts: Accepts) -> None:
    if answer is None:
        await reply.whole(202)
    elif answer.stream is not None and answer.stream.started:
        await answer.stream.finish(answer.body)
    elif accepts.json:
        await reply.whole(answer.status, answer.body)
    else:
        await reply.whole(answer.status, event(answer.body), EVENTS)


def _as_refusal(error: MCPistError, metadata: str) -> Refusal:
    headers: list[tuple[bytes, bytes]] = []
    if isinstance(error, Unauthenticated | InsufficientScope):
        challenge = f'{error.challenge}, resource_metadata="{metadata}"' if metadata else error.challenge
        headers.append((b"www-authenticate", challenge.encode("latin-1")))
    if isinstance(error, LimitReached | Unavailable):
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(error.retry_after))))
    return Refusal(error.status, str(error), *headers)


def _observation(exchange: _Exchange, seconds: float) -> Observation:
    arrival, answer = exchange.arrival, exchange.answer
    return Observation(
        request_id=exchange.request_id,
        method=exchange.method,
        revision=answer.revision.version if answer is not None else "",
        status=exchange.reply.status,
        code=answer.code if answer is not None else 0,
        seconds=seconds,
        caller=arrival.caller if arrival is not None else None,
        trace=arrival.trace if arrival is not None else "",
        client_name=arrival.client_name if arrival is not None else "",
    )
