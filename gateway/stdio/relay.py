"""Carry every line of a client to MCPist, and every answer back. Requests run side by side; each gets one answer."""

import asyncio
import contextlib
import io
import logging
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import orjson

from core.errors import MCPistError
from gateway.postgres.errors import PostgresError
from gateway.stdio import messages
from gateway.stdio.lines import MOST_LINE, Lines, Output, each
from gateway.stdio.messages import Id, Message
from gateway.stdio.upstream import Endpoint, TooMuch, Upstream, events, headers_for, whole

MOST_RUNNING = 100
TOO_LONG = f"Invalid request: a message is at most {MOST_LINE} bytes long"

log = logging.getLogger(__name__)


class Relay:
    """One client's relay. `run` ends with the client's input, after the last answer."""

    def __init__(self, upstream: Upstream, session: aiohttp.ClientSession, output: Output) -> None:
        self._upstream = upstream
        self._session = session
        self._output = output
        self._negotiated: str | None = None
        self._running: dict[asyncio.Task[None], Message] = {}
        self._room = asyncio.Semaphore(MOST_RUNNING)
        self._client_gone = asyncio.Event()

    async def run(self, lines: Lines) -> None:
        """Relay until the input ends; then wait for what is under way."""
        reading = asyncio.create_task(self._read(each(lines)), name="client's input")
        gone = asyncio.create_task(self._client_gone.wait())
        try:
            await asyncio.wait({reading, gone}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
                await self._drained(gone)
        finally:
            await _ended({reading, gone, *self._running})

    async def _read(self, lines: AsyncIterator[bytes | None]) -> None:
        async for line in lines:
            if line is None:
                await self._answer(messages.error(None, messages.INVALID_REQUEST, TOO_LONG))
                continue
            message = messages.read(line, self._negotiated)
            if message.cancels is not None:
                self._cancel(message.cancels)
                continue
            await self._room.acquire()
            task = asyncio.create_task(self._carry(message))
            self._running[task] = message
            task.add_done_callback(self._carried)
            if message.initializes:
                await asyncio.wait({task})  # what follows names the revision that is agreed on here

    async def _drained(self, gone: "asyncio.Task[Any]") -> None:
        while self._running and not gone.done():
            await asyncio.wait({*self._running, gone}, return_when=asyncio.FIRST_COMPLETED)

    def _carried(self, task: "asyncio.Task[None]") -> None:
        del self._running[task]
        self._room.release()
        if not task.cancelled() and (fault := task.exception()) is not None:
            if not isinstance(fault, OSError):
                log.error("a message was not relayed", extra={"cause": type(fault).__name__})
            self._client_gone.set()

    def _cancel(self, id: Id) -> None:
        """Over HTTP a request is cancelled by closing its connection; no answer follows."""
        for task, message in self._running.items():
            if message.ids == (id,) and not message.batch and not message.initializes:
                task.cancel()

    async def _carry(self, message: Message) -> None:
        waiting = list(message.ids)
        problem = await self._sent(message, waiting)
        if problem and waiting:
            errors = [messages.error(id, messages.INTERNAL_ERROR, problem) for id in waiting]
            await self._answer(errors if message.batch else errors[0])
        elif problem:
            log.warning("a notification was not delivered: %s", problem)

    async def _sent(self, message: Message, waiting: list[Id]) -> str:
        """Send and relay the answers; the ids that they answer are taken out of `waiting`. What went wrong, or ""."""
        try:
            endpoint = await self._upstream.endpoint()
            problem = await self._tried(endpoint, message, waiting)
            if problem is None:
                # Refused before it was read, so nothing runs twice.
                endpoint, old = await self._upstream.renewed(endpoint), endpoint
                problem = _REFUSED if endpoint == old else await self._tried(endpoint, message, waiting) or _REFUSED
        except aiohttp.ClientConnectorError as error:
            return f"MCPist cannot be reached at {error.host}:{error.port}; is it running, and is the URL right?"
        except (TimeoutError, aiohttp.ClientError):
            return f"the connection to MCPist was lost; {_UNKNOWN}"
        except TooMuch:
            return f"the answer is too long; {_UNKNOWN}"
        except (MCPistError, PostgresError) as error:
            return str(error)
        return problem or (f"MCPist did not answer this request; {_UNKNOWN}" if waiting else "")

    async def _tried(self, endpoint: Endpoint, message: Message, waiting: list[Id]) -> str | None:
        """One attempt: what went wrong, or ""; None where the token, or the connection as such, was refused."""
        try:
            async with self._session.post(
                endpoint.url,
                data=io.BytesIO(message.body),  # in pieces: one that is long holds up no other
                headers=headers_for(endpoint, message.headers),
                allow_redirects=False,  # a redirect would carry the token elsewhere
            ) as response:
                if response.status == 401:
                    return None
                return await self._received(response, message, waiting)
        except aiohttp.ClientConnectorError:
            if await self._upstream.renewed(endpoint) == endpoint:
                raise
            return None

    async def _received(self, response: aiohttp.ClientResponse, message: Message, waiting: list[Id]) -> str:
        if response.content_type == "text/event-stream":
            async for data in events(response):
                await self._relay(data, message, waiting)
            return ""
        body = await whole(response)
        if response.status == 202 or (not body and response.ok):
            return ""
        if response.content_type == "application/json" and self._is_answer(body, waiting):
            await self._relay(body, message, waiting)
            return ""
        return _told(response)

    async def _relay(self, body: bytes, message: Message, waiting: list[Id]) -> None:
        for member in messages.members(body):
            id = messages.answered_id(member)
            if id in waiting:
                waiting.remove(id)
                if message.initializes:
                    self._negotiated = messages.negotiated_version(member) or self._negotiated
        await self._output.write(body)

    def _is_answer(self, body: bytes, waiting: list[Id]) -> bool:
        """Whether this answers somebody who waits; without anybody who waits, any JSON-RPC error will do."""
        found = messages.members(body)
        if waiting:
            return any(messages.answered_id(member) in waiting for member in found)
        return any(isinstance(member, dict) and "jsonrpc" in member for member in found)

    async def _answer(self, document: Any) -> None:
        await self._output.write(orjson.dumps(document))


_UNKNOWN = "it is not known whether the request was carried out: look before you try again"
_REFUSED = "MCPist refuses the token: it is wrong, expired or revoked; `mcpist token create` makes a new one"


def _told(response: aiohttp.ClientResponse) -> str:
    if 300 <= response.status < 400:
        return f"MCPIST_URL leads elsewhere (HTTP {response.status}); set it to the URL of the MCP endpoint itself"
    if response.status == 429:
        return f"too many requests; try again in {response.headers.get('Retry-After', 'some')[:10]} seconds"
    if response.status == 403:
        return "MCPist refuses this request (HTTP 403): the token lacks the scope, or the URL is not its public one"
    if response.status == 503 and "Retry-After" in response.headers:  # MCPist's own, which has run nothing
        return "MCPist is not ready (HTTP 503); try again in a moment"
    if response.status >= 500:  # of a proxy in between, perhaps, after it had passed the request on
        return f"MCPist did not answer (HTTP {response.status}); {_UNKNOWN}"
    return f"what answers at MCPIST_URL does not speak MCP (HTTP {response.status})"


async def _ended(tasks: "set[asyncio.Task[Any]]") -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, Exception):
            task.result()
