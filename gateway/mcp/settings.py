"""The limits and names that the transport works with."""

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024
# The MCP Inspector and other developer tools run in the browser on a port of this machine.
LOOPBACK_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*")


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Times are in seconds, sizes in bytes.

    `public_url` is the address that clients use; `trusted_proxies` are addresses or networks whose `X-Forwarded-*`
    headers are believed; an entry of `allowed_origins` may end in ``:*`` for any port. `list_ttl_ms` is how long a
    modern client may keep a list (milliseconds). `resource_metadata` is the URL of this resource's metadata (RFC 9728),
    named in every challenge.
    """

    public_url: str
    trusted_proxies: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = LOOPBACK_ORIGINS
    max_body: int = 4 * MEBIBYTE
    max_depth: int = 64
    max_batch: int = 50
    max_result: int = MEBIBYTE
    call_timeout: float = 60.0
    body_timeout: float = 30.0
    disconnect_watch_after: float = 0.1
    keep_alive: float = 15.0
    list_ttl_ms: int = 5_000
    resource_metadata: str = ""
