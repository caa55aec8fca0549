"""Open streams that notify a handshake client when the account it was asked to connect is connected
([2025-11-25] Elicitation, Completion Notifications for URL Mode), and how its tasks stand ([2025-11-25] Tasks).

Nothing has to be remembered for the first, and any gateway serves any of them: what an elicitation is called follows
from user and module, and what is connected now is compared with what was a moment ago.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Generator

from core.caller import Caller
from core.errors import LimitReached, MCPistError, Unavailable
from core.secret import Secret
from gateway.mcp.call_supervisor import Receive
from gateway.mcp.elicitation import Elicitor
from gateway.mcp.interfaces import Authenticate, TaskNews, TaskWatch
from gateway.mcp.responses import ResponseWriter
from gateway.mcp.sse import CONTENT_TYPE, FINISH_TIMEOUT, STREAM_HEADERS, encode_notification

POLL_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 15.0
MAX_STREAM_SECONDS = 600.0
NEWS_SECONDS = 0.25
"""Pause between two looks at changed tasks."""
MAX_STREAMS = 1_000
MAX_STREAMS_PER_CREDENTIAL = 8

LoadConnectedModules = Callable[[Caller, Secret], Awaitable[frozenset[str]]]
"""The modules whose account works for a caller now; their own credential comes along for the broker."""


class NotificationStreams:
    """The open streams of one gateway. Each ends after `MAX_STREAM_SECONDS` (clients open the next one by themselves),
    when its credential is no longer valid, and at :meth:`close`."""

    def __init__(
        self,
        elicitation: Elicitor,
        authenticate: Authenticate,
        load_connected_modules: LoadConnectedModules,
        task_news: TaskNews | None = None,
    ) -> None:
        self._elicitation = elicitation
        self._authenticate = authenticate
        self._load_connected_modules = load_connected_modules
        self._task_news = task_news
        self._streams: set[asyncio.Future[None]] = set()
        self._of_one: Counter[str] = Counter()

    def close(self) -> None:
        """End every stream: the process stops."""
        for departure in self._streams:
            if not departure.done():
                departure.set_result(None)

    async def serve(self, authorization: str | None, address: str, receive: Receive, reply: ResponseWriter) -> None:
        """Serve one stream until it ends.

        Raises:
            gateway.mcp.errors.Unauthenticated: before anything was answered.
            core.errors.LimitReached: too many are open.
        """
        caller = await self._authenticate(authorization, address)
        with self._reserve_stream(caller) as departure:
            departing = asyncio.create_task(_wait_for_departure(receive, departure))
            try:
                await reply.start(200, CONTENT_TYPE, STREAM_HEADERS)
                await reply.send_chunk(b": listening\n\n")
                async with contextlib.AsyncExitStack() as stack:
                    if self._task_news is not None:
                        watch = stack.enter_context(self._task_news.watch(caller))
                        telling = asyncio.create_task(_tell_news(watch, caller, reply, departure))
                        stack.push_async_callback(_end, telling)
                    with contextlib.suppress(MCPistError):  # the credential does not count any more
                        await self._send_notifications(caller, authorization, address, reply, departure)
                await reply.send_chunk(b"", last=True)
            finally:
                departing.cancel()

    async def _send_notifications(
        self,
        caller: Caller,
        authorization: str | None,
        address: str,
        reply: ResponseWriter,
        departure: "asyncio.Future[None]",
    ) -> None:
        subject = Secret((authorization or "").partition(" ")[2].strip())
        now = asyncio.get_running_loop().time
        end, quiet_since = now() + MAX_STREAM_SECONDS, now()
        before = await self._load_connected_modules(caller, subject)
        while not departure.done() and now() < end:
            await asyncio.wait({departure}, timeout=POLL_SECONDS)
            try:
                previous, caller = caller, await self._authenticate(authorization, address)
                after = before if caller is previous else await self._load_connected_modules(caller, subject)
            except Unavailable:
                continue
            for module in sorted(after - before):
                await reply.send_chunk(
                    _build_completion_event(self._elicitation.compute_elicitation_id(caller, module))
                )
                quiet_since = now()
            before = after
            if now() - quiet_since >= KEEP_ALIVE_SECONDS:
                quiet_since = now()
                await reply.send_chunk(b": keep-alive\n\n")

    @contextlib.contextmanager
    def _reserve_stream(self, caller: Caller) -> "Generator[asyncio.Future[None]]":
        key = caller.credential.id
        if len(self._streams) >= MAX_STREAMS or self._of_one[key] >= MAX_STREAMS_PER_CREDENTIAL:
            raise LimitReached("too many streams are open; close one", retry_after=KEEP_ALIVE_SECONDS)
        departure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._streams.add(departure)
        self._of_one[key] += 1
        try:
            yield departure
        finally:
            self._streams.discard(departure)
            self._of_one[key] -= 1
            if not self._of_one[key]:
                del self._of_one[key]


async def _wait_for_departure(receive: Receive, departure: "asyncio.Future[None]") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    if not departure.done():
        departure.set_result(None)


def _build_completion_event(elicitation_id: str) -> bytes:
    return encode_notification("notifications/elicitation/complete", {"elicitationId": elicitation_id})


async def _tell_news(
    watch: TaskWatch, caller: Caller, reply: ResponseWriter, departure: "asyncio.Future[None]"
) -> None:
    """Tell how the tasks stand as they change. A client that does not read has its stream ended."""
    try:
        while True:
            if not await watch.wait(KEEP_ALIVE_SECONDS):
                continue
            with contextlib.suppress(Unavailable):
                for task in await watch.take_news(caller):
                    async with asyncio.timeout(FINISH_TIMEOUT):
                        await reply.send_chunk(encode_notification("notifications/tasks/status", task))
            await asyncio.sleep(NEWS_SECONDS)
    except TimeoutError:
        if not departure.done():
            departure.set_result(None)


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])
