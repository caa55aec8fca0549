"""Request heads that an application has checked before. A client sends the same head with every request, but for the
length of its body: llhttp, the framing and the application's checks have to look at it once.

Heads are known by their SHA-256. Of a credential's header only the place is kept, never the value.
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from core.concurrency.lru_cache import LruCache
from core.http_server.request_head import RawHeaders

MAX_KNOWN_HEADS = 1024
MAX_HEAD_BYTES = 4096
MAX_LENGTH_DIGITS = 8
_TITLE_CASE, _LOWER_CASE = b"\r\nContent-Length: ", b"\r\ncontent-length: "
_PREFIX_BYTES = len(_TITLE_CASE)
_NO_SECRETS: Mapping[bytes, slice] = MappingProxyType({})
_SECRETS = (b"authorization", b"proxy-authorization", b"cookie")
_SCOPE_OF_HEAD = (
    "type", "asgi", "http_version", "method", "scheme", "root_path", "path", "raw_path", "query_string",
)  # fmt: skip


class RawHead(msgspec.Struct, frozen=True, gc=False):
    """A head in the bytes that it came in: `text` is without the value of Content-Length, `length`."""

    digest: bytes
    text: bytes
    length: bytes


class RequestHead(msgspec.Struct, frozen=True, eq=False):
    """Head of a request. `scope` is ASGI's without the addresses; `keep`: the client allows a persistent connection;
    `length` is that of the body, None where it comes in chunks.

    `raw` is there where the head can be remembered, or is a known one. `findings` are what the application has
    remembered of a known head; `scope` then has no value for the headers in `secrets`, nor a Content-Length. `secrets`
    are the places of those values in the text of `raw`.
    """

    scope: dict[str, Any]
    keep: bool
    length: int | None
    expects_continue: bool = False
    raw: RawHead | None = None
    findings: Any = None
    secrets: Mapping[bytes, slice] = _NO_SECRETS

    def get_secret(self, name: bytes) -> bytes | None:
        """Return the value of a header that a known head's `scope` is without."""
        place = self.secrets.get(name)
        return None if place is None or self.raw is None else self.raw.text[place]


class _KnownHead(NamedTuple):
    scope: dict[str, Any]
    keep: bool
    secrets: Mapping[bytes, slice]
    findings: Any


def split_head(data: bytes) -> RawHead | None:
    """Split the head that `data` begins with; None where it is not complete, too long, or without Content-Length."""
    end = data.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
    start = data.find(_TITLE_CASE, 0, end)
    if start < 0:
        start = data.find(_LOWER_CASE, 0, end)
    if start < 0 or end < 0:
        return None
    start += _PREFIX_BYTES
    length_end = data.find(b"\r\n", start, end + 2)
    length = data[start:length_end]
    if not length.isdigit() or len(length) > MAX_LENGTH_DIGITS:
        return None
    text = data[:start] + data[length_end:end]
    return RawHead(hashlib.sha256(text).digest(), text, length)


class KnownHeads:
    """The heads that one listener knows."""

    def __init__(self) -> None:
        self._heads = LruCache[bytes, _KnownHead](MAX_KNOWN_HEADS)

    def __len__(self) -> int:
        return len(self._heads)

    def find(self, raw: RawHead) -> RequestHead | None:
        """Return a known head."""
        known = self._heads.get(raw.digest)
        if known is None:
            return None
        scope, keep, secrets, findings = known
        return RequestHead(scope.copy(), keep, int(raw.length), False, raw, findings, secrets)

    def remember(self, head: RequestHead, findings: Any) -> None:
        """Remember a head with what the application has found. One with a query or with a header that came twice is not
        remembered, nor one whose secrets cannot be cut out."""
        raw, scope = head.raw, head.scope
        if raw is None or head.findings is not None or scope["query_string"]:
            return
        headers: RawHeaders = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        secrets: dict[bytes, slice] = {}
        for index, (name, value) in enumerate(headers):
            if name in _SECRETS:
                line = raw.text.lower().find(b"\r\n%b:" % name)
                start = raw.text.find(value, line + len(name) + 3)
                if line < 0 or start < 0 or b"\r\n" in raw.text[line + 2 : start]:
                    return
                secrets[name] = slice(start, start + len(value))
                headers[index] = (name, b"")
        if len(dict(headers)) == len(headers) == len(scope["headers"]) - 1:
            template = {**{key: scope[key] for key in _SCOPE_OF_HEAD}, "headers": headers}
            self._heads.put(raw.digest, _KnownHead(template, head.keep, secrets, findings))
