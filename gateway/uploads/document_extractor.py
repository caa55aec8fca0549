"""Extracting the text of uploaded files, each in a process of its own (`extraction_program.py`)."""

import asyncio
import contextlib
import logging
import re
import sys
import time
from dataclasses import dataclass

import msgspec

from gateway.uploads.formats import DocumentFormat, ExtractedText, UnreadableDocument, UnreadableReason

MAX_TEXT_CHARS = 1_000_000
MAX_ANSWER_BYTES = 6 * MAX_TEXT_CHARS + 16_384
"""No character takes more in JSON."""
_CHUNK = 256 * 1024
_PROGRAM = "gateway.uploads.extraction_program"
_REASONS = frozenset(UnreadableReason)
_CHARSET = re.compile(r"[A-Za-z0-9_.:-]{1,40}")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExtractionLimits:
    """What reading one file may take; `at_once` files are read at the same time, and others wait."""

    characters: int = MAX_TEXT_CHARS
    cpu_seconds: int = 20
    memory_bytes: int = 512 * 1024 * 1024
    seconds: float = 30.0
    at_once: int = 2


class _Answer(msgspec.Struct):
    """What the program says."""

    title: str = ""
    text: str = ""
    reason: str = ""


class DocumentExtractor:
    """Extracts texts, without holding the event loop and never more of them at once than its limits say."""

    def __init__(self, limits: ExtractionLimits | None = None) -> None:
        self._limits = limits or ExtractionLimits()
        self._places = asyncio.Semaphore(self._limits.at_once)

    async def extract(self, content: memoryview, format: DocumentFormat, charset: str) -> ExtractedText:
        """Extract the text of a file; `charset` is its encoding as its sender says, empty where they do not.

        Raises:
            UnreadableDocument: no text comes of it.
        """
        async with self._places:
            started = time.perf_counter()
            reason = ""
            try:
                return await self._run(content, format, charset)
            except UnreadableDocument as error:
                reason = error.reason.value
                raise
            finally:
                fields = {
                    "format": format.value,
                    "bytes": len(content),
                    "milliseconds": round((time.perf_counter() - started) * 1000),
                    "reason": reason,
                }
                _log.info("a file was read", extra={"event": "document_extracted", **fields})

    async def _run(self, content: memoryview, format: DocumentFormat, charset: str) -> ExtractedText:
        process = await self._spawn(format, charset)
        try:
            async with asyncio.timeout(self._limits.seconds):
                output = await _exchange(process, content)
                status = await process.wait()
        except TimeoutError:
            raise UnreadableDocument(UnreadableReason.TOO_COMPLEX) from None
        finally:
            await _end(process)
        return _read_answer(output, status)

    async def _spawn(self, format: DocumentFormat, charset: str) -> asyncio.subprocess.Process:
        limits = self._limits
        encoding = charset if _CHARSET.fullmatch(charset) else ""
        numbers = (limits.characters, limits.cpu_seconds, limits.memory_bytes)
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", _PROGRAM, format.value, encoding, *map(str, numbers)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )


async def _exchange(process: asyncio.subprocess.Process, content: memoryview) -> bytes:
    """Send a file and read the answer; no more of it than an answer has."""
    writing = asyncio.ensure_future(_write(process, content))
    try:
        assert process.stdout is not None
        answer = bytearray()
        while chunk := await process.stdout.read(_CHUNK):
            answer += chunk
            if len(answer) > MAX_ANSWER_BYTES:
                raise UnreadableDocument(UnreadableReason.TOO_LONG)
        return bytes(answer)
    finally:
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing


async def _write(process: asyncio.subprocess.Process, content: memoryview) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has ended before its end
        for start in range(0, len(content), _CHUNK):
            process.stdin.write(content[start : start + _CHUNK])
            await process.stdin.drain()
        process.stdin.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let no process outlive its file."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    if process.stdin is not None:
        process.stdin.close()
    if process.stdout is not None:
        await process.stdout.read()  # asyncio closes a pipe only at its end
    await process.wait()


def _read_answer(output: bytes, status: int) -> ExtractedText:
    """Read the answer. A process that was ended, as by its limits, has none."""
    try:
        answer = msgspec.json.decode(output, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        answer = _Answer()
    if status != 0 or not (answer.text or answer.reason in _REASONS):
        raise UnreadableDocument(UnreadableReason.TOO_COMPLEX)
    if answer.reason:
        raise UnreadableDocument(UnreadableReason(answer.reason))
    return ExtractedText(answer.title, answer.text)
