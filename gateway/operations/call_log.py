"""One line for each run of a tool (requirements K-049, K-050, A-60), at a twentieth of what stdlib logging takes.

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
from typing import Any, Literal

import orjson

Clock = Callable[[], float]

FLUSH_AFTER = 0.05
CLOSE_WITHIN = 1.0
MOST_BYTES = 8 * 1024 * 1024
_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE


class CallLog:
    """Used from the event loop's thread; :meth:`close` from any."""

    def __init__(
        self,
        write: Callable[[bytes], Any],
        *,
        clock: Clock,
        form: Literal["json", "text"] = "json",
        flush_after: float = FLUSH_AFTER,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`write` takes a block of lines and may wait; `clock` gives Unix seconds; `flush_after` is in seconds.

        More than `most_bytes` that nobody takes are dropped, and counted in `dropped`.
        """
        self.dropped = 0
        self._write = write
        self._clock = clock
        self._json = form == "json"
        self._flush_after = flush_after
        self._most_bytes = most_bytes
        self._lines: list[bytes] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._writer: threading.Thread | None = None
        self._pid = os.getpid()
        atexit.register(self.close)

    def tool_run(self, request_id: str, tool_name: str, parameters: str, seconds: float, error: str | None) -> None:
        """Add one line. `parameters` is the digest of the arguments, `error` the kind of failure or None."""
        if self._size > self._most_bytes:
            self.dropped += 1
            return
        line = {
            "timestamp": datetime.fromtimestamp(self._clock(), UTC),
            "operation": "tool_run",
            "request_id": request_id,
            "tool_name": tool_name,
            "parameters": parameters,
            "response_time_ms": int(seconds * 1e6) / 1000,
            "success": error is None,
            "error": error,
            "pid": self._pid,
        }
        text = orjson.dumps(line, option=_OPTIONS) if self._json else _text(line)
        self._lines.append(text)
        self._size += len(text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._flush_after, self._flush)

    def close(self) -> None:
        """Write what is left; a reader that takes nothing is waited for a second."""
        atexit.unregister(self.close)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for _ in range(2):  # what is being written, then the rest
            if self._writer is not None:
                self._writer.join(CLOSE_WITHIN)
                if self._writer.is_alive():
                    return
            self._start_writing()

    def _flush(self) -> None:
        self._timer = None
        if self._writer is not None and self._writer.is_alive():
            # The reader is slow; lines wait in the buffer, which is bounded, and not in threads.
            self._timer = asyncio.get_running_loop().call_later(self._flush_after, self._flush)
        else:
            self._start_writing()

    def _start_writing(self) -> None:
        """In a daemon thread: one of an executor would keep the process from ending while nobody reads."""
        block = b"".join(self._lines)
        self._lines.clear()
        self._size = 0
        self._writer = threading.Thread(target=self._write_out, args=(block,), name="call log", daemon=True)
        self._writer.start()

    def _write_out(self, block: bytes) -> None:
        try:
            self._write(block)
        except OSError:
            self.dropped += block.count(b"\n")


def write_to(descriptor: int) -> Callable[[bytes], None]:
    """A `write` for :class:`CallLog`: to a file descriptor, such as standard error's.

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
            select.select([], [descriptor], [], CLOSE_WITHIN)


def _text(line: dict[str, Any]) -> bytes:
    time = line["timestamp"].astimezone().strftime("%H:%M:%S")
    told = "ok" if line["success"] else line["error"]
    return f"{time} CALL    {line['tool_name']} {told} {line['response_time_ms']} ms {line['request_id']}\n".encode()
