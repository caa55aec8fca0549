"""Request heads that an application has checked before. A client sends the same head with every request, but for the
length of its body: llhttp, the framing and the application's checks have to look at it once.

Heads are known by their SHA-256. Of a credential's header only the place is kept, never the value.
"""

import hashlib
import re
from typing import Any, NamedTuple

from core.concurrency.lru_cache import LruCache
from core.http_server.request_head import RawHeaders

MAX_KNOWN_HEADS = 1024
MAX_HEAD_BYTES = 4096
MAX_LENGTH_DIGITS = 8
_CONTENT_LENGTH = (b"\r\nContent-Length: ", b"\r\ncontent-length: ")
_PREFIX_BYTES = len(_CONTENT_LENGTH[0])
_SECRETS = (b"authorization", b"proxy-authorization", b"cookie")
_UNUSUAL_LINE = re.compile(rb"\r(?!\n)|(?<!\r)\n|\n[ \t]|\0")
_SCOPE_OF_HEAD = (
    "type", "asgi", "http_version", "method", "scheme", "root_path", "path", "raw_path", "query_string",
)  # fmt: skip


class RawHead(NamedTuple):
    """A head in the bytes that it came in: `text` is without the value of Content-Length, `length`."""

    digest: bytes
    text: bytes
    length: bytes


class RequestHead(NamedTuple):
    """Head of a request. `scope` is ASGI's without the addresses; `keep`: the client allows a persistent connection.

    `raw` is there where the head can be remembered; `findings` are what the application has remembered with it, else
    None.
    """

    scope: dict[str, Any]
    keep: bool
    expects_continue: bool = False
    raw: RawHead | None = None
    findings: Any = None


class _KnownHead(NamedTuple):
    scope: dict[str, Any]
    keep: bool
    length_index: int
    secrets: tuple[tuple[int, int, int], ...]  # index of the header, start and end of its value in the text
    findings: Any


def split_head(data: bytes) -> RawHead | None:
    """Split the head that `data` begins with; None where it is not complete, too long, or without Content-Length."""
    end = data.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
    for prefix in _CONTENT_LENGTH:
        start = data.find(prefix, 0, end) + _PREFIX_BYTES
        if start >= _PREFIX_BYTES:
            length_end = data.find(b"\r\n", start, end + 2)
            length = data[start:length_end]
            if end > 0 and length.isdigit() and len(length) <= MAX_LENGTH_DIGITS:
                text = data[:start] + data[length_end:end]
                return RawHead(hashlib.sha256(text).digest(), text, length)
    return None


class KnownHeads:
    """The heads that one listener knows. Each was sent over a connection of it that was kept."""

    def __init__(self) -> None:
        self._heads = LruCache[bytes, _KnownHead](MAX_KNOWN_HEADS)

    def __len__(self) -> int:
        return len(self._heads)

    def find(self, raw: RawHead) -> RequestHead | None:
        """Return a known head as it would be read."""
        known = self._heads.get(raw.digest)
        if known is None:
            return None
        scope = known.scope.copy()
        scope["headers"] = headers = scope["headers"].copy()
        headers[known.length_index] = (b"content-length", raw.length)
        for index, start, end in known.secrets:
            headers[index] = (headers[index][0], raw.text[start:end])
        return RequestHead(scope, known.keep, findings=known.findings)

    def remember(self, head: RequestHead, findings: Any) -> None:
        """Remember a head with what the application has found. One with a query, with a header that came twice or with
        unusual line ends is not remembered, nor one whose secrets cannot be cut out."""
        raw, scope = head.raw, head.scope
        if raw is None or scope["query_string"] or _UNUSUAL_LINE.search(raw.text):
            return
        headers: RawHeaders = []
        secrets: list[tuple[int, int, int]] = []
        for index, (name, value) in enumerate(scope["headers"]):
            if name in _SECRETS:
                line = re.search(rb"\r\n%b:[ \t]*" % name, raw.text, re.IGNORECASE)
                if line is None or raw.text[line.end() : line.end() + len(value)] != value:
                    return
                secrets.append((index, line.end(), line.end() + len(value)))
                value = b""
            headers.append((name, value))
        names = [name for name, _ in headers]
        if len(set(names)) == len(names):
            template = {**{key: scope[key] for key in _SCOPE_OF_HEAD}, "headers": headers}
            self._heads.put(
                raw.digest, _KnownHead(template, head.keep, names.index(b"content-length"), tuple(secrets), findings)
            )
