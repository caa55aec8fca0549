"""All open streams of a process: who is told when something may be new for them, and when a stream ends.

Nothing is polled. A stream is woken by what concerns it: an announced change of its tenant, of one of its tasks or of a
resource. Then its caller is verified anew if what is known of them is old, and its sources are asked what is new for
the caller as they are now: a role that was taken away, or a credential that was revoked, counts before anything is
told.
"""

import asyncio
import contextlib
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any
from uuid import UUID

from core.caller import Caller
from core.errors import LimitReached, MCPistError, Unavailable
from core.log_events import describe_error
from gateway.mcp.call_supervisor import Receive
from gateway.mcp.errors import ClientDisconnected
from gateway.mcp.interfaces import IsCurrent
from gateway.mcp.sse import encode_notification
from gateway.streams.open_stream import KEEP_ALIVE, NewsSource, Notification, OpenStream

KEEP_ALIVE_SECONDS = 15.0
STALL_SECONDS = 10.0
"""Seconds that a client has to read on; then its stream is ended."""
PAUSE_SECONDS = 0.1
"""Pause between two looks for news of one stream: what changes in between is told as one."""
RETRY_SECONDS = 1.0
TICK_SECONDS = 1.0
SLICE = 50
"""Streams that are woken in one turn of the event loop: calls go on in between."""
VERIFIED_AT_ONCE = 8
"""Callers that are verified anew at once, so that calls find the database free."""
EXPIRY_MARGIN_SECONDS = 1.0

log = logging.getLogger(__name__)


def _touch_nothing(_tenant_id: UUID) -> object:
    return None


class StreamHub:
    """The open streams of one process, at most `max_streams`, and of one credential at most `max_per_credential`.

    `touch` tells of a tenant that its changes matter, so that announcements of them are waited for.
    """

    def __init__(
        self,
        is_current: IsCurrent,
        *,
        max_streams: int,
        max_per_credential: int,
        touch: Callable[[UUID], object] = _touch_nothing,
    ) -> None:
        self._is_current = is_current
        self._max_streams = max_streams
        self._max_per_credential = max_per_credential
        self._touch = touch
        self._streams: dict[OpenStream, None] = {}
        self._of_tenant: dict[UUID, dict[OpenStream, None]] = {}
        self._of_credential: Counter[tuple[UUID, str]] = Counter()
        self._reserved = 0
        self._due: deque[OpenStream] = deque()
        self._waking: asyncio.Task[None] | None = None
        self._ticking: asyncio.TimerHandle | None = None
        self._verifying = asyncio.Semaphore(VERIFIED_AT_ONCE)
        self._is_closed = False

    def __len__(self) -> int:
        """Return the number of open streams."""
        return len(self._streams)

    @contextlib.contextmanager
    def reserve(self, caller: Caller) -> Generator[None]:
        """Take the place of one stream for as long as the block lasts.

        Raises:
            LimitReached: too many are open.
        """
        key = caller.tenant_id, caller.credential.id
        if self._reserved >= self._max_streams or self._of_credential[key] >= self._max_per_credential:
            if not self._of_credential[key]:
                del self._of_credential[key]
            raise LimitReached("too many streams are open; close one", retry_after=KEEP_ALIVE_SECONDS)
        self._reserved += 1
        self._of_credential[key] += 1
        try:
            yield
        finally:
            self._reserved -= 1
            self._of_credential[key] -= 1
            if not self._of_credential[key]:
                del self._of_credential[key]

    @contextlib.contextmanager
    def register(self, stream: OpenStream) -> Generator[None]:
        """Have a stream woken for as long as the block lasts. Nothing is told on it before :meth:`hold`."""
        loop = asyncio.get_running_loop()
        stream.last_sent = loop.time()
        expires_at = stream.caller.credential.expires_at
        if expires_at is not None:
            left = expires_at.timestamp() - time.time() + EXPIRY_MARGIN_SECONDS
            stream.end = min(stream.end, stream.last_sent + left)
        self._streams[stream] = None
        self._of_tenant.setdefault(stream.caller.tenant_id, {})[stream] = None
        if self._ticking is None:
            self._ticking = loop.call_later(TICK_SECONDS, self._tick)
        try:
            yield
        finally:
            del self._streams[stream]
            streams = self._of_tenant[stream.caller.tenant_id]
            del streams[stream]
            if not streams:
                del self._of_tenant[stream.caller.tenant_id]

    async def hold(self, stream: OpenStream, receive: Receive) -> None:
        """Tell news on a registered stream until it ends.

        Raises:
            ClientDisconnected: the client has left, or does not read.
        """
        if self._is_closed:
            return
        stream.holder = task = asyncio.current_task()
        assert task is not None
        self.wake(stream)
        try:
            while not stream.is_over and (await receive())["type"] != "http.disconnect":
                pass
        except asyncio.CancelledError:
            if not stream.is_over or task.uncancel():
                raise
        finally:
            stream.holder = None
            has_left, stream.is_over = not stream.is_over, True
            if stream.teller is not None:
                stream.teller.cancel()
                await asyncio.wait([stream.teller])
        if has_left or stream.is_stalled:
            raise ClientDisconnected

    def wake(self, stream: OpenStream) -> None:
        """Have a stream look for news soon."""
        if stream.is_due or stream.is_over:
            return
        stream.is_due = True
        if stream.teller is None:
            self._due.append(stream)
            if self._waking is None:
                self._waking = asyncio.create_task(self._start_tellers(), name="waking streams")

    def wake_tenant(self, tenant_id: UUID) -> None:
        """Have all streams of a tenant look for news: something of the tenant has changed."""
        for stream in self._of_tenant.get(tenant_id, ()):
            self.wake(stream)

    def wake_all(self) -> None:
        """Have all streams look for news."""
        for stream in self._streams:
            self.wake(stream)

    def close(self) -> None:
        """End every stream, and open none any more: the process stops."""
        self._is_closed = True
        for stream in list(self._streams):
            stream.finish()
        if self._ticking is not None:
            self._ticking.cancel()

    async def _start_tellers(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._due:
                for _ in range(min(SLICE, len(self._due))):
                    stream = self._due.popleft()
                    if stream.holder is not None and stream.teller is None and not stream.is_over:
                        stream.teller = loop.create_task(self._tell(stream))
                    else:
                        stream.is_due = False
                await asyncio.sleep(0)
        finally:
            self._waking = None

    async def _tell(self, stream: OpenStream) -> None:
        """Tell what is new, until nothing is."""
        try:
            while stream.is_due and not stream.is_over:
                stream.is_due = False
                try:
                    await self._tell_once(stream)
                    await asyncio.sleep(PAUSE_SECONDS)
                except Unavailable:
                    stream.is_due = True
                    await asyncio.sleep(RETRY_SECONDS)
        except TimeoutError:
            stream.is_stalled = True
            stream.finish()
        except MCPistError:  # the credential does not count any more
            stream.finish()
        except Exception as error:  # noqa: BLE001 - one stream's fault ends no other
            log.error("a stream failed", extra={"event": "stream_failed", **describe_error(error)})
            stream.finish()
        finally:
            stream.teller = None

    async def _tell_once(self, stream: OpenStream) -> None:
        """Raises: Unavailable: a source, or the broker, cannot be asked; what others had to tell was told."""
        caller = stream.caller
        if not self._is_current(caller):
            async with self._verifying:
                stream.caller = caller = await stream.authenticate()
        news, failure = await _take_news(stream.sources, caller)
        now = asyncio.get_running_loop().time()
        if news:
            await self._write(stream, encode_news(news, stream.mark))
        elif now - stream.last_sent >= KEEP_ALIVE_SECONDS - TICK_SECONDS:
            await self._write(stream, KEEP_ALIVE)
        if failure is not None:
            raise failure
        if stream.has_no_more_news:
            stream.finish()

    async def _write(self, stream: OpenStream, data: bytes) -> None:
        """Raises: TimeoutError: the client does not read."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(STALL_SECONDS):
            await stream.write(data)
        stream.last_sent = loop.time()

    def _tick(self) -> None:
        """End the streams whose time is over, and have those give a sign of life that were quiet for long."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for stream in list(self._streams):
            if now >= stream.end:
                stream.finish()
            elif now - stream.last_sent >= KEEP_ALIVE_SECONDS:
                self.wake(stream)
        for tenant_id in self._of_tenant:
            self._touch(tenant_id)
        self._ticking = loop.call_later(TICK_SECONDS, self._tick) if self._streams else None


async def _take_news(
    sources: Iterable[NewsSource], caller: Caller
) -> tuple[Sequence[Notification], Unavailable | None]:
    """Take the news of every source that can be asked, and why another one cannot: what was taken is not there
    again."""
    news, failure = list[Notification](), None
    for source in sources:
        try:
            news += await source.take_news(caller)
        except Unavailable as error:
            failure = error
    return news, failure


def encode_news(news: Sequence[Notification], mark: Any) -> bytes:
    """Encode notifications as events."""
    return b"".join(encode_notification(one.method, {**one.params, **mark}) for one in news)
