"""One line for each run of a tool (requirements K-049, K-050, A-60), at a tenth of what stdlib logging takes.

Lines are collected and written together by a thread, so neither the cost nor a full pipe is on the path of a call.
They are for watching; what has to survive a kill is in the audit log.
"""

import asyncio
import atexit
import os
import queue
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
        keep: Callable[[bytes], Any] | None = None,
        flush_after: float = FLUSH_SECONDS,
        max_lines: int = MAX_LINES,
    ) -> None:
        """`write` takes a block of lines and may wait, and so may `keep`, which gets them as JSON in any case; `clock`
        gives Unix seconds; `flush_after` is in seconds.

        Beyond `max_lines` waiting lines, lines are dropped and counted in `dropped`.
        """
        self.dropped = 0
        self._write = write
        self._clock = clock
        self._json = form == "json"
        self._keep = keep
        self._flush_after = flush_after
        self._max_lines = max_lines
        self._lines: list[_Run] = []
        self._timer: asyncio.TimerHandle | None = None
        self._blocks = queue.SimpleQueue[list[_Run]]()
        self._is_idle = threading.Event()
        self._is_idle.set()
        self._has_writer = False
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
        self._lines.append((self._clock(), request_id, tool_name, parameters, seconds, error))
        if self._timer is None:
            self._timer = self._loop.call_later(self._flush_after, self._flush)

    def close(self) -> None:
        """Write what is left; a reader that takes nothing is waited for a second."""
        atexit.unregister(self.close)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for _ in range(2):  # what is being written, then the rest
            if not self._is_idle.wait(CLOSE_TIMEOUT):
                return
            self._start_writing()
        self._is_idle.wait(CLOSE_TIMEOUT)

    def _flush(self) -> None:
        self._timer = None
        if self._is_idle.is_set():
            self._start_writing()
        else:
            # The reader is slow; lines wait in the buffer, which is bounded.
            self._timer = self._loop.call_later(self._flush_after, self._flush)

    def _start_writing(self) -> None:
        """Give the lines to a daemon thread: a thread of an executor would keep the process from ending while the log's
        reader is stuck."""
        if not self._lines:
            return
        runs, self._lines = self._lines, []
        if not self._has_writer:
            try:
                threading.Thread(target=self._write_blocks, name="call log", daemon=True).start()
            except RuntimeError:  # the interpreter ends (Python 3.12 on)
                self._write_out(runs)
                return
            self._has_writer = True
        self._is_idle.clear()
        self._blocks.put(runs)

    def _write_blocks(self) -> None:
        while True:
            self._write_out(self._blocks.get())
            self._is_idle.set()

    def _write_out(self, runs: list["_Run"]) -> None:
        lines = [self._build_line(*run) for run in runs]
        encoded = _encoder.encode_lines(lines) if self._json or self._keep is not None else b""
        if self._keep is not None:
            self._keep(encoded)
        try:
            self._write(encoded if self._json else b"".join(map(_format_text, lines)))
        except OSError:
            self.dropped += len(lines)

    def _build_line(
        self, at: float, request_id: str, tool_name: str, parameters: str, seconds: float, error: str | None
    ) -> CallLogLine:
        milliseconds = int(seconds * 1e6) / 1000
        return CallLogLine(
            datetime.fromtimestamp(at, UTC), "tool_run", request_id, tool_name, parameters, milliseconds,
            error is None, error, self._pid,
        )  # fmt: skip


_Run = tuple[float, str, str, str, float, str | None]
"""The arguments of :meth:`CallLog._build_line`: lines are built where they are written, off the path of a call."""


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
