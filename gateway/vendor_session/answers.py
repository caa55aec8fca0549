"""Read a vendor's answer, however large or malicious, into bounded memory."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import StreamReader
from aiohttp.http import RawResponseMessage

from modules.kit import VendorAnswer
from modules.kit.vendor import Problem

MOST_BYTES = 10 * 2**20
MOST_UNPACKED = 8 * 2**20
MOST_RATIO = 100
NOT_JUDGED = 2**20
"""Bytes: what unpacks to less harms nobody, and a short list of equal rows packs well."""
MOST_MEMBERS = 100
READING = frozenset({"GET", "HEAD"})

_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer, and when to try again (`retry`, for the caller). `unsent`: the vendor cannot have seen
    the request; `passing`: it may work in a moment."""

    kind: Problem
    text: str
    retry: str = ""
    unsent: bool = False
    passing: bool = False
    retry_after: float | None = None


class TooLarge(Exception):
    """The answer is larger than the limits above."""


class Unreadable(Exception):
    """The body is not what its Content-Encoding says."""


async def read_answer(method: str, message: RawResponseMessage, content: StreamReader) -> VendorAnswer:
    """The whole answer, unpacked; the body of an error that cannot be read is left empty, for its status counts.

    Raises:
        TooLarge, Unreadable: as named. The caller closes the connection then.
        aiohttp.ClientError, TimeoutError: the connection broke, or the time is up.
    """
    headers = _headers(message)
    try:
        if content.is_eof() and "content-encoding" not in headers:  # it came with its head, so it is small
            body = content.read_nowait()
        else:
            body = await _body(method, headers, content)
    except (TooLarge, Unreadable):
        if message.code < 400:
            raise
        body = b""
    return VendorAnswer(message.code, headers, body, write=method not in READING)


def _headers(message: RawResponseMessage) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in message.headers.items():
        name = name.lower()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    headers.pop("set-cookie", None)
    return headers


async def _body(method: str, headers: Mapping[str, str], content: StreamReader) -> bytes:
    coding = headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        return await _unpacked(content, coding)
    if int(headers.get("content-length", 0)) > MOST_BYTES and method != "HEAD":
        raise TooLarge
    return await _plain(content)


async def _plain(content: StreamReader) -> bytes:
    first = await content.readany()
    if content.at_eof():
        return first
    parts, size = [first], len(first)
    while part := await content.readany():
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise TooLarge
    return b"".join(parts)


async def _unpacked(content: StreamReader, coding: str) -> bytes:
    first = await content.readany()
    if not first:
        return b""
    unpacker = _Unpacker(_window(coding, first))
    unpacker.feed(first)
    while part := await content.readany():
        unpacker.feed(part)
    return unpacker.finish()


def _window(coding: str, first: bytes) -> int:
    if coding in ("gzip", "x-gzip"):
        return _GZIP
    if coding == "deflate":
        # zlib's format by the standard (RFC 9110 §8.4.1.2), bare deflate from some servers
        return zlib.MAX_WBITS if first[0] & 0x0F == 8 else -zlib.MAX_WBITS
    raise Unreadable


class _Unpacker:
    """zlib with a limit on what comes out, in bytes and in proportion to what went in."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._inflate = zlib.decompressobj(window)
        self._members = 1
        self._parts: list[bytes] = []
        self._in = self._out = 0

    def feed(self, data: bytes) -> None:
        self._in += len(data)
        most = min(MOST_UNPACKED, max(NOT_JUDGED, self._in * MOST_RATIO))
        while data:
            if self._inflate.eof:
                self._next_member()
            try:
                part = self._inflate.decompress(data, most - self._out + 1)
            except zlib.error:
                raise Unreadable from None
            self._parts.append(part)
            self._out += len(part)
            if self._out > most:
                raise TooLarge
            data = self._inflate.unused_data

    def _next_member(self) -> None:
        """A gzip file may be several in a row (RFC 1952 §2.2); nothing follows the other format."""
        self._members += 1
        if self._window != _GZIP or self._members > MOST_MEMBERS:
            raise Unreadable
        self._inflate = zlib.decompressobj(self._window)

    def finish(self) -> bytes:
        if not self._inflate.eof:
            raise Unreadable
        return b"".join(self._parts)
