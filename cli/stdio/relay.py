"""Carry every line of a client to MCPist, and every answer back. Requests run side by side; each gets one answer."""

import asyncio
import contextlib
import io
import logging
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import orjson

from cli.stdio import messages
from cli.stdio.lines import MAX_LINE_BYTES, LineReader, LineWriter, read_lines
from cli.stdio.messages import ClientMessage, RequestId
from cli.stdio.upstream import (
    ResponseTooLarge,
    Upstream,
    UpstreamEndpoint,
    build_request_headers,
    read_body,
    read_events,
)
from core.errors import MCPistError
from server.postgres.errors import PostgresError

MAX_RUNNING_REQUESTS = 100
LINE_TOO_LONG_TEXT = f"Invalid request: a message is at most {MAX_LINE_BYTES} bytes long"

log = logging.getLogger(__name__)


class StdioRelay:
    """One client's relay. `run` ends with the client's input, after the last answer."""

    def __init__(self, upstream: Upstream, session: aiohttp.ClientSession, output: LineWriter) -> None:
        self._upstream = upstream
        self._session = session
        self._output = output
        self._negotiated: str | None = None
        self._running: dict[asyncio.Task[None], ClientMessage] = {}
        self._room = asyncio.Semaphore(MAX_RUNNING_REQUESTS)
        self._client_gone = asyncio.Event()

    async def run(self, lines: LineReader) -> None:
        """Relay until the input ends; then wait for what is under way."""
        reading = asyncio.create_task(self._read_messages(read_lines(lines)), name="client's input")
        departure = asyncio.create_task(self._client_gone.wait())
        try:
            await asyncio.wait({reading, departure}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
                await self._wait_for_running(departure)
        finally:
            await _cancel_tasks({reading, departure, *self._running})

    async def _read_messages(self, lines: AsyncIterator[bytes | None]) -> None:
        async for line in lines:
            if line is None:
                await self._write_answer(messages.build_error(None, messages.INVALID_REQUEST, LINE_TOO_LONG_TEXT))
                continue
            message = messages.parse_line(line, self._negotiated)
            if message.cancelled_id is not None and not self._cancel_request(message.cancelled_id):
                continue
            await self._room.acquire()
            task = asyncio.create_task(self._carry_message(message))
            self._running[task] = message
            task.add_done_callback(self._finish_task)
            if message.is_initialize:
                await asyncio.wait({task})  # what follows names the revision that is agreed on here

    async def _wait_for_running(self, departure: "asyncio.Task[Any]") -> None:
        while self._running and not departure.done():
            await asyncio.wait({*self._running, departure}, return_when=asyncio.FIRST_COMPLETED)

    def _finish_task(self, task: "asyncio.Task[None]") -> None:
        del self._running[task]
        self._room.release()
        if not task.cancelled() and (fault := task.exception()) is not None:
            if not isinstance(fault, OSError):
                log.error("a message was not relayed", extra={"cause": type(fault).__name__})
            self._client_gone.set()

    def _cancel_request(self, id: RequestId) -> bool:
        """Close the connection of a request, so that no answer follows; return whether the server has to be told, too:
        only of the newest revision's requests this is their cancellation."""
        is_told = False
        for task, message in self._running.items():
            if message.request_ids == (id,) and not message.is_batch and not message.is_initialize:
                task.cancel()
                is_told = is_told or not message.is_modern
        return is_told

    async def _carry_message(self, message: ClientMessage) -> None:
        unanswered = list(message.request_ids)
        problem = await self._send(message, unanswered)
        if problem and unanswered:
            errors = [messages.build_error(id, messages.INTERNAL_ERROR, problem) for id in unanswered]
            await self._write_answer(errors if message.is_batch else errors[0])
        elif problem:
            log.warning("a notification was not delivered: %s", problem)

    async def _send(self, message: ClientMessage, unanswered: list[RequestId]) -> str:
        """Send the message and relay the answers, whose ids leave `unanswered`; return what went wrong, or ""."""
        try:
            endpoint = await self._upstream.get_endpoint()
            problem = await self._try_send(endpoint, message, unanswered)
            if problem is None:
                # Refused before it was read, so nothing runs twice.
                endpoint, old = await self._upstream.renew_endpoint(endpoint), endpoint
                problem = (
                    _REFUSED_TEXT
                    if endpoint == old
                    else await self._try_send(endpoint, message, unanswered) or _REFUSED_TEXT
                )
        except aiohttp.ClientConnectorError as error:
            return f"MCPist cannot be reached at {error.host}:{error.port}; is it running, and is the URL right?"
        except (TimeoutError, aiohttp.ClientError):
            return f"the connection to MCPist was lost; {_OUTCOME_UNKNOWN_TEXT}"
        except ResponseTooLarge:
            return f"the answer is too long; {_OUTCOME_UNKNOWN_TEXT}"
        except (MCPistError, PostgresError) as error:
            return str(error)
        return problem or (f"MCPist did not answer this request; {_OUTCOME_UNKNOWN_TEXT}" if unanswered else "")

    async def _try_send(
        self, endpoint: UpstreamEndpoint, message: ClientMessage, unanswered: list[RequestId]
    ) -> str | None:
        """Try to send once; return what went wrong, or "", or None where the token or the connection was refused."""
        try:
            async with self._session.post(
                endpoint.url,
                data=io.BytesIO(message.body),  # in pieces: one that is long holds up no other
                headers=build_request_headers(endpoint, message.headers),
                allow_redirects=False,  # a redirect would carry the token elsewhere
            ) as response:
                if response.status == 401:
                    return None
                return await self._relay_response(response, message, unanswered)
        except aiohttp.ClientConnectorError:
            if await self._upstream.renew_endpoint(endpoint) == endpoint:
                raise
            return None

    async def _relay_response(
        self, response: aiohttp.ClientResponse, message: ClientMessage, unanswered: list[RequestId]
    ) -> str:
        if response.content_type == "text/event-stream":
            async for data in read_events(response):
                await self._relay_body(data, message, unanswered)
            return ""
        body = await read_body(response)
        if response.status == 202 or (not body and response.ok):
            return ""
        if response.content_type == "application/json" and self._is_answer(body, unanswered):
            await self._relay_body(body, message, unanswered)
            return ""
        return _describe_response(response)

    async def _relay_body(self, body: bytes, message: ClientMessage, unanswered: list[RequestId]) -> None:
        for member in messages.parse_messages(body):
            id = messages.parse_response_id(member)
            if id in unanswered:
                unanswered.remove(id)
                if message.is_initialize:
                    self._negotiated = messages.parse_negotiated_version(member) or self._negotiated
        await self._output.write(body)

    def _is_answer(self, body: bytes, unanswered: list[RequestId]) -> bool:
        """Check whether this answers a pending request; without pending requests any JSON-RPC error counts."""
        messages_received = messages.parse_messages(body)
        if unanswered:
            return any(messages.parse_response_id(member) in unanswered for member in messages_received)
        return any(isinstance(member, dict) and "jsonrpc" in member for member in messages_received)

    async def _write_answer(self, document: Any) -> None:
        await self._output.write(orjson.dumps(document))


_OUTCOME_UNKNOWN_TEXT = "it is not known whether the request was carried out: look before you try again"
_REFUSED_TEXT = "MCPist refuses the token: it is wrong, expired or revoked; `mcpist token create` makes a new one"


def _describe_response(response: aiohttp.ClientResponse) -> str:
    if 300 <= response.status < 400:
        return f"MCPIST_URL leads elsewhere (HTTP {response.status}); set it to the URL of the MCP endpoint itself"
    if response.status == 429:
        return f"too many requests; try again in {response.headers.get('Retry-After', 'some')[:10]} seconds"
    if response.status == 403:
        return "MCPist refuses this request (HTTP 403): the token lacks the scope, or the URL is not its public one"
    if response.status == 503 and "Retry-After" in response.headers:  # MCPist's own, which has run nothing
        return "MCPist is not ready (HTTP 503); try again in a moment"
    if response.status >= 500:  # of a proxy in between, perhaps, after it had passed the request on
        return f"MCPist did not answer (HTTP {response.status}); {_OUTCOME_UNKNOWN_TEXT}"
    return f"what answers at MCPIST_URL does not speak MCP (HTTP {response.status})"


async def _cancel_tasks(tasks: "set[asyncio.Task[Any]]") -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, Exception):
            task.result()
