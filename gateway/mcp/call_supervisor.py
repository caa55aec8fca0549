"""Deadlines, departed clients, old credentials and quiet streams of all running calls, kept by one timer.

`asyncio.timeout` costs 5.5 µs a call and a disconnect watcher task 11 µs; a set that one timer walks costs under 1 µs.
The price is that a deadline is met to within a tick.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from functools import cached_property
from typing import Any, NoReturn

import msgspec

from core.errors import MCPistError
from gateway.mcp.authority import Authority
from gateway.mcp.errors import ClientDisconnected
from gateway.mcp.sse import EventStream

TICK_SECONDS = 0.05  # seconds
TIMED_OUT = "the call took longer than"
"""How the text of a call begins whose deadline has passed."""

Receive = Callable[[], Awaitable[Any]]


class CancelReason(Enum):
    """Reason for which the server cancelled a call."""

    DEADLINE = "deadline"
    CLIENT_GONE = "client gone"
    REQUEST_CANCELLED = "request cancelled"


class CallTimeout(MCPistError):
    """The deadline of a call has passed."""


class RequestCancelled(Exception):
    """The client has cancelled the request; it gets no answer ([2025-11-25] Cancellation)."""


class SupervisedCall(msgspec.Struct, eq=False):
    """One call under watch, until the block ends that it opens. `ended` tells our cancellation from everybody else's.

    At its end the block raises what the call was cancelled for: :class:`CallTimeout`, :class:`RequestCancelled` or
    ClientDisconnected. A cancellation that nobody requested is the handler's failure, such as awaiting a cancelled
    task: RuntimeError.

    `id` is that of its JSON-RPC request, raw, where the client can cancel it by a notification.
    """

    supervisor: "CallSupervisor"
    task: asyncio.Task[Any]
    started: float
    deadline: float
    receive: Receive | None
    stream: EventStream | None
    authority: Authority
    id: bytes
    watcher: asyncio.Task[None] | None = None
    ended: CancelReason | None = None
    is_cut: bool = False
    digest: str = ""
    """What announcements name it by (gateway.mcp.cancellation), once it was asked for."""

    def cancel(self, reason: CancelReason) -> None:
        """Cancel the call, once. One that its client gives up and that has changed something runs on until its
        deadline: whoever looks into the audit log reads what became of it."""
        if self.is_cut:
            return
        self.ended = self.ended or reason
        if reason is CancelReason.DEADLINE or not self.authority.give_up():
            self.is_cut = True
            self.task.cancel()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.supervisor.leave(self)
        if self.ended is not None and (kind is None or issubclass(kind, Exception | asyncio.CancelledError)):
            self._raise_reason(self.ended)
        if kind is asyncio.CancelledError and not self.task.cancelling():
            raise RuntimeError("the handler was cancelled from within") from None

    def _raise_reason(self, reason: CancelReason) -> NoReturn:
        """Take back the supervisor's own cancellation and raise its reason; another cancellation stays."""
        if self.task.uncancel() if self.is_cut else self.task.cancelling():
            raise asyncio.CancelledError
        raise _ERRORS[reason]


_ERRORS: dict[CancelReason, type[Exception]] = {
    CancelReason.DEADLINE: CallTimeout,
    CancelReason.CLIENT_GONE: ClientDisconnected,
    CancelReason.REQUEST_CANCELLED: RequestCancelled,
}


class CallSupervisor:
    """The running calls of one event loop."""

    def __init__(self, watch_after: float, keep_alive: float) -> None:
        self._watch_after = watch_after
        self._keep_alive = keep_alive
        self._running: dict[SupervisedCall, None] = {}
        self._timer = False
        self._pings: set[asyncio.Task[None]] = set()

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the process, asked for once: until Python 3.12 each question is a system call (getpid)."""
        return asyncio.get_running_loop()

    def watch(
        self, deadline: float, receive: Receive | None, stream: EventStream | None, authority: Authority, id: bytes
    ) -> SupervisedCall:
        """Watch the current task while the block lasts. `deadline` is in the loop's time; without `receive` a departed
        client is not noticed, without `id` the client cannot cancel the request by a notification."""
        loop = self._loop
        task = asyncio.current_task(loop)
        assert task is not None
        call = SupervisedCall(self, task, loop.time(), deadline, receive, stream, authority, id)
        self._running[call] = None
        if not self._timer:
            self._timer = True
            loop.call_later(TICK_SECONDS, self._tick)
        return call

    def leave(self, call: SupervisedCall) -> None:
        """Stop watching the call."""
        del self._running[call]
        if call.watcher is not None:
            call.watcher.cancel()
        call.authority.close()
        if call.stream is not None:
            call.stream.close()

    def list_calls(self) -> list[SupervisedCall]:
        """Return the calls that run."""
        return list(self._running)

    def __len__(self) -> int:
        return len(self._running)

    def _tick(self) -> None:
        loop = self._loop
        now = loop.time()
        for call in self._running:
            if now >= call.deadline:
                call.cancel(CancelReason.DEADLINE)
            elif call.watcher is None and call.receive and now - call.started >= self._watch_after:
                call.watcher = loop.create_task(_wait_for_departure(call, call.receive))
            call.authority.renew_if_due(now)
            if call.stream is not None and now - call.stream.last_sent >= self._keep_alive:
                self._ping(loop, call.stream)
        self._timer = bool(self._running)
        if self._timer:
            loop.call_later(TICK_SECONDS, self._tick)

    def _ping(self, loop: asyncio.AbstractEventLoop, stream: EventStream) -> None:
        task = loop.create_task(stream.ping())
        self._pings.add(task)
        task.add_done_callback(self._pings.discard)


async def _wait_for_departure(call: SupervisedCall, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    call.cancel(CancelReason.CLIENT_GONE)
