"""One connection to a vendor: a request out, its answer in, and nothing unrequested."""

import asyncio
from typing import Any, NamedTuple, Protocol, cast

from core.concurrency.restartable_timer import RestartableTimer
from gateway.vendor_session.answer_reader import AnswerReader
from modules.kit import VendorAnswer


class ConnectionOwner(NamedTuple):
    """Owner of a connection: connections are never shared between owners."""

    tenant: str
    credential: str


class ConnectionRoute(NamedTuple):
    """Destination of a connection."""

    host: str
    port: int
    secure: bool


class ConnectionHolder(Protocol):
    """Interface of the pool that keeps the connection."""

    def forget(self, connection: "VendorConnection") -> None: ...


class VendorConnection(asyncio.Protocol):
    """One connection; it carries one request at a time."""

    def __init__(
        self, pool: ConnectionHolder, key: tuple[ConnectionRoute, ConnectionOwner], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._loop = loop
        self._pool = pool
        self.key = key
        self.rests_since = 0.0
        self._transport: asyncio.Transport = cast("Any", None)
        self._reader: AnswerReader | None = None
        self._answer: asyncio.Future[VendorAnswer] | None = None
        self._timer = RestartableTimer(loop, self._time_out)
        self.is_usable = True

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._reader is None:  # nobody asked
            self.abort()
            return
        reader, answer = self._reader, self._answer
        try:
            reader.feed(data)
        except Exception as error:  # noqa: BLE001 the waiter for the answer gets it
            self._end(error)
            return
        if reader.is_complete and answer is not None and not answer.done():
            answer.set_result(reader.answer())

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_usable = False
        self._timer.close()
        self._pool.forget(self)
        if self._answer is None or self._answer.done() or self._reader is None:
            return
        try:
            self._answer.set_result(self._reader.end())
        except Exception as error:  # noqa: BLE001 as above
            self._answer.set_exception(error)

    def send(self, reader: AnswerReader, request: bytes, seconds: float) -> "asyncio.Future[VendorAnswer]":
        """Send one request; give its answer to come, read by `reader`. :meth:`finish_exchange` follows, whatever
        becomes of it.

        The answer may end in gateway.vendor_session.answer_reader.ConnectionDropped, Broken, Unreadable or
        AnswerTooLarge, and in TimeoutError after `seconds`.
        """
        transport, answer = self._transport, self._loop.create_future()
        self._reader, self._answer = reader, answer
        self._timer.start(seconds)
        if transport.is_closing():
            self.connection_lost(None)
        else:
            transport.write(request)
        return answer

    def finish_exchange(self, now: float) -> bool:
        """End the exchange; return whether the connection can carry another request."""
        self._timer.stop()
        # An error in `_answer` has frames that refer to this connection.
        reader, self._reader, self._answer = self._reader, None, None
        if reader is not None:
            reader.release()
        if reader is None or not reader.is_complete:
            self.abort()
            return False
        # What was answered before it had been read whole is still to be written, and would come before the next.
        transport = self._transport
        unsent = transport.get_write_buffer_size()
        self.is_usable = self.is_usable and reader.may_keep and not unsent and not transport.is_closing()
        self.rests_since = now
        return self.is_usable

    def abort(self) -> None:
        """End it now: closing would wait until the vendor has taken what is still to be written."""
        self.is_usable = False
        self._transport.abort()

    def _time_out(self) -> None:
        self._end(TimeoutError())

    def _end(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        self.abort()
