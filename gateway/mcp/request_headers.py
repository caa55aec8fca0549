"""Request headers: folded once, read many times; rules of those that mirror the body and of those that proxies set."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any

from core.http.trusted_proxies import TrustedProxies

VERSION_HEADER = b"mcp-protocol-version"
METHOD_HEADER = b"mcp-method"
NAME_HEADER = b"mcp-name"
SESSION_HEADER = b"mcp-session-id"

# A proxy and we could read different copies of these, so a second copy is an error (RFC 9110 §5.3).
_SINGLE = frozenset(
    {
        b"host",
        b"origin",
        b"authorization",
        b"content-type",
        b"content-length",
        b"content-encoding",
        VERSION_HEADER,
        METHOD_HEADER,
        NAME_HEADER,
    }
)
_MIRRORS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_ENCODED = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


class RequestHeaders:
    """The headers of one request by lower-case name; `repeated` names those that came twice and must not."""

    __slots__ = ("_texts", "repeated", "values")

    def __init__(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        self.values = dict(raw)
        self._texts: dict[bytes, str | None] = {}
        self.repeated: frozenset[bytes] = frozenset()
        if len(self.values) != len(raw):
            self._fold(raw)

    def _fold(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        self.values.clear()
        repeated: set[bytes] = set()
        for name, value in raw:
            if name not in self.values:
                self.values[name] = value
            elif name in _SINGLE:
                repeated.add(name)
            else:
                self.values[name] += b", " + value
        self.repeated = frozenset(repeated)

    def get_text(self, name: bytes) -> str | None:
        """Return the value as :func:`decode_value` reads it, or None."""
        if name not in self._texts:
            self._texts[name] = decode_value(self.values.get(name))
        return self._texts[name]

    def without(self, *names: bytes) -> "RequestHeaders":
        """Return the headers but for `names`."""
        return RequestHeaders([(name, value) for name, value in self.values.items() if name not in names])


class ForwardedHeaders:
    """The proxies whose `X-Forwarded-*` headers are believed.

    Raises:
        ValueError: an entry is neither an address nor a network.
    """

    def __init__(self, trusted: tuple[str, ...]) -> None:
        self._trusted_proxies = TrustedProxies(trusted)

    def get_client_address(self, scope: dict[str, Any], headers: RequestHeaders) -> str:
        """Return the caller's address: the last one that no trusted proxy vouches for. Empty on a Unix socket."""
        peer = scope.get("client")
        return self._trusted_proxies.client(peer[0] if peer else "", headers.get_text(b"x-forwarded-for"))

    def get_host(self, scope: dict[str, Any], headers: RequestHeaders) -> str | None:
        """Return the host that the client asked for."""
        peer = scope.get("client")
        if self._trusted_proxies.trusts(peer[0] if peer else ""):
            forwarded = headers.get_text(b"x-forwarded-host")
            if forwarded is not None:
                return forwarded
        return headers.get_text(b"host")


def decode_value(value: bytes | None) -> str | None:
    """Decode a header's value without the blanks around it (httptools leaves trailing ones); None stays None."""
    return None if value is None else value.strip(b" \t").decode("latin-1")


def find_mirror_fault(headers: RequestHeaders, version: object, method: str, params: dict[str, object]) -> str | None:
    """Return the header of a modern request that contradicts its body ([2026-07-28] Streamable HTTP), or None."""
    if headers.repeated:
        return f"send each of these headers once: {', '.join(sorted(name.decode() for name in headers.repeated))}"
    if headers.get_text(VERSION_HEADER) != version:
        return "the MCP-Protocol-Version header must equal the protocol version in params._meta"
    if headers.get_text(METHOD_HEADER) != method:
        return "the Mcp-Method header must equal the method in the body"
    key = _MIRRORS.get(method)
    if (
        key is not None
        and (value := params.get(key)) is not None
        and decode_mirrored_value(headers.get_text(NAME_HEADER)) != value
    ):
        return f"the Mcp-Name header must equal params.{key} in the body"
    return None


def decode_mirrored_value(value: str | None) -> str | None:
    """Decode a header value, freed of its ``=?base64?…?=`` wrapping; None where that is malformed or not canonical."""
    if value is None or (match := _ENCODED.fullmatch(value)) is None:
        return value
    try:
        decoded = base64.b64decode(match[1], validate=True)
        return decoded.decode() if base64.b64encode(decoded).decode() == match[1] else None
    except (binascii.Error, ValueError):
        return None


def choose_traceparent(*candidates: object) -> str:
    """Choose the first candidate that is a valid W3C traceparent, or an empty string."""
    for value in candidates:
        if isinstance(value, str) and _TRACEPARENT.fullmatch(value):
            return value
    return ""
