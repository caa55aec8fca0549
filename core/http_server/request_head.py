"""Conversion of a parsed request head into an ASGI scope, and the framing of the body (RFC 9112)."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

RawHeaders = list[tuple[bytes, bytes]]
_ASGI = {"version": "3.0", "spec_version": "2.3"}


class BadRequest(Exception):
    """The request cannot be served; the connection ends after `status` and `text`."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class BodyFraming:
    """Framing of a request body: `length` bytes, or chunked."""

    length: int
    chunked: bool


def read_framing(headers: RawHeaders, version: str, *, upgrades: bool) -> BodyFraming:
    """Read the length of the body (RFC 9112 §6.3); llhttp has refused what contradicts itself.

    Raises:
        BadRequest: a transfer coding other than chunked, or one that this request may not use.
    """
    fields = dict(headers)
    coding = fields.get(b"transfer-encoding")
    if coding is None:
        return BodyFraming(int(fields.get(b"content-length", 0)), chunked=False)
    if version != "1.1":
        raise BadRequest(400, "HTTP/1.0 has no Transfer-Encoding")
    if coding.strip(b" \t").lower() != b"chunked" or _count_header(headers, b"transfer-encoding") > 1:
        raise BadRequest(501, "Transfer-Encoding may be chunked and nothing else")
    if upgrades:  # llhttp does not read chunks behind an Upgrade
        raise BadRequest(400, "Send a request with Upgrade without a chunked body")
    return BodyFraming(0, chunked=True)


def read_scope(method: str, target: bytes, version: str, headers: RawHeaders) -> dict[str, Any]:
    """Read the ASGI HTTP scope (ASGI 3, HTTP 2.3), without what the connection knows.

    The host of a target in absolute form takes the place of the Host header (RFC 9112 §3.2.2).

    Raises:
        BadRequest: the target is in no form that an origin server is asked in, or there are two Host headers.
    """
    path, query, authority = _split_target(method, target)
    if authority is not None:
        headers = [(name, value) for name, value in headers if name != b"host"]
        headers.insert(0, (b"host", authority))
    elif _count_header(headers, b"host") > 1:  # a proxy may have looked at the other one
        raise BadRequest(400, "Send the host header once")
    text = path.decode("ascii")
    return {
        "type": "http",
        "asgi": _ASGI,
        "http_version": version,
        "method": method,
        "scheme": "http",
        "root_path": "",
        "path": unquote(text) if "%" in text else text,
        "raw_path": path,
        "query_string": query,
        "headers": headers,
    }


def _count_header(headers: RawHeaders, header: bytes) -> int:
    return sum(name == header for name, _ in headers)


def _split_target(method: str, target: bytes) -> tuple[bytes, bytes, bytes | None]:
    """Path, query, and the authority of an absolute form."""
    if method == "CONNECT":
        raise BadRequest(400, "This server is no proxy")
    if not target.isascii() or b"#" in target:
        raise BadRequest(400, "The request target is not valid")
    authority = None
    if target[:1] != b"/":
        scheme, mark, remainder = target.partition(b"://")
        if not mark or scheme.lower() not in (b"http", b"https"):
            raise BadRequest(400, "The request target has to begin with /")
        end = min((at for at in (remainder.find(b"/"), remainder.find(b"?")) if at >= 0), default=len(remainder))
        authority, target = (
            remainder[:end],
            remainder[end:] if remainder[end : end + 1] == b"/" else b"/" + remainder[end:],
        )
        if not authority or b"@" in authority:
            raise BadRequest(400, "The request target names no host")
    path, _, query = target.partition(b"?")
    return path, query, authority
