"""Lines in and out of a process. Both ends may be pipes, sockets, files or terminals, and block as they like."""

import asyncio
import contextlib
import os
import select
import threading
from collections.abc import AsyncIterator

CHUNK_BYTES = 65_536
MAX_LINE_BYTES = 4 * 1024 * 1024
READ_AHEAD_CHUNKS = 16
"""Chunks that are read before anybody wants them."""


class LineTooLong(Exception):
    """A line is longer than ``MAX_LINE_LENGTH``; the rest of it was skipped."""


class LineReader:
    """The lines of a descriptor. A thread reads: files and terminals cannot be waited for in an event loop."""

    def __init__(self, descriptor: int, *, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._descriptor = descriptor
        self._max_bytes = max_bytes
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(READ_AHEAD_CHUNKS)
        self._unread = bytearray()
        self._skipping = False
        self._ended = False
        self._loop = asyncio.get_running_loop()

    def start(self) -> None:
        """Begin to read. The thread ends with the input, or with the process."""
        threading.Thread(target=self._read_chunks, name="standard input", daemon=True).start()

    async def read_line(self) -> bytes | None:
        """Read the next line without its end, None at the end of the input.

        Raises:
            LineTooLong: the line was too long; the next call gives the line after it.
        """
        while True:
            end = self._unread.find(b"\n")
            if end >= 0:
                line = bytes(self._unread[:end])
                del self._unread[: end + 1]
                return self._check_length(line)
            if len(self._unread) > self._max_bytes:
                self._skipping = True
                self._unread.clear()
            if self._ended:
                line = bytes(self._unread)
                self._unread.clear()
                return self._check_length(line) if line or self._skipping else None
            chunk = await self._chunks.get()
            self._room.release()
            self._ended = not chunk
            self._unread += chunk

    def _check_length(self, line: bytes) -> bytes:
        if self._skipping or len(line) > self._max_bytes:
            self._skipping = False
            raise LineTooLong
        return line

    def _read_chunks(self) -> None:
        # os.read and not sys.stdin: a thread that waits inside a buffered file would stop the interpreter from ending.
        with contextlib.suppress(RuntimeError):  # the loop is closed: there is no reader
            while True:
                try:
                    chunk = os.read(self._descriptor, CHUNK_BYTES)
                except OSError:
                    chunk = b""
                self._room.acquire()
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
                if not chunk:
                    return


class LineWriter:
    """Writer of whole lines to a descriptor, one after the other. A slow reader delays writers only."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = asyncio.Lock()

    async def write(self, line: bytes) -> None:
        """Write one message; a line break inside it can only be space between tokens of JSON.

        Raises:
            OSError: the reader has closed its end.
        """
        data = line.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"
        async with self._turn:
            if len(data) <= select.PIPE_BUF and self._is_writable():
                os.write(self._descriptor, data)  # fits into a pipe that is ready: it does not block
            else:
                await asyncio.shield(asyncio.to_thread(self._write_all, data))

    def _is_writable(self) -> bool:
        return bool(select.select([], [self._descriptor], [], 0)[1])

    def _write_all(self, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(self._descriptor, remaining) :]


async def read_lines(lines: LineReader) -> AsyncIterator[bytes | None]:
    """Read every line that is not blank; None stands for one that was too long."""
    while True:
        try:
            line = await lines.read_line()
        except LineTooLong:
            yield None
            continue
        if line is None:
            return
        if line.strip():
            yield line
