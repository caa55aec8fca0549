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
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, cast
from uuid import UUID

from core.caller import Caller
from core.errors import LimitReached, MCPistError, Unavailable
from core.log_events import describe_error
from gateway.mcp.call_supervisor import Receive
from gateway.mcp.errors import ClientDisconnected
from gateway.mcp.interfaces import IsCurrent
from gateway.mcp.sse import encode_notification
from gateway.streams.open_stream import KEEP_ALIVE, ClientNotification, OpenStream

KEEP_ALIVE_SECONDS = 15.0
STALL_SECONDS = 10.0
"""Seconds that a client has to read on; then its stream is ended."""
PAUSE_SECONDS = 0.1
"""Pause between two looks for news of one stream: what changes in between is told as one."""
RETRY_SECONDS = 1.0
TICK_SECONDS = 1.0
SLICE = 50
"""Streams that are woken in one turn of the event loop: calls go on in between."""
RENEWALS_AT_ONCE = 4
"""Requests by which callers are verified anew at once, each for streams of one tenant: calls find the database free."""
STREAMS_OF_RENEWAL = 256
VERIFIED_AT_ONCE = 8
"""Callers that are verified alone at once."""
EXPIRY_MARGIN_SECONDS = 1.0

log = logging.getLogger(__name__)


VerifyAgain = Callable[[UUID, Sequence[str]], Awaitable[Sequence[Caller | None]]]
"""(tenant, Authorization headers of its callers) -> the callers in that order; None: has to be verified alone. Raises
core.errors.Unavailable."""


async def _verify_alone(_tenant_id: UUID, authorizations: Sequence[str]) -> Sequence[Caller | None]:
    return [None] * len(authorizations)


def _touch_nothing(_tenant_id: UUID) -> object:
    return None


class StreamHub:
    """The open streams of one process, at most `max_streams`, of one tenant at most `max_per_tenant` (None: as many),
    and of one credential at most `max_per_credential`.

    `verify_again` verifies callers of one tenant anew together. `touch` tells of a tenant that its changes matter, so
    that announcements of them are waited for.
    """

    def __init__(
        self,
        is_current: IsCurrent,
        *,
        max_streams: int,
        max_per_credential: int,
        max_per_tenant: int | None = None,
        verify_again: VerifyAgain = _verify_alone,
        touch: Callable[[UUID], object] = _touch_nothing,
    ) -> None:
        self._verify_again = verify_again
        self._is_current = is_current
        self._max_streams = max_streams
        self._max_per_credential = max_per_credential
        self._max_per_tenant = max_streams if max_per_tenant is None else max_per_tenant
        self._touch = touch
        self._streams: dict[OpenStream, None] = {}
        self._of_tenant: dict[UUID, dict[OpenStream, None]] = {}
        self._of_credential: Counter[tuple[UUID, str]] = Counter()
        self._reserved = 0
        self._reserved_by_tenant: Counter[UUID] = Counter()
        self._due: deque[OpenStream] = deque()
        self._waking: asyncio.Task[None] | None = None
        self._resting: list[OpenStream] = []
        self._rest: asyncio.TimerHandle | None = None
        self._outdated: dict[UUID, deque[OpenStream]] = {}
        self._renewals: set[asyncio.Task[None]] = set()
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
            raise LimitReached("too many streams are open; close one", retry_after=KEEP_ALIVE_SECONDS)
        if self._reserved_by_tenant[caller.tenant_id] >= self._max_per_tenant:
            raise LimitReached("your tenant has too many open streams; try again later", retry_after=KEEP_ALIVE_SECONDS)
        self._reserved += 1
        self._reserved_by_tenant[caller.tenant_id] += 1
        self._of_credential[key] += 1
        try:
            yield
        finally:
            self._reserved -= 1
            _count_down(self._reserved_by_tenant, caller.tenant_id)
            _count_down(self._of_credential, key)

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
        if not stream.is_busy:
            self._await_turn(stream)

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
        for timer in (self._ticking, self._rest):
            if timer is not None:
                timer.cancel()

    def _await_turn(self, stream: OpenStream) -> None:
        self._due.append(stream)
        if self._waking is None:
            self._waking = asyncio.create_task(self._look_at_due(), name="waking streams")

    async def _look_at_due(self) -> None:
        try:
            while self._due:
                now = asyncio.get_running_loop().time()
                for _ in range(min(SLICE, len(self._due))):
                    self._look(self._due.popleft(), now)
                self._renew_outdated()
                await asyncio.sleep(0)
        finally:
            self._waking = None

    def _look(self, stream: OpenStream, now: float) -> None:
        """Look for news on a due stream: at once where nothing has to be waited for."""
        if stream.holder is None or stream.is_over:
            stream.is_due = False
        elif now < stream.rests_until:
            self._resting.append(stream)
            if self._rest is None:
                self._rest = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._end_rest)
        elif self._is_current(stream.caller):
            stream.is_due = False
            self._tell(stream)
        else:
            self._outdated.setdefault(stream.caller.tenant_id, deque()).append(stream)

    def _end_rest(self) -> None:
        self._rest = None
        resting, self._resting = self._resting, []
        for stream in resting:
            self._await_turn(stream)

    def _renew_outdated(self) -> None:
        """Have outdated callers verified anew: those of one tenant together, and tenants in turns."""
        while self._outdated and len(self._renewals) < RENEWALS_AT_ONCE:
            tenant_id, waiting = next(iter(self._outdated.items()))
            del self._outdated[tenant_id]
            batch = [waiting.popleft() for _ in range(min(STREAMS_OF_RENEWAL, len(waiting)))]
            if waiting:
                self._outdated[tenant_id] = waiting
            for stream in batch:
                stream.is_due, stream.is_busy = False, True
            task = asyncio.create_task(self._renew(tenant_id, batch), name="verifying callers of streams")
            self._renewals.add(task)

    async def _renew(self, tenant_id: UUID, batch: Sequence[OpenStream]) -> None:
        """Verify the callers of streams of one tenant anew, then tell what is new for them."""
        loop = asyncio.get_running_loop()
        callers: Sequence[Caller | None] = [None] * len(batch)
        try:
            callers = await self._verify_again(
                tenant_id, [stream.connection.get_authorization() or "" for stream in batch]
            )
        except Unavailable:
            for stream in batch:
                stream.is_due, stream.rests_until = True, loop.time() + RETRY_SECONDS
        except Exception as error:  # noqa: BLE001 - each is verified alone, then
            log.error(
                "callers of streams were not verified", extra={"event": "streams_failed", **describe_error(error)}
            )
        finally:
            self._renewals.discard(cast("asyncio.Task[None]", asyncio.current_task()))
        for stream, caller in zip(batch, callers, strict=True):
            stream.is_busy = False
            if stream.is_due and caller is None:
                self._await_turn(stream)
            elif caller is None:
                self._start_teller(stream)
            else:
                stream.caller = caller
                self._tell(stream)
        self._renew_outdated()

    def _tell(self, stream: OpenStream) -> None:
        """Tell what is new for the caller of a stream, by a teller if something has to be waited for."""
        if stream.holder is None or stream.is_over:
            return
        caller = stream.caller
        try:
            if not all(source.is_ready(caller) for source in stream.sources):
                self._start_teller(stream)
                return
            data = self._take_data(stream, [one for source in stream.sources for one in source.take_news(caller)])
            if data and not self._write_at_once(stream, data):
                self._start_teller(stream, data)
                return
        except Exception as error:  # noqa: BLE001 - one stream's fault ends no other
            _log_failure(error)
            stream.finish()
            return
        self._end_look(stream)

    def _end_look(self, stream: OpenStream) -> None:
        """Have a stream rest: what changes in between is told as one."""
        stream.rests_until = max(stream.rests_until, asyncio.get_running_loop().time() + PAUSE_SECONDS)
        stream.is_busy = False
        if stream.has_no_more_news:
            stream.finish()
        if stream.is_due:
            self._await_turn(stream)

    def _take_data(self, stream: OpenStream, news: Sequence[ClientNotification]) -> bytes:
        """Return what is sent of news; a sign of life where there are none and one is due."""
        if news:
            return encode_news(news, stream.mark)
        quiet = asyncio.get_running_loop().time() - stream.last_sent
        return KEEP_ALIVE if quiet >= KEEP_ALIVE_SECONDS - TICK_SECONDS else b""

    def _start_teller(self, stream: OpenStream, data: bytes = b"") -> None:
        if stream.holder is None or stream.is_over:
            stream.is_busy = False
            return
        stream.is_busy = True
        stream.teller = asyncio.get_running_loop().create_task(self._tell_waiting(stream, data))

    async def _tell_waiting(self, stream: OpenStream, data: bytes) -> None:
        """Write `data`, or look up what is new and tell it."""
        try:
            if data:
                await self._write(stream, data)
            else:
                await self._look_up(stream)
        except Unavailable:
            stream.is_due, stream.rests_until = True, asyncio.get_running_loop().time() + RETRY_SECONDS
        except TimeoutError:
            stream.is_stalled = True
            stream.finish()
        except MCPistError:  # the credential does not count any more
            stream.finish()
        except Exception as error:  # noqa: BLE001 - one stream's fault ends no other
            _log_failure(error)
            stream.finish()
        finally:
            stream.teller = None
            self._end_look(stream)

    async def _look_up(self, stream: OpenStream) -> None:
        """Raises: Unavailable: a source, or the broker, cannot be asked; what others had to tell was told."""
        caller = stream.caller
        if not self._is_current(caller):
            async with self._verifying:
                stream.caller = caller = await stream.connection.authenticate()
        news, failure = list[ClientNotification](), None
        for source in stream.sources:
            try:
                if not source.is_ready(caller):
                    await source.look_up(caller)
            except Unavailable as error:
                failure = error
            else:
                news += source.take_news(caller)
        if data := self._take_data(stream, news):
            await self._write(stream, data)
        if failure is not None:
            raise failure

    def _write_at_once(self, stream: OpenStream, data: bytes) -> bool:
        is_sent = stream.connection.write_at_once(data)
        if is_sent:
            stream.last_sent = asyncio.get_running_loop().time()
        return is_sent

    async def _write(self, stream: OpenStream, data: bytes) -> None:
        """Raises: TimeoutError: the client does not read."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(STALL_SECONDS):
            await stream.connection.write(data)
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


def _count_down(counts: "Counter[Any]", key: object) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _log_failure(error: Exception) -> None:
    log.error("a stream failed", extra={"event": "stream_failed", **describe_error(error)})


def encode_news(news: Sequence[ClientNotification], mark: Any) -> bytes:
    """Encode notifications as events."""
    return b"".join(encode_notification(one.method, {**one.params, **mark}) for one in news)
