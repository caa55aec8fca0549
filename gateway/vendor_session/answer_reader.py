"""Read a vendor's answer, however large or malicious, into bounded memory."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import httptools

from modules.kit import VendorAnswer
from modules.kit.vendor import VendorProblemKind

MAX_HEAD_BYTES = 64 * 1024
"""Bytes of an answer's head, those of interim ones with it."""
MAX_BODY_BYTES = 10 * 2**20
MAX_UNPACKED_BYTES = 8 * 2**20
MAX_COMPRESSION_RATIO = 100
RATIO_EXEMPT_BYTES = 2**20
"""Bytes: what unpacks to less harms nobody, and a short list of equal rows packs well."""
MAX_GZIP_MEMBERS = 100
SAFE_METHODS = frozenset({"GET", "HEAD"})
MAX_INTERIM_ANSWERS = 10
"""Interim answers (1xx, RFC 9110 §15.2) before the real one."""

_GZIP = 16 + zlib.MAX_WBITS
_WITHOUT_BODY = frozenset({204, 304})
_FRAMING = (b"content-encoding", b"transfer-encoding", b"content-length")
_get_name, _get_value = itemgetter(0), itemgetter(1)


@dataclass(frozen=True, slots=True)
class ExchangeFailure:
    """Raised where there is no answer; `retry` tells the caller when to try again. `unsent`: the vendor cannot have
    seen the request; `passing`: a later attempt may succeed."""

    kind: VendorProblemKind
    text: str
    retry: str = ""
    unsent: bool = False
    transient: bool = False
    retry_after: float | None = None


class AnswerTooLarge(Exception):
    """The answer is larger than the limits above."""


class UnreadableAnswer(Exception):
    """The answer is not HTTP, or its body is not what its Content-Encoding says."""


class ConnectionDropped(Exception):
    """The connection ended after it was made and before the answer began."""


class ConnectionBroken(Exception):
    """The connection ended in the middle of the answer."""


class AnswerHeaders(Mapping[str, str]):
    """Header fields of an answer by their names in lower case, without cookies. They are decoded when somebody reads
    them: a vendor sends 25 and a tool needs one."""

    __slots__ = ("_decoded", "fields")

    def __init__(self, fields: Sequence[tuple[bytes, bytes]]) -> None:
        self._decoded: dict[str, str] | None = None
        # Without a loop in Python, as a vendor sends 25.
        self.fields = dict(zip(map(bytes.lower, map(_get_name, fields)), map(_get_value, fields), strict=True))
        if len(self.fields) != len(fields):
            self.fields = _fold_fields(fields)

    def get_bytes(self, name: bytes) -> bytes | None:
        """Return a value without the blanks around it."""
        value = self.fields.get(name)
        return None if value is None else value.strip(b" \t")

    @property
    def _texts(self) -> dict[str, str]:
        if self._decoded is None:
            self._decoded = {
                name.decode("latin-1"): value.decode("latin-1").strip(" \t")
                for name, value in self.fields.items()
                if name != b"set-cookie"
            }
        return self._decoded

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def _fold_fields(fields: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Join the values of fields that came more than once (RFC 9110 §5.2)."""
    folded: dict[bytes, bytes] = {}
    for name, value in fields:
        before = folded.get(name.lower())
        folded[name.lower()] = value if before is None else b"%b, %b" % (before.strip(b" \t"), value.strip(b" \t"))
    return folded


_NO_HEADERS = AnswerHeaders(())


class AnswerReader:
    """Reads the answer to one request; no socket and no clock. It is the parser's protocol (httptools) as well.

    The body of an error that cannot be read is left empty, for its status counts. `is_complete` ends the reading;
    `may_keep` then says whether the connection can carry another request.
    """

    _has_begun = _in_body = _until_close = _keeps = _has_surplus = False
    _fed_bytes = _interim = _status = _size = 0
    _unpacker: "Decompressor | None" = None
    _fault: Exception | None = None
    _headers = _NO_HEADERS
    _coding = ""
    _max_bytes = MAX_BODY_BYTES
    is_complete = False

    def __init__(self, method: str) -> None:
        self._method = method
        self._parser: Any = httptools.HttpResponseParser(self)
        self._fields: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []

    @property
    def may_keep(self) -> bool:
        """Check whether the connection can carry another request: no unexpected bytes arrived."""
        return self._keeps and not self._has_surplus

    def feed(self, data: bytes) -> None:
        """Read on.

        Raises:
            AnswerTooLarge, Unreadable: as named. The connection cannot be used again.
        """
        if self.is_complete:
            self._has_surplus = True
            return
        self._has_begun = True
        if not self._in_body:
            self._fed_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # 101: no other protocol was requested
            raise UnreadableAnswer from None
        except httptools.HttpParserError:
            self._fail(UnreadableAnswer())
        if self._fault is not None:
            raise self._fault
        if not self._in_body and self._fed_bytes > MAX_HEAD_BYTES:  # what the parser still holds counts as well
            raise UnreadableAnswer

    def end(self) -> VendorAnswer:
        """Handle the end of the connection; return the answer if the close marks its end (RFC 9112 §6.3).

        Raises:
            Dropped: before it began.
            Broken: before it was whole.
            Unreadable: its body is not what its Content-Encoding says.
        """
        if not self._has_begun:
            raise ConnectionDropped
        if not self._until_close:
            raise ConnectionBroken
        if self._coding and self._unpacker is None:  # of nothing, not even an empty text is left
            raise UnreadableAnswer
        self._complete()
        if self._fault is not None:
            raise self._fault
        return self.answer()

    def answer(self) -> VendorAnswer:
        """The complete answer."""
        body = self._unpacker.output if self._unpacker is not None else b"".join(self._parts)
        return VendorAnswer(self._status, self._headers, body, self._method not in SAFE_METHODS)

    def release(self) -> None:
        """Let go of the body, of the parser, which refers to this, and of the fault, whose traceback does: megabytes
        would stay until the garbage collector comes, which counts objects. Nothing is read after this."""
        self._parser = self._unpacker = self._fault = None
        self._parts = []

    def _fail(self, fault: Exception) -> None:
        """Answer an error status with an empty body; raise the fault for everything else."""
        if self.is_complete:  # what follows a whole answer does not matter
            self._has_surplus = True
        elif self._in_body and self._status >= 400:
            self._parts, self._unpacker, self._keeps, self.is_complete = [], None, False, True
        else:
            self._fault = self._fault or fault

    # The parser's side (httptools).

    def on_message_begin(self) -> None:
        if self.is_complete:
            self._has_surplus = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # else a trailer, or a second answer
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self.is_complete:
            return
        self._status = self._parser.get_status_code()
        if self._status < 200:
            return
        self._in_body = True
        self._keeps = self._parser.should_keep_alive()
        self._headers = headers = AnswerHeaders(self._fields)
        packing, coding, length = map(headers.fields.get, _FRAMING)
        if packing is not None and (packing := packing.strip(b" \t").lower()) != b"identity":
            self._coding = packing.decode("latin-1")
        if self._fed_bytes > MAX_HEAD_BYTES and sum(map(len, chain.from_iterable(self._fields))) > MAX_HEAD_BYTES:
            self._fault = UnreadableAnswer()
        elif self._method == "HEAD" or self._status in _WITHOUT_BODY:
            self._complete()
        elif coding is not None:
            if coding.strip(b" \t").lower() != b"chunked":
                self._fail(UnreadableAnswer())
        elif length is not None:
            if int(length) > self._max_bytes:
                self._fail(AnswerTooLarge())
        else:
            self._until_close = True

    def on_body(self, data: bytes) -> None:
        if self.is_complete:
            self._has_surplus = True
            return
        if self._fault is not None:
            return
        self._size += len(data)
        if self._size > MAX_BODY_BYTES:
            self._fail(AnswerTooLarge())
        elif self._coding:
            self._unpack_body(data)
        else:
            self._parts.append(data)

    def _unpack_body(self, data: bytes) -> None:
        try:
            if self._unpacker is None:
                self._unpacker = Decompressor(choose_window(self._coding, data))
            self._unpacker.feed(data)
        except (AnswerTooLarge, UnreadableAnswer) as fault:
            self._fail(fault.with_traceback(None))  # its frames hold what was unpacked

    def on_message_complete(self) -> None:
        if self.is_complete:
            return
        if self._status < 200:
            self._interim += 1
            self._fields.clear()
            if self._interim >= MAX_INTERIM_ANSWERS:
                self._fault = UnreadableAnswer()
            return
        self._complete()

    def _complete(self) -> None:
        if self.is_complete:
            return
        if self._unpacker is not None and not self._unpacker.is_whole:
            self._fail(UnreadableAnswer())
            return
        self.is_complete = self._fault is None


def choose_window(coding: str, first: bytes) -> int:
    """Choose zlib's window for a Content-Encoding; `first` are the first bytes of the body.

    Raises:
        UnreadableAnswer: the encoding is another one.
    """
    if coding in ("gzip", "x-gzip"):
        return _GZIP
    if coding == "deflate":
        # zlib's format by the standard (RFC 9110 §8.4.1.2), bare deflate from some servers
        return zlib.MAX_WBITS if first[0] & 0x0F == 8 else -zlib.MAX_WBITS
    raise UnreadableAnswer


class Decompressor:
    """zlib with a limit on what comes out, in bytes and in proportion to what went in."""

    def __init__(self, window: int, max_bytes: int = MAX_UNPACKED_BYTES) -> None:
        self._window = window
        self._max_bytes = max_bytes
        self._inflate: Any = zlib.decompressobj(window)
        self._members = 1
        self._parts: list[bytes] = []
        self._bytes_in = self._bytes_out = 0

    @property
    def is_whole(self) -> bool:
        """True once the end was read."""
        return self._inflate.eof

    @property
    def output(self) -> bytes:
        """All bytes that were decompressed."""
        return b"".join(self._parts)

    def take_output(self) -> bytes:
        """Take what was decompressed since the last time."""
        output, self._parts = b"".join(self._parts), []
        return output

    def feed(self, data: bytes) -> None:
        self._bytes_in += len(data)
        limit = min(self._max_bytes, max(RATIO_EXEMPT_BYTES, self._bytes_in * MAX_COMPRESSION_RATIO))
        while data:
            if self._inflate.eof:
                self._next_member()
            try:
                part = self._inflate.decompress(data, limit - self._bytes_out + 1)
            except zlib.error:
                raise UnreadableAnswer from None
            self._parts.append(part)
            self._bytes_out += len(part)
            if self._bytes_out > limit:
                raise AnswerTooLarge
            data = self._inflate.unused_data

    def _next_member(self) -> None:
        """Start the next member of a gzip file (RFC 1952 §2.2); nothing may follow the other format."""
        self._members += 1
        if self._window != _GZIP or self._members > MAX_GZIP_MEMBERS:
            raise UnreadableAnswer
        self._inflate = zlib.decompressobj(self._window)
