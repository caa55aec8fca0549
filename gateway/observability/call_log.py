"""One line for each run of a tool (requirements K-049, K-050, A-60), at a tenth of what stdlib logging takes.

Lines are collected and written together by a thread, so neither the cost nor a full pipe is on the path of a call.
They are for watching; what has to survive a kill is in the audit log.
"""

import asyncio
import atexit
import os
import select
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

import msgspec

Clock = Callable[[], float]

FLUSH_SECONDS = 0.05
CLOSE_TIMEOUT = 1.0
MAX_LINES = 20_000

_encoder = msgspec.json.Encoder()


class CallLogLine(msgspec.Struct, frozen=True, gc=False):
    """One run, as it is written; `parameters` is a digest."""

    timestamp: datetime
    operation: str
    request_id: str
    tool_name: str
    parameters: str
    response_time_ms: float
    success: bool
    error: str | None
    pid: int


class CallLog:
    """Used from the event loop's thread; :meth:`close` from any."""

    def __init__(
        self,
        write: Callable[[bytes], Any],
        *,
        clock: Clock,
        form: Literal["json", "text"] = "json",
        flush_after: float = FLUSH_SECONDS,
        max_lines: int = MAX_LINES,
    ) -> None:
        """`write` takes a block of lines and may wait; `clock` gives Unix seconds; `flush_after` is in seconds.

        Beyond `max_lines` waiting lines, lines are dropped and counted in `dropped`.
        """
        self.dropped = 0
        self._write = write
        self._clock = clock
        self._json = form == "json"
        self._flush_after = flush_after
        self._max_lines = max_lines
        self._lines: list[CallLogLine] = []
        self._timer: asyncio.TimerHandle | None = None
        self._writer: threading.Thread | None = None
        self._pid = os.getpid()
        atexit.register(self.close)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the process, asked for once: until Python 3.12 each question is a system call (getpid)."""
        return asyncio.get_running_loop()

    def add_run(self, request_id: str, tool_name: str, parameters: str, seconds: float, error: str | None) -> None:
        """Add one line. `parameters` is the digest of the arguments, `error` the kind of failure or None."""
        if len(self._lines) >= self._max_lines:
            self.dropped += 1
            return
        at = datetime.fromtimestamp(self._clock(), UTC)
        milliseconds = int(seconds * 1e6) / 1000
        self._lines.append(
            CallLogLine(
                at, "tool_run", request_id, tool_name, parameters, milliseconds, error is None, error, self._pid
            )
        )
        if self._timer is None:
            self._timer = self._loop.call_later(self._flush_after, self._flush)

    def close(self) -> None:
        """Write what is left; a reader that takes nothing is waited for a second."""
        atexit.unregister(self.close)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for _ in range(2):  # what is being written, then the rest
            if self._writer is not None:
                self._writer.join(CLOSE_TIMEOUT)
                if self._writer.is_alive():
                    return
            self._start_writing()

    def _flush(self) -> None:
        self._timer = None
        if self._writer is not None and self._writer.is_alive():
            # The reader is slow; lines wait in the buffer, which is bounded, and not in threads.
            self._timer = self._loop.call_later(self._flush_after, self._flush)
        else:
            self._start_writing()

    def _start_writing(self) -> None:
        """Start the writer in a daemon thread: a thread of an executor would keep the process from ending while the
        log's reader is stuck."""
        lines, self._lines = self._lines, []
        self._writer = threading.Thread(target=self._write_out, args=(lines,), name="call log", daemon=True)
        self._writer.start()

    def _write_out(self, lines: list[CallLogLine]) -> None:
        try:
            self._write(_encoder.encode_lines(lines) if self._json else b"".join(map(_format_text, lines)))
        except OSError:
            self.dropped += len(lines)


def create_writer(descriptor: int) -> Callable[[bytes], None]:
    """Create a `write` for :class:`CallLog`: to a file descriptor, such as standard error's.

    It writes whole lines of at most ``PIPE_BUF`` bytes together, which a pipe never mixes with another writer's
    (POSIX write()).
    """

    def write(block: bytes) -> None:
        start = 0
        while start < len(block):
            end = len(block)
            if end - start > select.PIPE_BUF:
                end = block.rfind(b"\n", start, start + select.PIPE_BUF) + 1 or start + select.PIPE_BUF
            _write_all(descriptor, block[start:end])
            start = end

    return write


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except BlockingIOError:  # another program may have made our standard error non-blocking
            select.select([], [descriptor], [], CLOSE_TIMEOUT)


def _format_text(line: CallLogLine) -> bytes:
    time = line.timestamp.astimezone().strftime("%H:%M:%S")
    result = line.error or "ok"
    return f"{time} CALL    {line.tool_name} {result} {line.response_time_ms} ms {line.request_id}\n".encode()
