"""The rungs of the ladder that look at HTTP only. Each passes or raises the refusal that the client gets."""

from functools import lru_cache
from typing import Any, NamedTuple

from core.http.allowed_hosts import AllowedHosts
from gateway.mcp.errors import HttpRefusal
from gateway.mcp.request_headers import RequestHeaders

ALLOW_HEADER = (b"allow", b"POST, OPTIONS")


class AcceptedTypes(NamedTuple):
    """Media types that a client can read."""

    json: bool
    events: bool


ANYTHING = AcceptedTypes(json=True, events=False)


def check_host(hosts: AllowedHosts, scope: dict[str, Any], host: str | None) -> None:
    """Raises: Refusal: 421."""
    server = scope.get("server")
    if host is None or not hosts.allows(host, server[1] if server else None):
        raise HttpRefusal(
            421, "This server does not answer for that host; call it by its public URL (MCPIST_PUBLIC_URL)"
        )


def check_single(headers: RequestHeaders) -> None:
    """Raises: Refusal: 400 for a second copy of a header that the checks before the body rely on."""
    for name in (b"host", b"origin", b"authorization", b"content-type", b"content-length"):
        if name in headers.repeated:
            raise HttpRefusal(400, f"Send the {name.decode()} header once")


def check_content(headers: RequestHeaders) -> None:
    """Raises: Refusal: 415."""
    value = headers.values.get(b"content-type")
    if value != b"application/json" and not _is_json(value):
        raise HttpRefusal(415, "Send the request as Content-Type: application/json", as_rpc=True)
    if headers.values.get(b"content-encoding", b"identity").strip() != b"identity":
        raise HttpRefusal(415, "Send the request without Content-Encoding", as_rpc=True)


def check_accept(headers: RequestHeaders) -> AcceptedTypes:
    """Return the media types that the client reads; without an Accept header, any (RFC 9110 §12.5.1).

    Raises: Refusal: 406.
    """
    value = headers.values.get(b"accept")
    if value is None:
        return ANYTHING
    accepts = _accepts(value) if len(value) < 512 else parse_accept(value)
    if not (accepts.json or accepts.events):
        raise HttpRefusal(406, "Accept application/json, text/event-stream, or both", as_rpc=True)
    return accepts


def parse_accept(value: bytes) -> AcceptedTypes:
    """Parse an Accept header. A wildcard accepts JSON; events have to be named."""
    json = events = False
    for part in value.lower().split(b","):
        kind, *parameters = (item.strip() for item in part.split(b";"))
        if any(parameter.replace(b" ", b"") in (b"q=0", b"q=0.0", b"q=0.00", b"q=0.000") for parameter in parameters):
            continue
        json = json or kind in (b"application/json", b"application/*", b"*/*")
        events = events or kind in (b"text/event-stream", b"text/*")
    return AcceptedTypes(json, events)


_accepts = lru_cache(maxsize=256)(parse_accept)


def _is_json(value: bytes | None) -> bool:
    return value is not None and value.partition(b";")[0].strip().lower() == b"application/json"
