"""uvicorn's HTTP protocol with limits that it lacks, on the size of a request's head and the time to send one, and
with a shorter way for answers."""

import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway.http_answers import WholeAnswers

MOST_HEAD = 32 * 1024
HEAD_SECONDS = 15.0
BODY_SECONDS = 45.0
"""Longer than whoever reads a body waits for it: what is left then is one that nobody reads, after a refusal, say."""

REFUSED = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain\r\ncontent-length: 29\r\n"
    b"connection: close\r\n\r\nThe request head is too large"
)


class BoundedHttp(HttpToolsProtocol):
    """Closes a connection whose request head is over 32 KiB, or not whole within :data:`HEAD_SECONDS`, or whose body is
    not whole within :data:`BODY_SECONDS` of that, answered or not: each byte that drips in sets uvicorn's own clock for
    idle connections back.

    A keep-alive connection that says nothing is uvicorn's to close; :func:`close_slow` is to be called now and then.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_size = 0
        self._head_since: float | None = time.monotonic()
        self._body_since: float | None = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head_since is None or self.transport.is_closing():
            return
        self._head_size += len(data)
        if self._head_size > MOST_HEAD:
            self.transport.write(REFUSED)
            self.transport.close()

    def on_message_begin(self) -> None:
        self._head_since = time.monotonic()
        self._head_size = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_since = None
        self._body_since = time.monotonic()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._body_since = None
        super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        super()._start_asgi_task(cycle, WholeAnswers(cycle, app))

    def is_slow(self, now: float) -> bool:
        """Whether the head of a request (a connection's first may not even have begun) or the rest of its body has been
        awaited too long."""
        head, body = self._head_since, self._body_since
        return (head is not None and now - head > HEAD_SECONDS) or (body is not None and now - body > BODY_SECONDS)


def close_slow(connections: set[Any], now: float) -> int:
    """Close the slow ones among a server's connections; how many those were. `now` is of the monotonic clock."""
    slow = [one for one in connections if isinstance(one, BoundedHttp) and one.is_slow(now)]
    for connection in slow:
        connection.transport.abort()
    return len(slow)
