"""Read a part of a file, however long the file is."""

import re
import sys

from gateway.vendor_session.answer_reader import (
    MAX_BODY_BYTES,
    MAX_UNPACKED_BYTES,
    AnswerHeaders,
    AnswerReader,
    AnswerTooLarge,
    Decompressor,
    UnreadableAnswer,
    choose_window,
)
from modules.kit import VendorAnswer

MAX_SKIPPED_BYTES = 64 * 2**20
"""Bytes that are read only to be thrown away, at a server that cannot begin in the middle (RFC 9110 §14.2)."""
MAX_SKIPPED_UNPACKED_BYTES = MAX_UNPACKED_BYTES
"""The same of a packed file, which costs processor time too."""
SLICE_BYTES = 4096
"""Packed bytes that are unpacked at once: what comes after the part is not unpacked."""
WHOLE, PART = 200, 206

_CONTENT_RANGE = re.compile(rb"bytes (?:([0-9]{1,18})-[0-9]{1,18}|\*)/([0-9]{1,18}|\*)", re.ASCII | re.IGNORECASE)


def parse_content_range(value: bytes | None) -> tuple[int | None, int | None]:
    """Parse where a part begins and how long the whole is (RFC 9110 §14.4); None for what is not said."""
    match = _CONTENT_RANGE.fullmatch(value or b"")
    if match is None:
        return None, None
    return None if match[1] is None else int(match[1]), None if match[2] == b"*" else int(match[2])


class PartReader(AnswerReader):
    """Reads up to `count` bytes from `offset` on, and then ends the reading. Other answers than a file are read whole.

    The server may send the part that it was asked for or the whole file, packed or not.
    """

    def __init__(self, offset: int, count: int) -> None:
        super().__init__("GET")
        self._offset, self._missing = offset, count
        self._is_file = False
        self._read_bytes = 0
        self._parts_of_file: list[bytes] = []

    def on_headers_complete(self) -> None:
        if self.is_complete:  # a second answer, which nobody asked for
            return
        status = self._parser.get_status_code()
        self._is_file = status in (WHOLE, PART)
        self._max_bytes = sys.maxsize if self._is_file else MAX_BODY_BYTES
        super().on_headers_complete()
        if not self._is_file or self._fault is not None:
            return
        if status == PART:
            begins_at, _ = parse_content_range(self._headers.get_bytes(b"content-range"))
            if begins_at != self._offset or self._coding:  # the middle of something packed cannot be unpacked
                self._fault = UnreadableAnswer()
            self._offset = 0
        elif self._offset > (MAX_SKIPPED_UNPACKED_BYTES if self._coding else MAX_SKIPPED_BYTES):
            self._fault = AnswerTooLarge()

    def on_body(self, data: bytes) -> None:
        if not self._is_file:
            super().on_body(data)
            return
        if self.is_complete or self._fault is not None:
            return
        try:
            if self._coding:
                self._unpack(data)
            else:
                self._keep(data)
        except (AnswerTooLarge, UnreadableAnswer) as fault:
            self._fault = fault.with_traceback(None)

    def answer(self) -> VendorAnswer:
        """The complete answer; of a file, the part."""
        answer = super().answer()
        if not self._is_file:
            return answer
        headers = answer.headers
        if (
            self._missing
            and self._status == WHOLE
            and not self._coding
            and b"content-length" not in self._headers.fields
        ):
            # The file was read to its end, which tells its size where its server does not.
            headers = AnswerHeaders([*self._fields, (b"content-length", str(self._read_bytes).encode())])
        return answer._replace(headers=headers, body=b"".join(self._parts_of_file))

    def release(self) -> None:
        super().release()
        self._parts_of_file = []

    def _unpack(self, data: bytes) -> None:
        if self._unpacker is None:
            self._unpacker = Decompressor(choose_window(self._coding, data), sys.maxsize)
        for start in range(0, len(data), SLICE_BYTES):
            self._unpacker.feed(data[start : start + SLICE_BYTES])
            self._keep(self._unpacker.take_output())
            if self.is_complete:
                return

    def _keep(self, data: bytes) -> None:
        self._read_bytes += len(data)
        skipped = min(self._offset, len(data))
        self._offset -= skipped
        piece = data[skipped : skipped + self._missing]
        self._missing -= len(piece)
        if piece:
            self._parts_of_file.append(piece)
        if not self._missing:
            self._keeps, self.is_complete = False, True  # the rest is not wanted: the connection ends with it
