"""The one stream of a handshake client ([2025-11-25] Transports, Listening for Messages from the Server): all that it
is told without having asked."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from core.caller import Caller
from core.secret import Secret
from gateway.mcp.elicitation import Elicitor, has_url_session
from gateway.mcp.errors import ClientDisconnected
from gateway.mcp.sse import CONTENT_TYPE, STREAM_HEADERS
from gateway.mcp.transport_context import TransportContext
from gateway.sieve.sieve import Sieve
from gateway.streams.connection_news import ConnectionNews, LoadConnectedModules
from gateway.streams.list_changes import PROMPTS, RESOURCES, TOOLS, ListWatch
from gateway.streams.open_stream import NewsSource, OpenStream
from gateway.streams.resource_subscriptions import ResourceSubscriptionStore
from gateway.streams.resource_updates import ResourceWatch
from gateway.streams.stream_hub import StreamHub

MAX_STREAM_SECONDS = 600.0
"""Clients open the next one by themselves."""
LAST_SECONDS = 1.0
"""Seconds that a client has to take the end of its stream."""

WatchTasks = Callable[[Caller, Callable[[], None]], contextlib.AbstractContextManager[NewsSource]]
"""(caller, what wakes their stream) -> news of the tasks that their client has started."""


@dataclass(frozen=True, slots=True)
class StreamWatches:
    """Where streams hear from."""

    hub: StreamHub
    lists: ListWatch
    resources: ResourceWatch
    sieve: Sieve


class RequestConnection(msgspec.Struct, frozen=True, eq=False):
    """Implements :class:`gateway.streams.open_stream.StreamConnection` on the answer of a GET."""

    request: TransportContext

    def authenticate(self) -> Awaitable[Caller]:
        return self.request.authenticate()

    def get_authorization(self) -> str | None:
        return self.request.get_authorization()

    async def write(self, data: bytes) -> None:
        await self.request.send_chunk(data)

    def write_at_once(self, data: bytes) -> bool:
        return self.request.send_chunk_at_once(data)


class ClientStreams:
    """Serves the streams that handshake clients open. Each ends after `MAX_STREAM_SECONDS`, and when its credential
    does not count any more; with `close` all do."""

    def __init__(
        self,
        watches: StreamWatches,
        store: ResourceSubscriptionStore,
        elicitor: Elicitor,
        load_connected_modules: LoadConnectedModules,
        watch_tasks: WatchTasks,
    ) -> None:
        self._watches = watches
        self._store = store
        self._elicitor = elicitor
        self._load_connected_modules = load_connected_modules
        self._watch_tasks = watch_tasks

    def __len__(self) -> int:
        """Return the number of open streams, those of other forms too."""
        return len(self._watches.hub)

    def close(self) -> None:
        """End every stream: the process stops."""
        self._watches.hub.close()

    async def serve(self, request: TransportContext) -> None:
        """Serve one stream until it ends.

        Raises:
            gateway.mcp.errors.Unauthenticated: before anything was answered.
            core.errors.LimitReached: too many are open.
            core.errors.Unavailable: the database or the broker is away, before anything was answered.
            ClientDisconnected: the client has left, or does not read.
        """
        caller = await request.authenticate()
        assert request.receive is not None
        hub = self._watches.hub
        with hub.reserve(caller), contextlib.ExitStack() as stack:
            end = asyncio.get_running_loop().time() + MAX_STREAM_SECONDS
            stream = OpenStream(caller, RequestConnection(request), (), end)
            stream.sources = await self._open_sources(request, caller, stream, stack)
            stack.enter_context(hub.register(stream))
            await request.start(200, CONTENT_TYPE, STREAM_HEADERS)
            await request.send_chunk(b": listening\n\n")
            await hub.hold(stream, request.receive)
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await request.send_chunk(b"", last=True)
        except TimeoutError:
            raise ClientDisconnected from None

    async def _open_sources(
        self, request: TransportContext, caller: Caller, stream: OpenStream, stack: contextlib.ExitStack
    ) -> tuple[NewsSource, ...]:
        watches = self._watches
        updates = watches.resources.create_source(watches.sieve, caller, load=self._store.load)
        stack.enter_context(watches.resources.watch(updates, stream))
        await updates.look_up(caller)
        lists = watches.lists.create_source(caller, request.choose_exposure, (TOOLS, RESOURCES, PROMPTS))
        tasks = stack.enter_context(self._watch_tasks(caller, lambda: watches.hub.wake(stream)))
        sources: list[NewsSource] = [lists, updates, tasks]
        if has_url_session(request.headers):
            subject = Secret((request.get_authorization() or "").partition(" ")[2].strip())
            connections = ConnectionNews(self._elicitor, self._load_connected_modules, subject)
            await connections.look_up(caller)
            sources.append(connections)
        return tuple(sources)
