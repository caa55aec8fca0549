"""Limits on the memory and time that one peer, and all peers together, can take."""

from dataclasses import dataclass

KIBIBYTE = 1024
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Sizes are in bytes, times in seconds.

    `connections` and `connections_per_address` count open connections; a connection without a running request makes
    room for a new one. An IPv6 address stands for its /64. `head` is for the request line with all header fields;
    `trailer` for what may follow a chunk that carries no data; `unread_body` is how much of a request that was answered
    early is read and thrown away for a kept connection. `slow_reader` is the time in which a client has to take
    `slow_reader_bytes` of an answer that waits for it. `lingering` is how long a closing connection is still read, so
    that the answer is not lost in a reset (RFC 9112 §9.6).
    """

    connections: int = 4_096
    connections_per_address: int = 256
    head: int = 32 * KIBIBYTE
    trailer: int = 32 * KIBIBYTE
    buffered_body: int = 64 * KIBIBYTE
    unread_body: int = MEBIBYTE
    head_seconds: float = 15.0
    body_seconds: float = 45.0
    idle_seconds: float = 75.0
    slow_reader_seconds: float = 30.0
    slow_reader_bytes: int = 32 * KIBIBYTE
    lingering_seconds: float = 10.0
    lingering_bytes: int = 64 * MEBIBYTE
    drain_seconds: float = 10.0
